"""Observation of the losses and duplicates of one flow."""

from dataclasses import dataclass
from datetime import datetime

from ..copies.journal import (
    CopyCounters,
    CopyEvent,
    FilterExcess,
    ForeignRecords,
)
from ..copies.out_of_range import OutOfRange

__all__ = ["PendingReads", "SkipsObservation"]


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
    """Start of the survey by which copies were last compared."""

    partitions: int
    counters: tuple[tuple[str, CopyCounters], ...] = ()
    events: tuple[tuple[CopyEvent, int], ...] = ()
    """Recent events, the newest last, each with the number of its records that
    are still missing."""

    foreign: tuple[tuple[str, ForeignRecords], ...] = ()
    excesses: tuple[tuple[str, FilterExcess], ...] = ()
    out_of_range: tuple[OutOfRange, ...] = ()
    """Positions that the source's log does not hold, for the check
    `position`."""

    unread: PendingReads | None = None
    """Ranges that are still to be read."""

    without_syncs: int = 0
    """Partitions whose drops only syncs would show, and none is written."""

    bytes_read: tuple[int, int] = (0, 0)
    """Bytes of ranges read at the source, and at the target, since the agent
    was started."""

    merged: int = 0
    """Topics that several flows feed, so that offsets prove nothing."""

    problems: tuple[str, ...] = ()
