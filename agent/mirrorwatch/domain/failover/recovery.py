"""Recovery point of a flow: records that would be lost with its source, and
the time until which its copies are complete.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..cluster_view import FlowView, PartitionView, TopicPartition
from ..lag.model import STALE
from ..position.model import Reset, ResetKind
from ..topics import HEARTBEATS

__all__ = [
    "CopyFacts",
    "Hole",
    "RecoveryPoint",
    "RecoveryState",
    "RecoveryTracker",
]

FRESH = timedelta(seconds=30)
"""Age of a survey from which records may have been written unseen for longer
than between two surveys."""

GONE_FOR = timedelta(hours=1)
"""Time for which a partition is remembered that is no longer replicated: a
broker that has just started may not list its topic."""

ENDS_KEPT = 32
"""Ends of the source that are remembered of one partition. When there are
more, every other one goes: then less is proved, never more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecoveryPoint:
    """Recovery point: records that would be lost with the source now."""

    at: datetime
    """Time at which the end offsets of the source were last asked for."""

    records: int
    """Source records that are not proved to be at the target, by then."""

    complete_until: datetime | None = None
    """Every record that the source held at that time, and holds still, is at
    the target; `None` if that is not known of any time."""

    topic: str | None = None
    """Source topic that is complete until then only; `None` if nothing
    waits."""

    partition: int | None = None
    missing: int = 0
    unknown: int = 0
    """Partitions of which the end or the position is not known."""

    def known_records(self, now: datetime) -> int | None:
        """Return `records`, `None` if nobody has asked for long."""
        return self.records if now - self.at <= STALE else None

    def seconds(self, now: datetime) -> float | None:
        """Return the age of the oldest record that may be lost, at most; 0 if
        none waits, `None` if it is not known.
        """
        if not self.records and not self.unknown and now - self.at <= FRESH:
            return 0.0
        if self.complete_until is None:
            return None
        return max(0.0, (now - self.complete_until).total_seconds())


@dataclass(frozen=True, kw_only=True, slots=True)
class Hole:
    """Records of one partition without a copy, although the mirror is past
    them: the target was recreated, or the mirror went on behind them.
    """

    topic: str
    partition: int
    end: int
    """Source offset behind the last of them."""

    first: int = 0
    """Source offset of the first of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecreatedTopic:
    """A partition of a topic that was recreated, at either side: what
    MirrorMaker said before is not of these.
    """

    topic: str
    partition: int
    source_id: str
    since: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class RecoveryState:
    """Recovery state that must survive a restart of the agent."""

    complete_until: datetime | None = None
    """Until when the flow was complete, as last proved."""

    topics: tuple[str, ...] = ()
    holes: tuple[Hole, ...] = ()
    """Ranges of records whose copies are gone."""

    recreated: tuple[RecreatedTopic, ...] = ()
    """Recreated topics: reports from before that time do not count."""


@dataclass(frozen=True, kw_only=True)
class CopyFacts:
    """Facts of the copies that other checks know."""

    position: Callable[
        [TopicPartition, PartitionView], tuple[int, bool] | None
    ] = lambda _place, _seen: None
    """Returns the next source offset to copy, and whether it is proved;
    `None` if it is not known."""

    missing: Mapping[TopicPartition, tuple[int, int]] = field(
        default_factory=dict
    )
    """First absent or unverifiable record that the source still holds, and
    their number."""

    dropped: Mapping[TopicPartition, tuple[int, int]] = field(
        default_factory=dict
    )
    """First offset and end of tails that a transform drops on purpose."""

    resets: Iterable[Reset] = ()


@dataclass(slots=True)
class _SourceEnd:
    """An end of the source."""

    offset: int
    at: datetime
    """Time of the last observation of this end offset."""


@dataclass(slots=True)
class _PartitionRecovery:
    """Recovery state of one partition."""

    source_id: str
    floor: datetime | None
    """It was complete until then, whatever is known of its ends."""

    target_id: str | None = None

    since: datetime | None = None
    """Time at which a topic was recreated: earlier reports are of another."""

    synced: bool = False
    """Offset sync of the topic as it is now seen."""

    reached: int = 0
    """Next source offset that may not be copied."""

    hole: int = 0
    """Source offset below which records have no copy."""

    hole_first: int = 0
    ends: list[_SourceEnd] = field(default_factory=list)
    complete: datetime | None = None
    """Until when it is complete; `None` if that is not known."""

    whole: PartitionView | None = None
    """Partition view in which everything was proved to be copied: as long as
    it looks so, it is. `None` if anything else has to be looked at, too."""

    def __post_init__(self) -> None:
        self.complete = self.floor

    def see(self, end: int, at: datetime) -> None:
        """Take an end of the source."""
        ends = self.ends
        if ends and end < ends[-1].offset:
            # The log was truncated: what came after is another record.
            self.floor = self.until(end)
            ends.clear()
        if ends and ends[-1].offset == end:
            ends[-1].at = at
            return
        ends.append(_SourceEnd(end, at))
        if len(ends) > ENDS_KEPT:
            best = self._best(self.reached)
            ends[:-1] = [
                each
                for n, each in enumerate(ends[:-1])
                if n % 2 or each is best
            ]

    def stands(self, seen: PartitionView | None, at: datetime) -> bool:
        """Return whether all is still copied, and nothing else was seen."""
        if seen is None or seen is not self.whole:
            return False
        self.ends[-1].at = self.complete = at
        return True

    def until(self, position: int) -> datetime | None:
        """Return until when it is complete, with a position."""
        best = self._best(position)
        return self.floor if best is None else best.at

    def _best(self, position: int) -> _SourceEnd | None:
        for each in reversed(self.ends):
            if each.offset <= position:
                return each
        return None

    def judge(
        self,
        place: TopicPartition,
        seen: PartitionView,
        facts: CopyFacts,
        resets: Iterable[Reset],
        found: tuple[int, bool],
    ) -> int:
        """Work out until when it is complete; return how many of its records
        are not proved to be copied.
        """
        self.reached, is_proved = found
        first, end = facts.dropped.get(place, (0, 0))
        if first <= self.reached < end:
            self.reached = end
        position = seen.log_start if seen.uncopied else self.reached
        for reset in resets:
            if (reset.end or 0) > seen.log_start:
                position = min(position, self._leave_out(reset, position))
        first, _ = facts.missing.get(place, (position, 0))
        without = 0
        if self.hole:
            first = min(first, self.hole_first)
            begin = max(self.hole_first, seen.log_start)
            without = max(0, min(self.hole, position) - begin)
        self.complete = self.until(min(position, first))
        is_whole = is_proved and seen.source_end == min(position, first)
        self.whole = seen if is_whole else None
        return max(0, seen.source_end - position) + without

    def _leave_out(self, reset: Reset, position: int) -> int:
        """Take a reset; return up to where all may be copied, while it is not
        known where the mirror goes on.
        """
        if reset.first is None or reset.end is None:
            return position
        if reset.settled is None:
            return reset.first
        if self.since is None or reset.settled >= self.since:
            self.hole_first = (
                min(self.hole_first, reset.first) if self.hole else reset.first
            )
            self.hole = max(self.hole, reset.end)
        return position

    def lose(self, at: datetime) -> None:
        """Take that the target was recreated: all copies are gone."""
        self.hole, self.since = max(self.hole, self.reached), at
        self.synced = False
        self.hole_first = 0
        self.floor = None
        self.ends.clear()


class RecoveryTracker:
    """Follows the recovery point of one flow.

    Parameters
    ----------
    kept
        Recovery state kept from before a restart.

    Notes
    -----
    A time is proved as follows: the source ended at some offset then, and
    every record below is at the target now. So it needs no timestamps of
    records, which may be of any clock.
    """

    def __init__(self, kept: RecoveryState) -> None:
        self._partitions: dict[TopicPartition, _PartitionRecovery] = {}
        self._kept = kept
        self._carried = frozenset(kept.topics)
        """Topics of which the time that was kept before a restart is
        proved."""

        self._holes = {(h.topic, h.partition): h for h in kept.holes}
        self._recreated = {(r.topic, r.partition): r for r in kept.recreated}
        self._gone: dict[
            TopicPartition, tuple[datetime, _PartitionRecovery]
        ] = {}
        """Partitions that are not carried any more, and since when."""

        self._at: datetime | None = None
        self._topics: Mapping[str, int] = {}
        """Partitions of all topics in the survey before."""

        self._copied: frozenset[TopicPartition] = frozenset()
        """Partitions with an offset sync or a committed position in the survey
        before: topics that were not visible are among them."""

        self.point: RecoveryPoint | None = None
        """Latest recovery point; `None` before the first survey."""

    def take(self, view: FlowView, facts: CopyFacts) -> None:
        """Learn from a survey; one that lacks a side changes nothing."""
        source = view.source
        if source is None or view.target is None or not view.caught_up:
            return
        for gone in self._partitions.keys() - view.partitions.keys():
            self._gone[gone] = source.at, self._partitions.pop(gone)
        self._gone = {
            place: (at, part)
            for place, (at, part) in self._gone.items()
            if source.at - at <= GONE_FOR
        }
        records = unknown = 0
        least: tuple[datetime | None, TopicPartition | None] = (
            source.at,
            None,
        )
        missing = facts.missing
        resets = _left_out(facts.resets)
        doubted = {*missing, *facts.dropped, *resets}
        for place, seen in view.partitions.items():
            part = self._partitions.get(place)
            if (
                part is not None
                and place not in doubted
                and part.stands(seen, source.at)
            ):
                continue
            if place[0] == HEARTBEATS:
                # Of a mirror that is just made they wait for its next look
                # for topics, ten minutes by default; nobody reads them on.
                continue
            source_id = source.topics[place[0]].id
            part = self._follow(place, seen, source_id, source.at)
            found = None if seen is None else facts.position(place, seen)
            if seen is None or found is None or found[0] > seen.source_end:
                # What is written next would seem to be copied.
                unknown += 1
            else:
                part.see(seen.source_end, source.at)
                records += part.judge(
                    place, seen, facts, resets.get(place, ()), found
                )
            until = part.complete
            if least[0] is not None and (until is None or until < least[0]):
                least = until, place
        self._at = source.at
        self._topics = {n: t.partitions for n, t in source.topics.items()}
        self._copied = frozenset({*view.syncs, *view.committed})
        missing_records = sum(
            count
            for place, (_, count) in missing.items()
            if place in view.partitions
        )
        topic, partition = least[1] or (None, None)
        self.point = RecoveryPoint(
            at=source.at,
            records=records + missing_records,
            complete_until=least[0],
            topic=topic,
            partition=partition,
            missing=missing_records,
            unknown=unknown,
        )
        # Both at once: another thread may just put together what is kept.
        self._kept = RecoveryState(
            complete_until=least[0], topics=tuple(view.names)
        )

    def is_void(
        self, place: TopicPartition, upstream: int, written_at: datetime
    ) -> bool:
        """Return whether what MirrorMaker said of a source offset is of a
        topic that was recreated since, at either side.

        Also what it says later by syncs of before: of an offset without a
        copy, or while no sync was written since.
        """
        part = self._partitions.get(place)
        if part is not None:
            since, first, end = part.since, part.hole_first, part.hole
            synced = part.synced
        else:
            recreated = self._recreated.get(place)
            since = None if recreated is None else recreated.since
            hole = self._holes.get(place)
            first, end = (0, 0) if hole is None else (hole.first, hole.end)
            synced = False  # until both sides were seen
        return (since is not None and (written_at <= since or not synced)) or (
            first <= upstream < end
        )

    def to_state(self) -> RecoveryState:
        """Return what must be kept."""
        if self.point is None:
            return self._kept
        # Copied at once: surveys go on in another thread.
        partitions = list(self._partitions.items())
        return replace(
            self._kept,
            holes=tuple(
                Hole(
                    topic=topic,
                    partition=partition,
                    end=part.hole,
                    first=part.hole_first,
                )
                for (topic, partition), part in partitions
                if part.hole
            ),
            recreated=tuple(
                RecreatedTopic(
                    topic=topic,
                    partition=partition,
                    source_id=part.source_id,
                    since=part.since,
                )
                for (topic, partition), part in partitions
                if part.since is not None
            ),
        )

    def _follow(
        self,
        place: TopicPartition,
        seen: PartitionView | None,
        source_id: str,
        at: datetime,
    ) -> _PartitionRecovery:
        part = self._partitions.get(place)
        if part is None and place in self._gone:
            _, part = self._gone.pop(place)
            self._partitions[place] = part
        if part is None:
            hole = self._holes.get(place)
            part = self._partitions[place] = _PartitionRecovery(
                source_id,
                self._floor(place),
                since=self._recreated_at(place, source_id),
                hole=hole.end if hole else 0,
                hole_first=hole.first if hole else 0,
            )
        elif part.source_id != source_id:
            # Created after the former topic was last listed.
            former = part.ends[-1].at if part.ends else None
            part = self._partitions[place] = _PartitionRecovery(
                source_id, former, since=at
            )
        if seen is None:
            return part
        if seen.target_id is not None:
            if part.target_id not in {None, seen.target_id}:
                part.lose(at)
            part.target_id = seen.target_id
        part.synced |= seen.sync is not None and (
            part.since is None or seen.sync.written_at > part.since
        )
        if part.hole <= seen.log_start:
            part.hole = 0
        return part

    def _recreated_at(
        self, place: TopicPartition, source_id: str
    ) -> datetime | None:
        found = self._recreated.get(place)
        if found is None or found.source_id != source_id:
            return None
        return found.since

    def _floor(self, place: TopicPartition) -> datetime | None:
        """Return until when a partition that was not seen before is complete.

        A partition that was created after the survey before has no older
        record; a topic that was added to the flow, or that has become
        visible, may have. After a restart it is not known.
        """
        topic, partition = place
        if self._at is None:
            is_carried = topic in self._carried
            return self._kept.complete_until if is_carried else None
        is_created = (
            self._topics.get(topic, 0) <= partition
            and place not in self._copied
        )
        return self._at if is_created else None


def _left_out(
    resets: Iterable[Reset],
) -> Mapping[TopicPartition, Iterable[Reset]]:
    found: defaultdict[TopicPartition, list[Reset]] = defaultdict(list)
    for reset in resets:
        if (
            reset.kind is ResetKind.SOURCE_RECREATED
            and reset.partition is not None
            and not reset.harmless
            and reset.count
        ):
            found[reset.topic, reset.partition].append(reset)
    return found
