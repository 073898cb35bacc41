"""What a sync or a commit says of a partition."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ..positions import Committed, Sync
from ..view import ClusterView
from .books import ResetBooks
from .event import Kind, Reset
from .gaps import Gaps
from .outcome import Outcome
from .place import Place

__all__ = ["Moves"]


@dataclass(slots=True)
class Moves:
    """Takes syncs and commits in their order.

    Parameters
    ----------
    books
        The books.
    source
        The source, asked after all of them were read.
    at
        The time.
    counted
        Tells of a source topic whether the target's offsets count its copies:
        not where others write there, nor where there are markers.
    gaps
        Takes what was passed over.
    """

    books: ResetBooks
    source: ClusterView
    at: datetime
    counted: Callable[[str], bool]
    gaps: Gaps
    _outcome: Outcome = field(init=False)

    def __post_init__(self) -> None:
        self._outcome = Outcome(self.books, self.source, self.at, self.counted)

    def take_syncs(
        self, topic: str, partition: int, syncs: Iterable[Sync]
    ) -> None:
        """Take the syncs of one partition, in the topic's order."""
        key = (topic, partition)
        for sync in syncs:
            place = self.books.places.setdefault(key, Place())
            if _is_known(place, sync):
                continue
            if self._take(place, sync):
                place.upstream = sync.upstream
                place.downstream = (
                    sync.downstream if self.counted(topic) else None
                )
            place.synced_at = _later(place.synced_at, sync.written_at)
            self.books.touched.add(key)

    def leave_old(
        self, topic: str, partition: int, syncs: Sequence[Sync]
    ) -> Sequence[Sync]:
        """Return the syncs that cannot be of a topic that is no more.

        Notes
        -----
        They were read about when the topic was made again. Those that go on
        from the ones before are of the old topic.
        """
        waiting = self.books.open(Kind.SOURCE_RECREATED, topic, partition)
        place = self.books.places.get((topic, partition))
        if waiting is None or place is None:
            return syncs
        last = place.upstream
        for n, sync in enumerate(syncs):
            if _is_known(place, sync):
                continue
            if last is not None and sync.upstream < last:
                return syncs[n:]
            last = place.upstream = sync.upstream
            place.synced_at = _later(place.synced_at, sync.written_at)
            end = max(waiting.end or 0, sync.upstream + 1)
            waiting = self.books.change(waiting, end=end)
        return ()

    def take_commit(self, fact: Committed) -> bool:
        """Take a commit; tell whether it deletes the one before."""
        key = (fact.topic, fact.partition)
        place = self.books.places.get(key)
        if place is None:
            place = Place()
        elif (
            place.committed_at is not None
            and fact.written_at <= place.committed_at
        ):
            return False
        before, place.committed = place.committed, fact.position
        place.committed_at = fact.written_at
        self.books.places[key] = place
        self.books.touched.add(key)
        if fact.position is None:
            return before is not None
        waiting = self.books.open(Kind.SOURCE_RECREATED, *key)
        if waiting is not None:
            place.committed = None
            if place.upstream is None:
                self._outcome.decide_by_commit(waiting, place, fact.position)
            return False
        beyond = self.books.open(Kind.BEYOND, *key)
        if beyond is not None and place.upstream is None:
            self._outcome.decide_by_commit(beyond, place, fact.position)
            return False
        if before is not None and fact.position < before:
            self._outcome.go_back(place.reached, *key, fact.position)
        if _is_newer(fact, place):
            place.reached = max(place.reached or 0, fact.position)
            self._outcome.catch_up(*key, fact.position)
        return False

    def _take(self, place: Place, sync: Sync) -> bool:
        """Take a sync; tell whether it is of the topic that is there."""
        where = (sync.topic, sync.partition)
        waiting = self.books.open(Kind.SOURCE_RECREATED, *where)
        if waiting is not None:
            return self._outcome.decide(waiting, place, sync)
        after = sync.upstream + 1
        beyond = self.books.open(Kind.BEYOND, *where)
        if beyond is not None:
            reached = beyond.end or 0
            first = min(sync.upstream, reached)
            self._outcome.settle(beyond, end=max(beyond.first or 0, first))
            place.reached = after
            return True
        if place.reached is None:
            place.reached = after
            return True
        expired = self.books.open(Kind.EXPIRED, *where)
        if expired is not None and sync.upstream >= (expired.end or 0):
            self._end_expired(expired, place, sync)
        elif _is_back(place, sync):
            self._go_back(place, sync)
        else:
            self._go_on(place, sync)
        place.reached = max(place.reached, after)
        if place.reached <= after:
            self._outcome.catch_up(*where, after)
        return True

    def _end_expired(self, expired: Reset, place: Place, sync: Sync) -> None:
        origin, reached = place.origin_of(sync.downstream), place.reached or 0
        if origin is None or not reached <= origin:
            origin = max(reached, place.empty_until)
        first = min(origin, sync.upstream)
        if first < sync.upstream:
            self._outcome.settle(expired, first=first, end=sync.upstream)
        else:
            self.books.drop(expired)  # all of it had been copied

    def _go_back(self, place: Place, sync: Sync) -> None:
        where, reached = (sync.topic, sync.partition), place.reached or 0
        end = self.source.ends.get(where)
        if end is not None and end < reached:
            self._outcome.note_cut(place, *where, end)
            place.reached = sync.upstream + 1
            return
        # Copies that neither a sync nor a commit told.
        copied = place.origin_of(sync.downstream) or 0
        reached = max(reached, min(copied, end or 0))
        self._outcome.go_back(reached, *where, sync.upstream)

    def _go_on(self, place: Place, sync: Sync) -> None:
        origin = place.origin_of(sync.downstream)
        if origin is None or origin >= sync.upstream:
            return
        self.gaps.note(
            (sync.topic, sync.partition),
            max(origin, place.reached or 0, place.empty_until),
            sync.upstream,
            self.at,
        )


def _is_known(place: Place, sync: Sync) -> bool:
    """Tell whether a sync was written again because nothing moved."""
    return sync.upstream == place.upstream and (
        place.downstream in {None, sync.downstream}
    )


def _is_back(place: Place, sync: Sync) -> bool:
    """Tell whether a sync is of a record that had been copied before."""
    if place.upstream is None:
        return sync.upstream < (place.reached or 0)
    # The same one, which is not known, is a second copy of its record.
    return sync.upstream <= place.upstream


def _later(before: datetime | None, at: datetime) -> datetime:
    return at if before is None else max(before, at)


def _is_newer(fact: Committed, place: Place) -> bool:
    """Tell whether a commit says more than the last sync."""
    return place.synced_at is None or fact.written_at >= place.synced_at
