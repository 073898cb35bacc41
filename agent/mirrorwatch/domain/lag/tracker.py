"""Lag of all topics of a flow, from survey to survey."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType

from ..cluster_view import (
    FlowView,
    PartitionView,
    Position,
    PositionSource,
    TopicConfigs,
    TopicPartition,
    prove,
)
from ..mirror_records import (
    FLUSH,
    LONGEST_FLUSH,
    REFRESH,
    Assignment,
    Connector,
)
from ..parity.tracker import Condition, FirstSeen, FirstSeenChanges
from ..position.internal_topics import AWAY_AFTER
from .filtered_tails import FilteredTails
from .model import (
    EstimateBounds,
    FirstRecord,
    LagObservation,
    ReadAt,
    TopicLag,
)
from .partition import PartitionLag
from .topic import TopicSummaries

__all__ = ["COMMITS", "LagTracker"]


COMMITS = 2
"""Flush intervals of the mirror after which a position that stands while
records wait shows that it stands: it can narrowly miss one."""

PROOF_FLUSHES = 3
"""Flushes within which an estimate must be proved: one to come, one to be
written, one to spare."""


NONE_UNCOPIED: Mapping[Condition, datetime] = MappingProxyType({})

NO_CHANGES = FirstSeenChanges({}, frozenset())


MUCH = 0.9
"""Share of a log that is left of which it does not matter by what it goes."""


class LagTracker:
    """Follows the lag of one flow.

    Parameters
    ----------
    flow
        Name of the flow.
    class_of
        Class of a source topic, empty if it has none.
    configs
        Configurations of source topics, as far as known.
    refused
        Source topics of which that was asked in vain.
    filtered
        Returns whether a transform drops records of a source topic on
        purpose.
    uncopied
        Since when partitions of which nothing was ever copied have waited, as
        far as that is remembered from before a restart.
    """

    def __init__(
        self,
        *,
        flow: str,
        class_of: Callable[[str], str],
        configs: Callable[[], Mapping[str, TopicConfigs]],
        refused: Callable[[], Container[str]] = frozenset,
        filtered: Callable[[str], bool] = lambda _: False,
        uncopied: Mapping[Condition, datetime] = NONE_UNCOPIED,
    ) -> None:
        self._flow = flow
        self._configs = configs
        self._refused = refused
        self._filtered = filtered
        self.tails = FilteredTails()
        self._tracks: dict[TopicPartition, PartitionLag] = {}
        self._summaries = TopicSummaries(class_of, filtered)
        self._changed: set[str] = set()
        """Topics of which anything was seen that was not so before."""

        self._unknown = 0
        self._at: datetime | None = None
        self._whole_at: datetime | None = None
        """Time of the last complete survey."""

        self._missed = False
        """Some survey since then was incomplete."""

        self._unread: dict[TopicPartition, PartitionLag] = {}
        """Partitions whose next record may have come while nobody could
        look, or before the agent did."""

        self._heads: set[TopicPartition] = set()

        self._starts: Mapping[TopicPartition, int] = {}
        self._filling: set[TopicPartition] = set()
        """Partitions that may lose records by their size before by time: how
        old the record at their log start is shows that."""

        self.unreadable: Mapping[str, str] = {}
        """Topics that may not be read, with what the source said."""

        self._unsure: frozenset[TopicPartition] = frozenset()

        self._uncopied = FirstSeen(uncopied)
        self._unlisted: dict[TopicPartition, datetime] = {}
        """Since when such partitions have not been listed."""

        self.changes = NO_CHANGES
        """Changes of the last survey to the unlisted partitions, to be
        persisted."""

    def take(
        self,
        view: FlowView,
        connectors: Iterable[Connector] = (),
        cadence: timedelta | None = None,
        assignments: Iterable[Assignment] = (),
    ) -> LagObservation:
        """Learn from a survey, and say what the lag is.

        Parameters
        ----------
        view
            Snapshot of the flow in this survey.
        connectors
            The mirror's connectors, for their intervals.
        cadence
            Observed commit interval of the mirror, used where the connectors
            do not give it.
        assignments
            Partitions of its tasks, as far as known.
        """
        connectors = list(connectors)
        flush = max(
            (c.flush or cadence or FLUSH for c in connectors),
            default=cadence or FLUSH,
        )
        # Until it is known how often it commits, estimates have to do.
        said = cadence or all(c.flush for c in connectors)
        proof = PROOF_FLUSHES * (flush if said else LONGEST_FLUSH)
        refresh = max((c.refresh for c in connectors), default=REFRESH)
        problems = [*view.problems]
        if not view.caught_up:
            problems.append(
                "The mirror's internal topics are still being read"
            )
        topics: tuple[TopicLag, ...] = ()
        self.changes = NO_CHANGES
        if view.source is not None and view.caught_up:
            self._unknown, self._at = 0, view.at
            self._move(view, proof, self._gap(view, flush))
            self.changes = self._note_uncopied(view)
            problems.extend(self._find_unread(view.at, flush))
            if self.unreadable or self._unsure:
                problems.extend(self._find_unsure(view.at, COMMITS * flush))
            plain = {c.name for c in connectors if not c.transforms}
            self.tails.look(
                self._tracks,
                {
                    p: t
                    for p, t in self._tracks.items()
                    if self._filtered(p[0])
                },
                {
                    place: (each.connector, each.task)
                    for each in assignments
                    if each.connector not in plain
                    for place in each.partitions
                },
                view.at,
                COMMITS * flush,
            )
            topics = self._summaries.take(
                view,
                view.source,
                self._tracks,
                self._configs(),
                COMMITS * flush,
                changed=self._changed,
                tails=self.tails,
                unsure=self._unsure,
            )
            self._note_filling(topics, view.source.starts)
        else:
            self._missed = True
        refused = self._refused()
        return LagObservation(
            flow=self._flow,
            at=view.at,
            topics=topics,
            flush=flush,
            refresh=refresh,
            unknown_partitions=self._unknown,
            configs_known=bool(self._configs()) or not topics,
            configs_refused=tuple(
                t.topic for t in topics if t.topic in refused
            ),
            problems=tuple(problems),
        )

    def wanted(self, without: Container[str] = ()) -> Iterator[ReadAt]:
        """Yield where a record should be read, the longest wait first.

        It shows whether data waits at all, or only markers, and since when.
        A mirror that goes on needs neither.

        Parameters
        ----------
        without
            Topics that are left out.
        """
        places = [
            (track.moved_at, place, track)
            for place, track in self._tracks.items()
            if track.wants_head(self._at)
        ]
        for _, place, track in sorted(places, key=lambda p: p[:2]):
            if place[0] not in without:
                yield ReadAt(place, track.next_offset, track.end)

    def wanted_starts(self) -> Iterator[ReadAt]:
        """Yield where the record at a log start should be read."""
        for place in sorted(self._filling):
            track, start = self._tracks.get(place), self._starts.get(place, 0)
            if track is None:
                self._filling.discard(place)
            elif 0 < start < track.end and (
                track.started is None or track.started[0] != start
            ):
                yield ReadAt(place, start, track.end)

    def resolve_starts(self, found: Iterable[FirstRecord]) -> None:
        """Take the records that were read at log starts."""
        for each in found:
            track, written = self._tracks.get(each.wanted.place), None
            if track is not None:
                if each.written_at is not None:
                    written = each.written_at.timestamp()
                track.started = each.wanted.position, written
                # The lag of its topic is to be worked out anew.
                track.settled = None

    def _note_filling(
        self,
        topics: Iterable[TopicLag],
        starts: Mapping[TopicPartition, int],
    ) -> None:
        self._starts = starts
        lacking = {
            lag.topic
            for lag in topics
            if lag.records
            and any(
                h.estimated and h.share < MUCH
                for h in (lag.headroom, *lag.scarcer)
                if h is not None
            )
        }
        if lacking:
            self._filling.update(p for p in self._tracks if p[0] in lacking)

    def resolve(self, heads: Iterable[FirstRecord]) -> None:
        """Take what was read; it is void if the mirror moved meanwhile."""
        for head in heads:
            track = self._tracks.get(head.wanted.place)
            if track is not None:
                track.take_head(head)
                self._heads.add(head.wanted.place)

    def position(self, place: TopicPartition) -> tuple[int, bool] | None:
        """Return the next source offset to copy, and whether it is proved;
        `None` if it is not known.
        """
        track = self._tracks.get(place)
        if track is None or track.position is None:
            return None
        return track.next_offset, track.origin != PositionSource.ESTIMATE

    def dropped(self) -> Mapping[TopicPartition, tuple[int, int]]:
        """Return the first offset and the end of tails that a transform drops
        on purpose.
        """
        return self.tails.dropped()

    def empty_until(self) -> Mapping[TopicPartition, int]:
        """Return up to where no data follows positions that are proved, where
        any was read.
        """
        found: dict[TopicPartition, int] = {}
        for place in list(self._heads):
            track = self._tracks.get(place)
            if track is None or not track.nothing_until:
                self._heads.discard(place)
            elif track.origin != PositionSource.ESTIMATE:
                found[place] = track.nothing_until
        return found

    def _gap(self, view: FlowView, flush: timedelta) -> datetime | None:
        """Return when all was seen last, if that was before the mirror's last
        commit at least, and it is seen again now.
        """
        whole = view.target is not None
        before, missed = self._whole_at, self._missed
        self._missed = not whole
        if not whole:
            return None
        self._whole_at = view.at
        if before is None or not missed or view.at - before <= flush:
            return None
        return before

    def _find_unread(self, now: datetime, flush: timedelta) -> Iterator[str]:
        """Yield why it is not known yet how long records wait.

        A mirror that runs has committed since; of another one that has to be
        read before it is said.
        """
        self._unread = {
            place: track
            for place, track in self._unread.items()
            if track is self._tracks.get(place)
            and track.waits_unseen
            and now - track.moved_at > flush
        }
        if self._unread:
            topic, partition = min(self._unread)
            yield (
                f"How long records of {topic}[{partition}] have waited is not "
                "known yet: they were there before mirrorwatch could look"
            )

    def _find_unsure(
        self, now: datetime, patience: timedelta
    ) -> Iterator[str]:
        """Yield where it is not known whether records wait, as they may not be
        read: there may be markers of transactions alone.

        Where more came after the mirror should have committed again, it has
        stopped, whatever it is.
        """
        before, self._unsure = (
            self._unsure,
            frozenset(
                place
                for place, track in self._tracks.items()
                if place[0] in self.unreadable
                and track.records
                and now - track.stands_since > patience
                and not track.grew_after(track.stands_since + patience)
            ),
        )
        self._changed |= {topic for topic, _ in before ^ self._unsure}
        if self._unsure:
            topic, partition = min(self._unsure)
            yield (
                f"Whether records of {topic}[{partition}] wait is not known. "
                f"{self.unreadable[topic]}"
            )

    def _move(
        self, view: FlowView, patience: timedelta, gap: datetime | None
    ) -> None:
        tracks = self._tracks
        self._changed.clear()
        for key in tracks.keys() - view.partitions.keys():
            del tracks[key]
            self._changed.add(key[0])
        for key, seen in view.partitions.items():
            track = tracks.get(key)
            if (
                seen is not None
                and track is not None
                and seen is track.settled
                and gap is None
            ):
                continue  # most partitions, most of the time
            self._changed.add(key[0])
            if seen is None:
                self._unknown += 1
                self._move_leaderless(track, view, key)
            else:
                self._move_one(key, seen, view, patience, gap)

    def _note_uncopied(self, view: FlowView) -> FirstSeenChanges:
        """Remember since when partitions wait of which nothing was ever
        copied: nothing else says that after a restart.

        One that is not seen for less than a minute may still wait.
        """
        waiting = {
            _uncopied(key, track.epoch[0])
            for key, track in self._tracks.items()
            if not track.begun and track.records
        }
        before, self._unlisted = self._unlisted, {}

        def is_unseen(condition: Condition) -> bool:
            topic, partition, _ = condition.split(maxsplit=2)
            key = topic, int(partition)
            if key in view.partitions:
                return key not in self._tracks
            since = self._unlisted[key] = before.get(key, view.at)
            return view.at - since < AWAY_AFTER

        return self._uncopied.update(waiting, view.at, unseen=is_unseen)

    def _move_leaderless(
        self,
        track: PartitionLag | None,
        view: FlowView,
        key: TopicPartition,
    ) -> None:
        """Take what the mirror proves of a partition whose end is not known:
        what it has copied does not wait, whatever came since.
        """
        proved = prove(view.committed.get(key), view.syncs.get(key))
        if track and proved and proved.offset > track.next_offset:
            track.settled = None
            track.move(proved, max(track.end, proved.offset), view.at)

    def _move_one(
        self,
        key: TopicPartition,
        seen: PartitionView,
        view: FlowView,
        patience: timedelta,
        gap: datetime | None,
    ) -> None:
        tracks = self._tracks
        track = tracks.get(key)
        target_id = seen.target_id
        if track is not None and view.target is None:
            # A target that does not answer is not another target.
            target_id = track.epoch[1]
        if track is None or track.epoch[0] != seen.source_id:
            # What was recreated begins now; what the agent sees first may
            # have stood for long, and the mirror wrote when it moved.
            told = None if track else seen.proved_at
            told = told or self._uncopied.get(_uncopied(key, seen.source_id))
            track = tracks[key] = PartitionLag(
                epoch=(seen.source_id, target_id),
                moved_at=min(told or view.at, view.at),
            )
            self._unread[key] = track
        elif track.epoch[1] != target_id:
            # Its records wait as before, whatever became of the copies.
            track.epoch = (seen.source_id, target_id)
            track.claim = EstimateBounds()
        position = self._locate(seen, track.claim, view.at, patience)
        if position is None or position.offset > seen.source_end:
            self._unknown += 1
            del tracks[key]
            return
        moved_at = None
        if gap is not None:
            # It may have stopped meanwhile, after what it wrote last.
            self._unread[key] = track
            moved_at = min(max(gap, seen.proved_at or gap), view.at)
        track.move(
            position,
            seen.source_end,
            view.at,
            moved_at,
            start=seen.log_start,
        )
        # Of what is not proved it must still be said whether it is.
        track.settled = seen if track.claim.offset is None else None

    def _locate(
        self,
        seen: PartitionView,
        claim: EstimateBounds,
        now: datetime,
        patience: timedelta,
    ) -> Position | None:
        """Return where the mirror is; `None` if nothing says so."""
        proved = seen.proved
        if proved is None:
            start = seen.source_start
            if start is None:
                return None
            return Position(start, PositionSource.START)
        estimate = seen.estimate
        # An end below the sync, of another time, claims less than is proved.
        if estimate is not None and claim.believe(
            estimate, proved.offset, now, patience
        ):
            return Position(estimate, PositionSource.ESTIMATE)
        return proved


def _uncopied(key: TopicPartition, topic_id: str) -> Condition:
    """Return what is so of a partition of which nothing was ever copied."""
    topic, partition = key
    return f"{topic} {partition} {topic_id}"
