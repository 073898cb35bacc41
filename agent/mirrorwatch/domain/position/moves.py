"""Position of a partition, as shown by offset syncs and commits."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..cluster_view import FlowView, TopicPartition
from ..mirror_records import Committed, Sync
from .model import (
    PartitionPosition,
    PositionState,
    Reset,
    ResetKind,
    UnexplainedGap,
)

__all__ = ["PositionMoves", "UnexplainedGaps"]


KEPT = timedelta(minutes=2)
"""Time for which a gap waits for the log start: that is read every 30 s, and
one that moves later has passed records that were there to be read."""


@dataclass(slots=True)
class UnexplainedGaps:
    """Skipped gaps that had not been seen to expire.

    A mirror that is started, or that is overrun while it works, goes on at
    the log's start before two surveys have seen that it lies beyond the
    position; and nobody looks while the agent is away.

    Parameters
    ----------
    state
        Keeps them.

    Notes
    -----
    A log that now begins within a gap, or where it ends, is what the mirror
    met. Anything else that it skipped, markers and what was dropped, is
    reported by the skips.
    """

    state: PositionState

    def note(
        self,
        place: TopicPartition,
        first: int,
        end: int,
        at: datetime,
        *,
        at_most: bool = False,
    ) -> None:
        """Take the source offsets between two copies.

        Parameters
        ----------
        place
            The partition.
        first
            First of them.
        end
            Offset behind them.
        at
            Time at which they were found.
        at_most
            The mirror may have copied some of them before.
        """
        self.state.gaps.append(
            UnexplainedGap(
                topic=place[0],
                partition=place[1],
                first=first,
                end=end,
                at=at,
                at_most=at_most,
            )
        )

    def look(self, view: FlowView) -> None:
        """Find those at which the log began when they were passed."""
        at, kept = view.at, []
        starts = view.source.starts if view.source else {}
        for gap in self.state.gaps:
            if at - gap.at > KEPT:
                continue
            start = starts.get((gap.topic, gap.partition), 0)
            if gap.first < start <= gap.end:
                self.state.begin(
                    ResetKind.EXPIRED,
                    gap.topic,
                    at,
                    partition=gap.partition,
                    settled=at,
                    first=gap.first,
                    end=gap.end,
                    at_most=gap.at_most,
                )
            elif start <= gap.first:
                kept.append(gap)
        self.state.gaps = kept


ONE_REWIND = timedelta(minutes=10)
"""Steps back within this time are one rewind: two mirrors that write at once
take turns for minutes."""


@dataclass(slots=True)
class PositionMoves:
    """Takes syncs and commits in their order.

    Parameters
    ----------
    state
        The state.
    view
        A survey that began after all of them were read.
    counted
        Returns of a source partition whether the target's offsets count its
        copies: not where others write there, nor where there are markers.
    gaps
        Takes what was skipped.
    keeps_offsets
        Commits are log ends at the target, where records have their source
        offsets.
    first_copies
        Ids of recreated topics, and where the mirror began in them, as far as
        copies that were read show that.
    """

    state: PositionState
    view: FlowView
    counted: Callable[[TopicPartition], bool]
    gaps: UnexplainedGaps
    keeps_offsets: bool = False
    first_copies: Mapping[TopicPartition, tuple[str, int]] = field(
        default_factory=dict
    )

    def take_syncs(
        self, topic: str, partition: int, syncs: Iterable[Sync]
    ) -> None:
        """Take the syncs of one partition, in the topic's order."""
        key = (topic, partition)
        for sync in syncs:
            place = self.state.places.setdefault(key, PartitionPosition())
            if _is_known(place, sync):
                continue
            if self._take(place, sync):
                place.upstream = sync.upstream
                place.downstream = (
                    sync.downstream if self.counted(key) else None
                )
            place.forget_before(sync.upstream)
            place.synced_at = _later(place.synced_at, sync.written_at)
            place.copies_end = None
            self.state.touched.add(key)

    def leave_old(
        self, topic: str, partition: int, syncs: Sequence[Sync]
    ) -> Sequence[Sync]:
        """Return the syncs that cannot be of a topic that is no more.

        Notes
        -----
        They were read about when the topic was recreated. Those that go on
        from the ones before are of the old topic.
        """
        waiting = self.state.open(ResetKind.SOURCE_RECREATED, topic, partition)
        place = self.state.places.get((topic, partition))
        if waiting is None or place is None:
            return syncs
        last = place.upstream
        for n, sync in enumerate(syncs):
            if _is_known(place, sync):
                continue
            if last is not None and sync.upstream < last:
                return syncs[n:]
            last = place.upstream = sync.upstream
            place.downstream = (
                sync.downstream if self.counted((topic, partition)) else None
            )
            place.synced_at = _later(place.synced_at, sync.written_at)
            place.copies_end = None
            waiting = self._copied_before(waiting, sync)
        return ()

    def take_commit(self, fact: Committed) -> bool:
        """Take a commit; return whether it deletes the one before."""
        key = fact.key
        place = self.state.places.get(key)
        if place is None:
            place = PartitionPosition()
        elif (
            place.committed_at is not None
            and fact.written_at <= place.committed_at
        ):
            return False
        before, place.committed = place.committed, fact.position
        place.committed_at = fact.written_at
        place.copies_end = None
        self.state.places[key] = place
        self.state.touched.add(key)
        if fact.position is None:
            return before is not None
        waiting = self.state.open(ResetKind.SOURCE_RECREATED, *key)
        if waiting is not None:
            place.committed = None
            if place.upstream is None:
                self._decide_by_commit(waiting, place, fact.position)
            return False
        beyond = self.state.open(ResetKind.BEYOND, *key)
        if beyond is not None and place.upstream is None:
            self._decide_by_commit(beyond, place, fact.position)
            return False
        if before is not None:
            self._compare(before, place, fact.position, key)
        if _is_newer(fact, place):
            if place.upstream is not None and place.reached is not None:
                place.prove(place.reached)
            place.reached = max(place.reached or 0, fact.position)
            self._catch_up(*key, fact.position)
        return False

    def _compare(
        self,
        before: int,
        place: PartitionPosition,
        position: int,
        key: TopicPartition,
    ) -> None:
        """Compare a commit with the one before.

        Notes
        -----
        What expired between a commit below the log's start and one above it
        may have been copied or not, where no syncs count the copies.

        One before that is beyond where the mirror is by its syncs is of a log
        that was truncated since: nothing is copied again.
        """
        if position < before <= (place.reached or 0):
            self._rewind(place.reached, *key, position)
        if self.keeps_offsets:
            if position < before:
                # The copies above are gone, and may expire at the source.
                place.begin_at(position)
        elif place.upstream is not None:
            if self.counted(key):
                return
            before = place.proved
        seen = self.view.partitions.get(key)
        start = 0 if seen is None else seen.log_start
        known = self.state.open(ResetKind.EXPIRED, *key)
        if known is None and before < start <= position:
            self.state.begin(
                ResetKind.UNVERIFIED,
                key[0],
                self.view.at,
                partition=key[1],
                first=before,
                end=start,
                settled=self.view.at,
            )

    def _take(self, place: PartitionPosition, sync: Sync) -> bool:
        """Take a sync; return whether it is of the topic that is there."""
        where = sync.key
        waiting = self.state.open(ResetKind.SOURCE_RECREATED, *where)
        if waiting is not None:
            is_its = self._decide(waiting, place, sync)
            self._end_uncopied(waiting.number)
            return is_its
        after = sync.position
        beyond = self.state.open(ResetKind.BEYOND, *where)
        if beyond is not None:
            self._leave_cut(beyond, sync)
            place.begin_at(after)
            return True
        if place.reached is None:
            place.reached = after
            return True
        if _is_overtaken(place, sync):
            return False
        expired = self.state.open(ResetKind.EXPIRED, *where)
        if expired is not None and self._went_on(expired, place, sync):
            self._end_expired(expired, place, sync)
        elif self._is_back(place, sync):
            self._go_back(place, sync)
        else:
            self._go_on(place, sync)
        place.reached = max(place.reached, after)
        if place.reached <= after:
            self._catch_up(*where, after)
        return True

    def _leave_cut(self, cut: Reset, sync: Sync) -> None:
        lowest, first = cut.first or 0, min(sync.upstream, cut.end or 0)
        self._settle(cut, end=max(lowest, first))

    def _went_on(
        self, expired: Reset, place: PartitionPosition, sync: Sync
    ) -> bool:
        """Return whether a sync is of a record behind what expired.

        That may have expired since, too: then it left out what lies before.
        """
        origin = place.origin_of(sync.downstream)
        return sync.upstream >= (expired.end or 0) or (
            origin is not None
            and (expired.first or 0) <= origin < sync.upstream
        )

    def _end_expired(
        self, expired: Reset, place: PartitionPosition, sync: Sync
    ) -> None:
        # Not where the mirror is by now: a commit may have said so already.
        first, proved = expired.first or 0, expired.proved
        proved = first if proved is None else proved
        origin, at_most = place.origin_of(sync.downstream), expired.at_most
        if origin is not None and origin <= sync.upstream:
            first, at_most = max(proved, origin), False
        elif origin is not None:
            # More than there was to copy: others write there.
            first, at_most = proved, True
        end = sync.upstream
        # A commit proves that it had gone on before: that sync failed.
        went_on = place.proved_between(expired.end or 0, end)
        is_first = went_on is None
        if not is_first and origin is not None and not at_most:
            # Copies from behind what expired may lie before this one.
            first, end = proved, proved + end - first
        elif not is_first:
            at_most = True
        if went_on is not None and at_most:
            # At the log start of that time, which is not beyond today's.
            seen = self.view.partitions.get(sync.key)
            start = end if seen is None else seen.log_start
            end = min(went_on - 1, start)
        if first < end:
            self._settle(expired, first=first, end=end, at_most=at_most)
        else:
            self.state.drop(expired)  # all of it had been copied

    def _is_back(self, place: PartitionPosition, sync: Sync) -> bool:
        """Return whether a sync is of a record that had been copied before."""
        if place.upstream is None:
            return sync.upstream < (place.reached or 0)
        # The same one, which is not known, is a second copy of its record.
        return sync.upstream <= place.upstream

    def _go_back(self, place: PartitionPosition, sync: Sync) -> None:
        where, reached = sync.key, place.reached or 0
        end = self._end_of(where)
        if end is not None and end < reached:
            self._truncate(place, *where, end)
            place.begin_at(sync.position)
            return
        # Copies that neither a sync nor a commit reported.
        copied = place.origin_of(sync.downstream) or 0
        reached = max(reached, min(copied, end or 0))
        self._rewind(reached, *where, sync.upstream)

    def _go_on(self, place: PartitionPosition, sync: Sync) -> None:
        origin = place.origin_of(sync.downstream)
        # Where the target's end counts no copies, only syncs and commits say
        # how far it had come.
        proved = self._proved_before(place, sync)
        first = max(origin or 0, proved)
        if first < sync.upstream:
            self.gaps.note(
                sync.key,
                first,
                sync.upstream,
                self.view.at,
                at_most=origin is None,
            )

    def _proved_before(self, place: PartitionPosition, sync: Sync) -> int:
        """Return how far it is proved to have been before it copied a record.

        Where a commit was read before the copies that it is of, that is no
        longer what is proved now.
        """
        if place.upstream is None or (place.reached or 0) <= sync.upstream:
            return place.proved
        found = [
            place.upstream + 1,
            place.empty_until,
            place.proved_before(sync.upstream),
        ]
        return max(each for each in found if each <= sync.upstream)

    def _end_of(self, key: TopicPartition) -> int | None:
        """Return the end at the source, `None` without a leader."""
        seen = self.view.partitions.get(key)
        return None if seen is None else seen.source_end

    def _is_late(self, key: TopicPartition, copied: int) -> bool:
        """Return whether what was copied is of the log that is no more."""
        end = self._end_of(key)
        return key not in self.view.partitions or (
            end is not None and copied >= end
        )

    def _decide(
        self, waiting: Reset, place: PartitionPosition, sync: Sync
    ) -> bool:
        if self._is_late(sync.key, sync.upstream):
            return False
        old = waiting.end or 0
        copied = sync.downstream - (waiting.target_end or 0)
        first_copy = self._first_copy_of(sync.key)
        is_late = place.origin_of(sync.downstream) == sync.upstream or (
            # Two tasks had copied, so that offsets do not show it.
            sync.upstream < (first_copy or 0)
        )
        if sync.downstream < (waiting.former_end or 0) or (
            copied < 0 and is_late
        ):
            self._copied_before(waiting, sync)
            return True  # written late, of what was copied before
        target_end, proved = waiting.target_end, waiting.proved
        counted = target_end is not None and self.counted(sync.key)
        if first_copy is not None:
            # A sync may be of a later one: those before it failed.
            end = min(first_copy, sync.upstream)
            self._settle(waiting, end=end, at_least=False)
        elif target_end is not None and counted and copied >= 0:
            first, end = waiting.first or 0, sync.upstream - copied
            in_doubt = end < first < sync.upstream
            if in_doubt:
                # More than there were to copy: two tasks do that, and do not
                # show which they were.
                end = sync.upstream
            elif proved is not None:
                # Copied before the new topic was seen: of either topic.
                either = (place.origin_of(target_end) or proved) - proved
                end = max(first, end - max(0, either))
            # So it is in a topic that was recreated with it.
            unsure = proved is not None or waiting.now != ""
            self._settle(
                waiting,
                end=end,
                at_least=unsure and end > first and not in_doubt,
                at_most=in_doubt,
            )
        else:
            # The copies cannot be counted, and it may have been further on
            # than it had said.
            first = min(sync.upstream, old)
            self._settle(waiting, end=first, at_least=sync.upstream > old)
        place.reached = sync.position
        return True

    def _end_uncopied(self, number: int) -> None:
        """Close what expired of a recreated topic, once it is known what the
        mirror left out of that: it is part of it.
        """
        found = self.state.resets[number]
        expired = self.state.open(
            ResetKind.EXPIRED, found.topic, found.partition
        )
        if found.settled is None or expired is None:
            return
        if (found.end or 0) >= (expired.end or 0) and not found.at_most:
            self.state.drop(expired)
        else:
            self._settle(expired)

    def _first_copy_of(self, key: TopicPartition) -> int | None:
        """Return where the mirror began in the topic that is there now."""
        id_, first = self.first_copies.get(key, ("", None))
        return (
            first if id_ == self.state.pins.get(("source", key[0])) else None
        )

    def _copied_before(self, waiting: Reset, sync: Sync) -> Reset:
        """Note that a record was copied before the new topic was seen.

        Not where the new topic may have been copied by then: the record may
        be one of it.
        """
        if waiting.proved is not None:
            return waiting
        end = max(waiting.end or 0, sync.position)
        return self.state.change(waiting, end=end)

    def _decide_by_commit(
        self, waiting: Reset, place: PartitionPosition, position: int
    ) -> None:
        """Settle what the mirror made of another log, if it has no syncs.

        A commit says where the mirror is, not where it began: below the old
        position, it restarted from the beginning.
        """
        if self._is_late(
            (waiting.topic, waiting.partition or 0), position - 1
        ):
            return
        old = waiting.end or 0
        self._settle(
            waiting,
            end=waiting.first if position < old else old,
            at_least=position > old,
        )
        place.begin_at(position)

    def _rewind(
        self, reached: int | None, topic: str, partition: int, to: int
    ) -> None:
        reached = reached or to
        known = self.state.newest(ResetKind.REWIND, topic, partition)
        if known is not None and (
            known.settled is None
            # Not one that lies apart: what is between was not copied again.
            or (
                self.view.at - known.settled < ONE_REWIND
                and to <= (known.end or 0)
            )
        ):
            self.state.change(
                known,
                first=min(to, known.first or 0),
                end=max(reached, known.end or 0),
                settled=None,
            )
            return
        self.state.begin(
            ResetKind.REWIND,
            topic,
            self.view.at,
            partition=partition,
            first=to,
            end=reached,
        )

    def _catch_up(self, topic: str, partition: int, position: int) -> None:
        """Note that the mirror is where it had been, if it had gone back."""
        known = self.state.open(ResetKind.REWIND, topic, partition)
        if known is not None and (known.end or 0) <= position:
            self._settle(known)

    def _truncate(
        self, place: PartitionPosition, topic: str, partition: int, end: int
    ) -> None:
        """Note that a mirror restarted in a truncated log.

        One that runs does that at once, long before a position beyond the end
        is believed.
        """
        cut = self.state.begin(
            ResetKind.BEYOND,
            topic,
            self.view.at,
            partition=partition,
            first=end,
            end=place.reached,
            log_end=end,
        )
        self._settle(cut, end=end)

    def _settle(self, reset: Reset, **what: int | None) -> None:
        """Close a reset, harmless if it left nothing out."""
        settled = self.state.change(reset, settled=self.view.at, **what)
        self.state.change(settled, harmless=settled.count == 0)


def _is_known(place: PartitionPosition, sync: Sync) -> bool:
    """Return whether a sync was written again because nothing moved."""
    return sync.upstream == place.upstream and (
        place.downstream in {None, sync.downstream}
    )


def _is_overtaken(place: PartitionPosition, sync: Sync) -> bool:
    """Return whether a sync reports a copy made before that of the last one.

    Notes
    -----
    `OffsetSyncWriter.firePendingOffsetSyncs` takes a sync under its lock and
    sends it outside: of two threads, the one with the newer sync may be first.
    What is copied again comes to the end of the target's log.
    """
    return (
        place.downstream is not None
        and sync.downstream < place.downstream
        and place.origin_of(sync.downstream) == sync.upstream
    )


def _later(before: datetime | None, at: datetime) -> datetime:
    return at if before is None else max(before, at)


def _is_newer(fact: Committed, place: PartitionPosition) -> bool:
    """Return whether a commit says more than the last sync."""
    return place.synced_at is None or fact.written_at >= place.synced_at
