"""What is known of skips and repeats of one flow.

`sum_up` bounds the journal by adding up, not by forgetting.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from ..cluster_view import TopicPartition
from ..offsets import OffsetRange, RangeSet, newest, unite
from ..topics import is_beyond

__all__ = [
    "LOSSES",
    "DroppedTailDetector",
    "FilterExcess",
    "FilterSample",
    "ForeignRecords",
    "MissingCopies",
    "OffsetPair",
    "PendingReads",
    "RangeRequest",
    "SkipCounters",
    "SkipEvent",
    "SkipKind",
    "SkipsObservation",
    "SuspectedDrop",
    "is_clean",
    "sum_up",
]


class SkipKind(StrEnum):
    """What was found out."""

    SKIPPED = "skipped"

    HEAD = "head"
    """The first records of a partition were never read."""

    TAIL = "tail"
    """The mirror committed past records that it never wrote."""

    TRUNCATED = "truncated"

    SAMPLED = "sampled"
    """Source records were skipped among so many that only some were read: at
    least these."""

    REPEATED = "repeated"

    UNVERIFIABLE = "unverifiable"


@dataclass(frozen=True, kw_only=True, slots=True)
class SkipEvent:
    """One thing that was found out about one partition."""

    kind: SkipKind
    topic: str
    partition: int
    source_id: str
    ranges: tuple[tuple[int, int], ...]
    """Source offsets, inclusive; those of the last ones where there are too
    many to keep."""

    count: int
    at: datetime
    filtered: bool = False
    """Whether a transform drops records there on purpose, by the configuration
    of that time: then it is counted and no alarm, whatever is configured
    later."""

    @property
    def place(self) -> TopicPartition:
        """Partition at the source."""
        return self.topic, self.partition


@dataclass(frozen=True, slots=True)
class OffsetPair:
    """One record's offsets on both sides."""

    upstream: int
    downstream: int


def is_clean(before: OffsetPair, after: OffsetPair) -> bool:
    """Return whether both sides went on by the same number of offsets.

    Then every source offset between them is a record that was copied, once
    and in order: the target has no room for anything else.
    """
    forward = after.upstream - before.upstream
    return forward > 0 and forward == after.downstream - before.downstream


@dataclass(frozen=True, kw_only=True, slots=True)
class RangeRequest:
    """What must be read on both sides before anything is counted."""

    topic: str
    partition: int
    remote: str
    source_id: str
    target_id: str | None
    """Ids of the topics: an answer about others is of no use. `None` while
    the target has none."""

    start: OffsetPair
    points: tuple[OffsetPair, ...]
    """Known pairs behind it, in the order of the target; the last one ends
    the stretch. Empty if it ends at `passed` and the target's end."""

    source: tuple[OffsetRange, ...]
    target: OffsetRange
    skipped: tuple[OffsetRange, ...] = ()
    passed: int | None = None
    only_count: bool = False
    """Whether only the number of source records is asked for."""

    alike: bool = False
    """Whether copies are known to look like their records: one that does not
    is of another producer, and no altered copy."""

    sampled: bool = False
    """Whether only some of the source records are asked for."""

    only_end: bool = False
    """Whether it is only asked if the target's log still has an offset, the
    first of `target`: where it ended before."""

    looks_back: bool = False
    """Whether it is about what lies below the first copy of a truncated
    log."""

    rereads_start: bool = False

    @property
    def place(self) -> TopicPartition:
        """Partition at the source."""
        return self.topic, self.partition

    @property
    def read_source(self) -> tuple[OffsetRange, ...]:
        """All that is read at the source."""
        if not self.rereads_start:
            return self.source
        first = self.start.upstream
        return unite([OffsetRange(first, first + 1), *self.source])

    @property
    def read_target(self) -> OffsetRange:
        """All that is read at the target."""
        return OffsetRange(
            self.target.first - self.rereads_start, self.target.end
        )

    @property
    def by_end(self) -> bool:
        """Whether it proves a loss by where the target ends."""
        tail = self.passed is not None and self.target_id is not None
        return self.only_end or tail

    def fits(self, end: int | None) -> bool:
        """Return whether an end of the target is what it is to prove."""
        if end is None:
            return False
        at = self.target
        return end < at.first if self.only_end else end == at.end

    @property
    def size(self) -> int:
        """Offsets to read."""
        spans = (self.read_target, *self.read_source)
        return sum(len(span) for span in spans)

    @property
    def last(self) -> int:
        """Highest source offset that the mirror has passed at its end."""
        if self.passed is not None:
            return self.passed - 1
        return max(point.upstream for point in self.points)

    def sample(self, most: int) -> "RangeRequest":
        """Return a smaller request, by which a loss can still be proved.

        Of the source only what lies about the known pairs is read, and so
        many of the last records passed, beyond what the target has room for.
        What has no copy there was skipped. As many of the last ones known as
        skipped are read, too: the mirror may have rewound and copied them.
        """
        room = len(self.target)
        starts = [self.start.upstream + 1, self.last + 1]
        ends = [p.upstream + 1 for p in self.points]
        spans = [
            OffsetRange(self.last + 1 - room - most, self.last + 1),
            *(OffsetRange(first, first + room) for first in starts),
            *(OffsetRange(end - 1 - room, end) for end in ends),
            # From where the mirror rewound to, it went on.
            *(
                OffsetRange(
                    a.upstream, a.upstream + b.downstream - a.downstream
                )
                for a, b in pairwise(self.points)
            ),
        ]
        source = [
            OffsetRange(max(a.first, b.first), min(a.end, b.end))
            for a in self.source
            for b in spans
        ]
        left = room + most
        for span in reversed(self.skipped):
            source.append(
                OffsetRange(max(span.first, span.end - left), span.end)
            )
            left -= len(source[-1])
        return replace(self, source=unite(source), sampled=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class MissingCopies:
    """What is not at the target, or not known to be, by source partition."""

    accounted: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Next source offset that is not accounted for, where both sides are
    still to be read."""

    skipped: Mapping[TopicPartition, tuple[int, int]] = field(
        default_factory=dict
    )
    """First skipped record that the source still holds, and how many there
    are."""

    dropped: Mapping[TopicPartition, tuple[int, int]] = field(
        default_factory=dict
    )
    """First offset and end of what a transform seems to have dropped at the
    end of a partition on purpose."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SuspectedDrop:
    """Records at the end of a partition that seem to have been dropped."""

    topic: str
    partition: int
    first: int
    """Position of the mirror: source offset of the first of them."""

    end: int
    """End of the source by the time before which what their task copied
    elsewhere was written: what came later may only be late."""

    count: int
    since: datetime
    filtered: bool = False


_MARKS_KEPT = 64
"""Ends remembered of one partition that waits. Beyond, every other one is let
go: then less is called suspected for a while."""

_SOON = 4
"""Part of the patience after which records are said to be left behind, and
for which at most a time counts in which their task was stalled."""


@dataclass(slots=True)
class _Waiting:
    position: int
    ends: list[tuple[datetime, int]]
    """When the source was seen to end where, since the position stopped."""

    @classmethod
    def begin(
        cls, position: int, at: datetime, end: int, known: SuspectedDrop | None
    ) -> "_Waiting":
        """Begin with what is seen, and with what was suspected before a
        restart, if the position has not moved since.
        """
        marks = [(at, end)]
        if known is not None and known.first == position and known.end <= end:
            marks = [(known.since, known.end), *marks]
        return cls(position, marks)

    def note(self, at: datetime, end: int) -> None:
        if end == self.ends[-1][1]:
            return
        self.ends.append((at, end))
        if len(self.ends) > _MARKS_KEPT:
            self.ends = [self.ends[0], *self.ends[2::2]]

    @property
    def since(self) -> datetime:
        return self.ends[0][0]

    def end_at(self, time: datetime) -> int:
        """Return where the source ended at a time."""
        return max(end for at, end in self.ends if at <= time)


@dataclass(slots=True)
class _TaskProgress:
    fresh: datetime
    """Records that were written after this time were copied."""

    stalled: bool = False
    stalls: deque[tuple[datetime, datetime]] = field(
        default_factory=lambda: deque(maxlen=_SOON)
    )
    """The last times in which it copied nothing new, and was not idle."""

    def go_on(self, at: datetime) -> None:
        """Note that records were copied that were written after a time."""
        if self.stalled:
            self.stalls.append((self.fresh, at))
        self.fresh, self.stalled = max(self.fresh, at), False

    def back(self, time: timedelta, most: timedelta) -> datetime:
        """Return from when on it has copied what is new for so long.

        Parameters
        ----------
        time
            How long.
        most
            How much of it each stall counts for.
        """
        at = self.fresh
        for began, ended in reversed(self.stalls):
            time -= at - ended
            if time <= (counts := min(most, ended - began)):
                return ended - time
            time, at = time - counts, began
        return at - time


@dataclass(slots=True)
class DroppedTailDetector:
    """Finds partitions that wait while their task copies newer records.

    Notes
    -----
    A record that a transform drops moves no position until a later one of
    the partition is copied, so it looks like lag. It is not, if the same
    task has meanwhile copied records of other partitions that were written
    long after: one consumer reads for all partitions of a task, and takes
    them in turn. A mirror, or a task, that is stalled copies nothing new
    anywhere, and one that drains a backlog copies only what is old: neither
    is ever suspected. Nor are records that were written after those: a task
    that is stalled by now may only be late with them.
    """

    patience: timedelta
    waiting: dict[TopicPartition, _Waiting] = field(default_factory=dict)
    tasks: dict[Hashable, _TaskProgress] = field(default_factory=dict)

    left_behind: frozenset[TopicPartition] = frozenset()
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Ends of the source in the view before."""

    at: datetime | None = None
    known: dict[TopicPartition, SuspectedDrop] = field(default_factory=dict)
    """What was suspected before a restart, until the position is seen."""

    def look(
        self,
        at: datetime,
        ends: Mapping[TopicPartition, int],
        positions: Mapping[TopicPartition, int],
        tasks: Mapping[TopicPartition, Hashable],
    ) -> dict[TopicPartition, OffsetRange]:
        """Return the offsets under suspicion.

        Parameters
        ----------
        at
            When the ends of the source were asked for.
        ends
            Ends of the source.
        positions
            Position of the mirror, where nothing waits to be read.
        tasks
            Which task copies each partition; only those are judged.
        """
        soon, went_on = self.patience / _SOON, set[Hashable]()
        for place, position in positions.items():
            before = self.ends.get(place)
            task = tasks.get(place)
            if task is None:
                continue
            known = self.known.pop(place, None)
            progress = self.tasks.setdefault(task, _TaskProgress(at))
            if before is not None and position > before:
                went_on.add(task)
            end, waits = ends.get(place, 0), self.waiting.get(place)
            if waits is not None and self.at and position > waits.position:
                stood = self.at - waits.since
                progress.stalled = progress.stalled or stood > soon
            if end <= position:
                self.waiting.pop(place, None)
            elif waits is None or waits.position != position:
                self.waiting[place] = _Waiting.begin(position, at, end, known)
            else:
                waits.note(at, end)
        for task in went_on:
            if self.at is not None:
                self.tasks[task].go_on(self.at)
        for place in self.waiting.keys() - positions.keys():
            del self.waiting[place]
        self.ends, self.at = ends, at
        self.left_behind = frozenset(self._beyond(soon, tasks))
        return {
            place: OffsetRange(
                self.waiting[place].position,
                self.waiting[place].end_at(until),
            )
            for place, until in self._beyond(self.patience, tasks).items()
        }

    def _beyond(
        self, time: timedelta, tasks: Mapping[TopicPartition, Hashable]
    ) -> dict[TopicPartition, datetime]:
        """Return what waits for so long, and by when it had to be copied."""
        by = {
            task: progress.back(time, self.patience / _SOON)
            for task, progress in self.tasks.items()
        }
        return {
            place: until
            for place, waits in self.waiting.items()
            if (until := by.get(tasks.get(place))) is not None
            and waits.since <= until
        }

    def since(self, place: TopicPartition) -> datetime:
        """Return since when the records of a partition wait."""
        return self.waiting[place].since


@dataclass(frozen=True, kw_only=True, slots=True)
class FilterSample:
    """How much of a topic a filter had dropped at a time."""

    at: datetime
    records: int
    missing: int
    """Those of them that were not copied."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FilterExcess:
    """More records of a topic are missing than its filter may drop."""

    at: datetime
    """When that was last so."""

    missing: int
    records: int
    at_most: float


@dataclass(kw_only=True, slots=True)
class SkipCounters:
    """Records of one topic since the state file was made."""

    skipped: int = 0
    recovered: int = 0
    """Those of them that were copied after all."""

    repeated: int = 0
    """Target records added beyond the first copy of each source record."""

    unverifiable: int = 0
    compacted: int = 0
    filtered: int = 0
    """Those that were skipped where a transform filters on purpose."""

    passed: int = field(default=0, compare=False)
    """Records that the mirror has passed, copied or not."""

    samples: tuple[FilterSample, ...] = field(default=(), compare=False)
    """What was so in the past, where the share that may be missing is
    limited."""

    excess: FilterExcess | None = None

    def sample(self, at: datetime, window: timedelta) -> None:
        """Remember the counters of now, about once a minute of an hour."""
        kept = [s for s in self.samples if s.at <= at]
        if not kept or at - kept[-1].at >= window / _SAMPLES:
            kept.append(
                FilterSample(
                    at=at,
                    records=self.passed,
                    missing=self.skipped - self.recovered,
                )
            )
        old = sum(s.at <= at - window for s in kept)
        self.samples = tuple(kept[max(0, old - 1) :])

    def judge(self, at_most: float, at: datetime, window: timedelta) -> None:
        """Note whether more is missing than may be.

        What was too much stays so for its window, however much is copied
        after it.
        """
        missing, records = self.skipped - self.recovered, self.passed
        if self.samples:
            missing -= self.samples[0].missing
            records -= self.samples[0].records
        if not is_beyond(missing, records, at_most):
            return
        before = self.excess
        if before is not None and at - before.at <= window:
            most = max((missing, records), (before.missing, before.records))
            missing, records = most
        self.excess = FilterExcess(
            at=at, missing=missing, records=records, at_most=at_most
        )


_SAMPLES = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignRecords:
    """Records at the target that are no copies: another producer wrote them,
    or a transform altered them.
    """

    records: int
    """How many of one topic, since it was last without any."""

    at: datetime
    """When the newest were found."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PendingReads:
    """Stretches that must be read before anything is said of them."""

    partitions: int
    since: datetime
    """Since when the oldest one waits."""

    problem: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SkipsObservation:
    """Skips and repeats of one flow."""

    flow: str
    at: datetime
    """When the survey began that they were last compared by."""

    partitions: int
    tallies: tuple[tuple[str, SkipCounters], ...] = ()
    events: tuple[tuple[SkipEvent, int], ...] = ()
    """What happened lately, the newest last, and how many of the records are
    still missing."""

    suspicions: tuple[SuspectedDrop, ...] = ()
    left_behind: frozenset[TopicPartition] = frozenset()
    """Partitions whose task copies newer records of others: they are under
    suspicion, or will soon be."""

    foreign: tuple[tuple[str, ForeignRecords], ...] = ()
    excesses: tuple[tuple[str, FilterExcess], ...] = ()
    unread: PendingReads | None = None
    """What is not yet known."""

    blind: int = 0
    merged: int = 0
    """Topics that several flows feed, so that offsets prove nothing."""

    problems: tuple[str, ...] = ()


LOSSES = frozenset(
    {
        SkipKind.SKIPPED,
        SkipKind.HEAD,
        SkipKind.TAIL,
        SkipKind.TRUNCATED,
        SkipKind.SAMPLED,
    }
)

_RANGES_KEPT = 20
"""Ranges that events added together name, the newest."""

_TOGETHER = timedelta(minutes=5)
"""Time within which events of a partition are added first: so they end at
most that much later than each would alone."""


def sum_up(events: Iterable[SkipEvent], most: int) -> list[SkipEvent]:
    """Return a journal in which nothing pushes another thing out.

    Parameters
    ----------
    events
        The journal, the newest last.
    most
        How many losses, how many of filtered topics, and how many other
        events stay as they are: the newest. Those before are added by kind
        and partition.
    """
    every = list(events)
    losses = [e for e in every if e.kind in LOSSES and not e.filtered]
    filtered = [e for e in every if e.kind in LOSSES and e.filtered]
    others = [e for e in every if e.kind not in LOSSES]
    parts = (losses, filtered, others)
    if all(len(part) <= most for part in parts):
        return every
    kept = [event for part in parts for event in _sum_up(part, most)]
    return sorted(kept, key=lambda e: e.at)


def _sum_up(events: list[SkipEvent], most: int) -> list[SkipEvent]:
    older, young = events[:-most], events[-most:]
    added = _add(older, _TOGETHER)
    return [*(added if len(added) <= most else _add(added)), *young]


def _add(
    events: Iterable[SkipEvent], span: timedelta | None = None
) -> list[SkipEvent]:
    """Add those of one kind and partition, and of one span of time."""
    found: dict[Hashable, SkipEvent] = {}
    for event in events:
        time = span and event.at.timestamp() // span.total_seconds()
        key = (event.kind, event.place, event.source_id, time)
        before = found.pop(key, None)
        found[key] = event if before is None else _join(before, event)
    return list(found.values())


def _join(before: SkipEvent, event: SkipEvent) -> SkipEvent:
    ranges = RangeSet([*before.ranges, *event.ranges])
    return replace(
        event,
        ranges=tuple(newest(ranges, _RANGES_KEPT)),
        count=before.count + event.count,
        at=max(before.at, event.at),
    )
