"""Everything about resets that must outlive the agent."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from ..cluster_view import TopicPartition
from ..copies.journal import ONE_REWIND, CopyEvent
from ..copies.pair import EventKind
from ..losses.model import LostRecords
from ..skips.model import SkipsObservation

__all__ = [
    "PartitionPosition",
    "PositionObservation",
    "PositionState",
    "Reset",
    "ResetKind",
    "resets_of",
]


class ResetKind(StrEnum):
    """Kind of a position reset."""

    EXPIRED = "expired"
    """Records left the source before they were copied."""

    BEYOND = "beyond"
    """The mirror is past the end of the source's log."""

    REWIND = "rewind"

    SOURCE_RECREATED = "source_recreated"

    TARGET_RECREATED = "target_recreated"

    OFFSETS_GONE = "offsets_gone"

    OFFSETS_DELETED = "offsets_deleted"

    SYNCS_GONE = "syncs_gone"

    OTHER_CLUSTER = "other_cluster"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reset:
    """Reset of a position.

    Notes
    -----
    It is open as long as the mirror has not shown what it makes of it: the
    first record that it copies afterwards decides.
    """

    number: int = 0
    """Number of the reset, the first one 1; 0 if copies show it."""

    kind: ResetKind
    topic: str
    """Source topic; the internal topic, or the alias of the cluster, where
    these are concerned."""

    began: datetime
    """Time at which the reset was first seen."""

    settled: datetime | None = None
    """Time at which the reset was over; `None` while it is open."""

    partition: int | None = None
    """Partition, `None` where all of the topic is concerned."""

    first: int | None = None
    """First source offset concerned."""

    end: int | None = None
    """Source offset after the last one concerned."""

    log_end: int | None = None
    """End of the source's log, as last seen while it was open."""

    places: int = 0
    """Partitions concerned, where it is not one."""

    gone: int | None = 0
    """Records lost beside the range: of the topic that is no more, those
    that were not copied, or all of its copies; at most so many. `None` if
    its ends were never seen."""

    at_most: bool = False
    """Upper bound: some of the offsets concerned may have been copied."""

    is_unseen: bool = False
    """Records that nobody saw wait before they expired: perhaps transaction
    markers, or copied."""

    harmless: bool = False
    before: str = ""
    now: str = ""
    """Id that was found."""

    from_end: bool = False
    """Mirror without a position begins at the log end."""

    summed: int = 0
    """Settled resets of one kind and topic that this one sums up; 0 if it is
    one itself. It has no partition and no range."""

    offsets: int = 0
    """Source offsets concerned, where the range does not tell."""

    @property
    def count(self) -> int:
        """Number of source offsets concerned."""
        if self.offsets:
            return self.offsets
        if self.first is None or self.end is None:
            return 0
        return max(0, self.end - self.first)

    @property
    def lost(self) -> LostRecords:
        """Records that the mirror can copy no more. Those that it left out of
        a log that still holds them are counted among the dropped ones.
        """
        if self.kind is not ResetKind.EXPIRED:
            return LostRecords(at_most=self.gone or 0)
        if self.at_most:
            return LostRecords(at_most=self.count)
        return LostRecords(expired=self.count)


@dataclass(kw_only=True, slots=True)
class PartitionPosition:
    """Position in one partition of one topic id."""

    committed: int | None = None
    """Position that the mirror committed last."""

    committed_at: datetime | None = None
    """Time of that commit; earlier commits count no more."""

    reached: int | None = None
    """Next source offset to copy, as last known; `None` if unknown."""

    empty_until: int = 0
    """Up to here, only markers or emptied offsets follow a position, or what
    a transform dropped on purpose."""

    source_end: int | None = None
    """End at the source when it was last seen."""

    @property
    def next_offset(self) -> int:
        """Next source offset to copy, past offsets that need no copy."""
        return max(self.reached or 0, self.empty_until)


Pin = tuple[str, str]
"""Pinned object: kind (``cluster``, ``source``, ``target``, ``internal``) and
name."""

KEPT = 1000
"""Settled resets of which each is kept: more than anybody reads. Older ones
are summed up."""

SUM_OVER = timedelta(minutes=5)
"""Resets that are summed up were settled within the same stretch of this
length, so that a sum is forgotten soon after what is in it."""

Spot = tuple[ResetKind, str, int | None]


@dataclass(kw_only=True)
class PositionState:
    """Pinned ids, proved positions, and resets, of one flow."""

    pins: dict[Pin, str] = field(default_factory=dict)
    places: dict[TopicPartition, PartitionPosition] = field(
        default_factory=dict
    )
    resets: dict[int, Reset] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    """Resets by source topic; never forgotten."""

    lost: dict[str, LostRecords] = field(default_factory=dict)
    """Records lost by settled resets, by source topic; never forgotten."""

    last: int = 0
    """Number of the newest reset."""

    def __post_init__(self) -> None:
        self._newest: dict[Spot, int] = {}
        for number, reset in sorted(self.resets.items()):
            if not reset.summed:
                self._newest[_spot(reset)] = number
        self.touched: set[TopicPartition] = set()

        self.urgent = False
        self.seen: set[TopicPartition] = set()
        """Partitions whose log ends were seen since the agent was started."""

        self.deleted: dict[str, int] = {}
        """Offsets that topics of the target held when they were deleted, by
        the name there. After a restart in between, nobody knows."""

    def pin(self, kind: str, name: str, id_: str) -> None:
        """Remember an id."""
        if self.pins.get((kind, name)) != id_:
            self.pins[kind, name] = id_
            self.urgent = True

    def unpin(self, kind: str) -> None:
        """Forget all ids of a kind."""
        for pin in [pin for pin in self.pins if pin[0] == kind]:
            del self.pins[pin]
            self.urgent = True

    def topics(self) -> frozenset[str]:
        """Return the source topics that were ever seen."""
        return frozenset(name for kind, name in self.pins if kind == "source")

    def newest(
        self, kind: ResetKind, topic: str, partition: int | None = None
    ) -> Reset | None:
        """Return the newest reset of a kind of a topic or partition, if it is
        kept.
        """
        found = self.resets.get(self._newest.get((kind, topic, partition), 0))
        return None if found is None or found.summed else found

    def open(
        self, kind: ResetKind, topic: str, partition: int | None = None
    ) -> Reset | None:
        """Return the reset of a kind that is open for a topic or partition."""
        found = self.newest(kind, topic, partition)
        return found if found and found.settled is None else None

    def begin(
        self,
        kind: ResetKind,
        topic: str,
        at: datetime,
        *,
        partition: int | None = None,
        counted: Iterable[str] | None = None,
        **what: Any,
    ) -> Reset:
        """Open a reset, and count it.

        Parameters
        ----------
        kind
            Kind of the reset.
        topic
            Source topic, internal topic, or alias of the cluster.
        at
            Time of the reset.
        partition
            Partition, if one is concerned.
        counted
            Source topics under which it counts; by default its own.
        what
            More about it.
        """
        self.last += 1
        found = Reset(
            number=self.last,
            kind=kind,
            topic=topic,
            partition=partition,
            began=at,
            **what,
        )
        self._newest[_spot(found)] = found.number
        self.resets[found.number] = found
        self._count(None, found)
        for name in [topic] if counted is None else set(counted):
            self.counts[name] = self.counts.get(name, 0) + 1
        self.urgent = True
        return found

    def change(self, reset: Reset, **what: Any) -> Reset:
        """Note what became of a reset."""
        changed = replace(reset, **what)
        if changed != reset:
            self.resets[reset.number] = changed
            self._count(reset, changed)
            self.urgent = True
        return changed

    def _count(self, before: Reset | None, after: Reset) -> None:
        """Count what settled resets lost. One that is opened again takes it
        back: what becomes of its records is seen once more.
        """
        change = _settled_loss(after) - _settled_loss(before)
        if change:
            known = self.lost.get(after.topic, LostRecords())
            self.lost[after.topic] = known + change

    def drop(self, reset: Reset) -> None:
        """Forget a reset; it stays counted."""
        self.resets.pop(reset.number, None)
        self.urgent = True

    def forget(self, now: datetime, memory: timedelta) -> None:
        """Forget resets that are over for longer than anybody asks, and sum
        up the oldest of the others if there are too many.
        """
        over = []
        for reset in list(self.resets.values()):
            if reset.settled is None:
                continue
            if now - reset.settled > memory:
                self.drop(reset)
            elif not reset.summed:
                over.append(reset)
        if len(over) > KEPT:
            self._sum_up(over[:-KEPT])

    def _sum_up(self, resets: Iterable[Reset]) -> None:
        sums = {_likeness(r): r for r in self.resets.values() if r.summed}
        for reset in resets:
            self.drop(reset)
            key = _likeness(reset)
            known = sums.get(key) or replace(
                reset, partition=None, first=None, end=None, gone=0
            )
            sums[key] = replace(
                known,
                settled=max(filter(None, (known.settled, reset.settled))),
                places=max(known.places, reset.places),
                gone=(known.gone or 0) + (reset.gone or 0),
                summed=known.summed + 1,
                offsets=known.offsets + reset.count,
            )
        self.resets |= {found.number: found for found in sums.values()}

    def places_of(self, topic: str) -> Iterator[tuple[int, PartitionPosition]]:
        """Yield the partitions of a topic of which a position is known."""
        for (name, partition), place in self.places.items():
            if name == topic and (
                place.reached is not None or place.committed is not None
            ):
                yield partition, place


def _settled_loss(reset: Reset | None) -> LostRecords:
    settled = reset is not None and reset.settled is not None
    return reset.lost if reset and settled else LostRecords()


def _likeness(reset: Reset) -> tuple[object, ...]:
    """Return what settled resets have in common that one sentence
    reports, and that are forgotten at about the same time.
    """
    assert reset.settled is not None  # noqa: S101 - the caller looked
    return (
        reset.kind,
        reset.topic,
        reset.harmless,
        reset.at_most,
        reset.from_end,
        reset.settled.timestamp() // SUM_OVER.total_seconds(),
    )


def _spot(reset: Reset) -> Spot:
    return (reset.kind, reset.topic, reset.partition)


@dataclass(frozen=True, kw_only=True, slots=True)
class PositionObservation:
    """The resets of one flow that are open or not long over."""

    flow: str
    at: datetime
    """Time at which both sides were last read."""

    source: str
    target: str
    partitions: int = 0
    resets: tuple[Reset, ...] = ()
    """Open ones, and those not long over, in their order."""

    counts: Mapping[str, int]
    lost: Mapping[str, LostRecords] = field(default_factory=dict)
    """Records lost by settled resets since the state file was made, by source
    topic."""

    problems: tuple[str, ...] = ()
    keeps_offsets: bool = False
    """Positions are log ends at the target: one that falls is a truncated log
    there."""


KINDS = {
    EventKind.EXPIRED: ResetKind.EXPIRED,
    EventKind.SOURCE_TRUNCATED: ResetKind.BEYOND,
}


def resets_of(
    position: PositionObservation, skips: SkipsObservation | None
) -> tuple[Reset, ...]:
    """Return the resets that commits, topic ids, and copies show.

    Parameters
    ----------
    position
        Resets by commits and topic ids.
    skips
        Copies; `None` where offsets cannot be compared.
    """
    if skips is None:
        return position.resets
    found = [
        Reset(
            kind=ResetKind.BEYOND if each.is_beyond else ResetKind.EXPIRED,
            topic=each.topic,
            partition=each.partition,
            began=each.since,
            first=first,
            end=end,
            log_end=each.log_end,
            at_most=end == each.sure_from,
            settled=each.since if each.is_unseen else None,
            is_unseen=each.is_unseen,
        )
        for each in skips.out_of_range
        for first, end in (
            (each.first, each.sure_from),
            (each.sure_from, each.end),
        )
        if first < end
    ]
    rewinds: dict[TopicPartition, Reset] = {}
    for event, _ in skips.events:
        if event.kind is EventKind.REPEATED:
            before = rewinds.get(event.place)
            if before and event.at - before.began >= ONE_REWIND:
                found.append(before)
                before = None
            rewinds[event.place] = _rewind(event, before)
        elif (kind := KINDS.get(event.kind)) and not event.filtered:
            found += _resets(event, kind)
    return (*position.resets, *found, *rewinds.values())


def _rewind(event: CopyEvent, before: Reset | None) -> Reset:
    """Return one reset for duplicates and those shortly before."""
    firsts, lasts = zip(*event.ranges, strict=True)
    found = Reset(
        kind=ResetKind.REWIND,
        topic=event.topic,
        partition=event.partition,
        began=event.at,
        settled=event.at,
        first=min(firsts),
        end=max(lasts) + 1,
        offsets=event.count,
        harmless=True,
    )
    if before is None:
        return found
    return replace(
        found,
        began=before.began,
        first=min(found.first or 0, before.first or 0),
        end=max(found.end or 0, before.end or 0),
        offsets=found.offsets + before.offsets,
    )


def _resets(event: CopyEvent, kind: ResetKind) -> Iterator[Reset]:
    """Yield a reset for each range of an event; only one if it is not known
    which offsets of its ranges are concerned.
    """
    offsets = sum(last - first + 1 for first, last in event.ranges)
    is_named = offsets == event.count
    for first, last in event.ranges if is_named else event.ranges[:1]:
        yield Reset(
            kind=kind,
            topic=event.topic,
            partition=event.partition,
            began=event.at,
            settled=event.at,
            first=first,
            end=last + 1,
            offsets=0 if is_named else event.count,
            harmless=kind is ResetKind.BEYOND,
        )
