"""Everything about resets that must outlive the agent."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from ..cluster_view import TopicPartition
from ..losses.model import LostRecords

__all__ = [
    "PartitionPosition",
    "PositionObservation",
    "PositionState",
    "Reset",
    "ResetKind",
    "Truncation",
    "UnexplainedGap",
]


class ResetKind(StrEnum):
    """Kind of a position reset."""

    EXPIRED = "expired"
    """Records left the source before they were copied."""

    UNVERIFIED = "unverified"
    """Offsets left the source, and nobody can say whether these were records
    that had not been copied."""

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

    number: int
    """Number of the reset, the first one 1."""

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

    proved: int | None = None
    """Up to where the mirror had copied for sure, of what expired: the first
    offset concerned may be counted back from the target. Of a recreated
    topic: where copies made since then may be of either topic."""

    log_end: int | None = None
    """End of the source's log, as last seen while it was open."""

    target_end: int | None = None
    """End of the partition at the target when it was first seen."""

    former_end: int | None = None
    """The same when the topic that was recreated was last seen: what is below
    are copies of that one."""

    places: int = 0
    """Partitions concerned, where it is not one."""

    gone: int = 0
    """Records lost beside the range: of the topic that is no more, those
    that were not copied, or all of its copies; at most so many."""

    unseen: bool = False
    """Log end of the topic that is no more was never seen, so that the number
    of its records that were not copied is unknown."""

    at_most: bool = False
    """Upper bound: some of the offsets concerned may have been copied; of a
    recreated topic, any of them."""

    at_least: bool = False
    """Lower bound: more may be concerned, as the position was not known
    exactly."""

    harmless: bool = False
    away: bool = False
    """Topic is no longer carried by the flow: it was deleted, or is no longer
    wanted. Of a recreated one: or it lacks the partition."""

    before: str = ""
    now: str = ""
    """Id that was found. Of a topic that was recreated at the source: at the
    target, where it was recreated as well."""

    from_end: bool = False
    """Mirror without a position begins at the log end. Of a truncated log: it
    may do so, as far as that is known."""

    summed: int = 0
    """Settled resets of one kind and topic that this one sums up; 0 if it is
    one itself. It has no partition and no range."""

    offsets: int = 0

    @property
    def count(self) -> int:
        """Number of source offsets concerned."""
        if self.summed:
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
            return LostRecords(at_most=self.gone)
        if self.at_most:
            return LostRecords(at_most=self.count)
        return LostRecords(expired=self.count)

    @property
    def is_in_doubt(self) -> bool:
        """Return whether it is unknown which records of a recreated topic were
        copied.
        """
        return self.kind is ResetKind.SOURCE_RECREATED and self.at_most

    @property
    def is_in_truncated_log(self) -> bool:
        """Return whether the mirror resumed in a truncated log, and may have
        skipped what was written there before.
        """
        return (
            self.kind is ResetKind.BEYOND and self.harmless and self.from_end
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Truncation:
    """A log of the source that ended below what was copied, by its copies."""

    reached: int
    """Position of the mirror."""

    synced_at: datetime | None = None
    """Time of the last offset sync: the next one shows the position."""

    committed_at: datetime | None = None
    """Time of the last commit: a commit within the log shows the position,
    too."""

    def is_over(self, place: "PartitionPosition", end: int) -> bool:
        """Return whether it says no more where the mirror is."""
        return (
            self.reached <= end
            or self.synced_at != place.synced_at
            or (
                self.committed_at != place.committed_at
                and (place.committed or 0) <= end
            )
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class UnexplainedGap:
    """Source offsets between two copies that had not been seen to expire."""

    topic: str
    partition: int
    first: int
    """First of them."""

    end: int
    at: datetime
    at_most: bool = False
    """Upper bound: the mirror may have copied some of them before."""


MOST_PASSED = 100
"""Positions of a partition that are kept until a sync comes: as many commits
as MirrorMaker 2 may write without one (``offset.lag.max``)."""


@dataclass(kw_only=True, slots=True)
class PartitionPosition:
    """Proved position in one partition of one topic id."""

    reached: int | None = None
    """Every offset below was copied or skipped; `None` if unknown."""

    committed: int | None = None
    """Position that the mirror committed last."""

    committed_at: datetime | None = None
    """Time of that commit; earlier commits count no more."""

    upstream: int | None = None
    """Source offset of the last sync."""

    downstream: int | None = None
    """Target offset of it; `None` where that topic is no more."""

    synced_at: datetime | None = None
    """Time of that offset sync; earlier syncs count no more."""

    empty_until: int = 0
    """Up to here, only markers or emptied offsets follow the position, or
    what a transform dropped on purpose."""

    copies_end: int | None = None
    """End at the target when nothing had been committed or synced for so long
    that the mirror has copied no more; `None` if it may have."""

    source_end: int | None = None
    """End at the source when it was last seen."""

    target_end: int | None = None
    """End at the target when that was last seen at the source."""

    is_seen: bool = False
    truncation: Truncation | None = None
    """Truncation of the source's log, until it is over."""

    passed: list[int] = field(default_factory=list)
    """Positions before the mirror committed more, since the last sync."""

    @property
    def is_begun(self) -> bool:
        """Return whether the mirror ever wrote a position; otherwise its
        position is the first offset that was seen.
        """
        return self.synced_at is not None or self.committed_at is not None

    @property
    def proved(self) -> int:
        """Next source offset that may be copied, as far as it is proved."""
        return max(self.reached or 0, self.empty_until)

    def prove(self, position: int) -> None:
        """Take where the mirror was before it committed more."""
        if not self.passed or self.passed[-1] < position:
            self.passed = [*self.passed, position][-MOST_PASSED:]

    def proved_before(self, upstream: int) -> int:
        """Return how far commits prove the mirror to have been before it
        copied an offset; 0 if they do not.

        A commit may be read before the copies that it is of: one beyond the
        offset says nothing of those before it.
        """
        return max((p for p in self.passed if p <= upstream), default=0)

    def proved_between(self, first: int, last: int) -> int | None:
        """Return the first position beyond an offset that was proved since the
        last sync, if it is not beyond another one.
        """
        found = [*self.passed, self.reached or 0]
        return min((p for p in found if first < p <= last), default=None)

    def forget_before(self, upstream: int) -> None:
        """Forget what is proved below a sync."""
        if self.passed and self.passed[0] <= upstream:
            self.passed = [p for p in self.passed if p > upstream]

    def origin_of(self, downstream: int) -> int | None:
        """Return the source offset whose copy a target offset would be.

        Right as long as nobody else writes there and nothing is left out.
        """
        if self.upstream is None or self.downstream is None:
            return None
        return self.upstream + downstream - self.downstream

    def estimate(self, target_end: int | None) -> int | None:
        """Return the next source offset, counted back from the target's end.

        Notes
        -----
        Never below what is proved: that is a minute and a hundred records
        old where the mirror was killed. Markers that follow are behind it.
        """
        if self.reached is None or target_end is None:
            return self.reached
        return max(self.reached, self.origin_of(target_end) or 0)

    def begin_at(self, position: int) -> None:
        """Take where the mirror is, with other records behind it."""
        self.reached, self.empty_until = position, 0


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

    gaps: list[UnexplainedGap] = field(default_factory=list)
    """Gaps that were skipped and had not been seen to expire."""

    last: int = 0
    """Number of the newest reset."""

    def __post_init__(self) -> None:
        self._newest: dict[Spot, int] = {}
        for number, reset in sorted(self.resets.items()):
            if not reset.summed:
                self._newest[_spot(reset)] = number
        self.touched: set[TopicPartition] = set()

        self.moved: set[TopicPartition] = set()
        """The same, of which only the ends of the logs were seen to move: that
        is nearly all of them, and must not hold up the others."""

        self.urgent = False

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
                gone=known.gone + reset.gone,
                at_least=known.at_least or reset.at_least,
                summed=known.summed + 1,
                offsets=known.offsets + reset.count,
            )
        self.resets |= {found.number: found for found in sums.values()}

    def places_of(self, topic: str) -> Iterator[tuple[int, PartitionPosition]]:
        """Yield the partitions of a topic of which a position is known."""
        for (name, partition), place in self.places.items():
            if name == topic and place.reached is not None:
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
        reset.away,
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
