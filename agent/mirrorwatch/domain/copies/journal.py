"""Journal and counters of what was found of the copies of a flow.

`sum_up` bounds the journal by adding up, not by forgetting.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..cluster_view import TopicPartition
from ..offsets import RangeSet, newest
from ..topics import is_beyond
from .pair import LOSSES, EventKind, RangeEvent

__all__ = [
    "ONE_REWIND",
    "CopyCounters",
    "CopyEvent",
    "FilterExcess",
    "FilterSample",
    "ForeignRecords",
    "sum_up",
]

ONE_REWIND = timedelta(minutes=10)
"""Steps back within this time are one rewind: two mirrors that write at once
take turns for minutes."""

RANGES_KEPT = 20
"""Ranges that an event names, the newest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CopyEvent:
    """Outcome of a range of one partition."""

    kind: EventKind
    topic: str
    partition: int
    source_id: str
    ranges: tuple[tuple[int, int], ...]
    """Source offsets, inclusive: more than `count` where it is not known
    which; the newest where there are too many to keep."""

    count: int
    at: datetime
    filtered: bool = False
    """Topic of `topics.filtered` at that time: counted, and no alarm."""

    @classmethod
    def of(
        cls,
        place: TopicPartition,
        source_id: str,
        found: RangeEvent,
        at: datetime,
        *,
        filtered: bool,
    ) -> "CopyEvent":
        """Return an event of a partition."""
        return cls(
            kind=found.kind,
            topic=place[0],
            partition=place[1],
            source_id=source_id,
            ranges=tuple(
                (span.start, span.stop - 1)
                for span in found.ranges[-RANGES_KEPT:]
            ),
            count=found.count,
            at=at,
            filtered=filtered,
        )

    @property
    def place(self) -> TopicPartition:
        """Partition at the source."""
        return self.topic, self.partition


@dataclass(frozen=True, kw_only=True, slots=True)
class FilterSample:
    """Counters of a filtered topic at a time."""

    at: datetime
    records: int
    missing: int
    """Records without a copy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FilterExcess:
    """More records of a topic missing than its filter may drop."""

    at: datetime
    """Last time at which it was so."""

    missing: int
    records: int
    at_most: float
    """Share that may be missing."""


_SAMPLES = 60


@dataclass(kw_only=True, slots=True)
class CopyCounters:
    """Records of one topic since the state file was made."""

    skipped: int = 0
    recovered: int = 0
    """Skipped records that were copied after all."""

    repeated: int = 0
    """Copies beyond the first of each source record."""

    expired: int = 0
    """Records deleted at the source before they were copied."""

    unverifiable: int = 0
    resets: int = 0
    """Position resets: expired records, a truncated source, rewinds."""

    filtered: int = 0
    """Skipped records where a transform filters on purpose."""

    passed: int = field(default=0, compare=False)
    """Source offsets that the mirror has passed."""

    samples: tuple[FilterSample, ...] = field(default=(), compare=False)
    """Earlier counters, where the share that may be missing is limited."""

    excess: FilterExcess | None = None

    def add(self, event: CopyEvent) -> None:
        """Count an event."""
        if event.kind in LOSSES:
            self.skipped += event.count
            self.filtered += event.count * event.filtered
        elif event.kind is EventKind.RECOVERED:
            self.recovered += event.count
        elif event.kind is EventKind.REPEATED:
            self.repeated += event.count
        elif event.kind is EventKind.UNVERIFIABLE:
            self.unverifiable += event.count
        else:
            if event.kind is EventKind.EXPIRED and not event.filtered:
                self.expired += event.count
            self.resets += 1

    def sample(self, at: datetime, window: timedelta) -> None:
        """Keep the counters of now, about once a minute of an hour."""
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

        An excess stays for its window, however much is copied after it.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignRecords:
    """Records at the target that are no copies of what the source holds."""

    records: int
    """Records of one topic, since it was last without any."""

    at: datetime
    """Time at which the newest were found."""


_TOGETHER = timedelta(minutes=5)
"""Time within which events of a partition are added first: so they end at
most that much later than each would alone."""


def sum_up(events: Iterable[CopyEvent], most: int) -> list[CopyEvent]:
    """Return a journal in which nothing pushes another thing out.

    Parameters
    ----------
    events
        The journal, the newest last.
    most
        Losses, losses of filtered topics, and other events of each of which
        the newest stay as they are; those before are added by kind and
        partition.
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


def _sum_up(events: list[CopyEvent], most: int) -> list[CopyEvent]:
    older, young = events[:-most], events[-most:]
    added = _add(older, _TOGETHER)
    return [*(added if len(added) <= most else _add(added)), *young]


def _add(
    events: Iterable[CopyEvent], span: timedelta | None = None
) -> list[CopyEvent]:
    """Add those of one kind and partition, and of one span of time."""
    found: dict[Hashable, CopyEvent] = {}
    for event in events:
        time = span and event.at.timestamp() // span.total_seconds()
        key = (event.kind, event.place, event.source_id, time)
        before = found.pop(key, None)
        found[key] = event if before is None else _join(before, event)
    return list(found.values())


def _join(before: CopyEvent, event: CopyEvent) -> CopyEvent:
    ranges = RangeSet([*before.ranges, *event.ranges])
    return replace(
        event,
        ranges=tuple(newest(ranges, RANGES_KEPT)),
        count=before.count + event.count,
        at=max(before.at, event.at),
    )
