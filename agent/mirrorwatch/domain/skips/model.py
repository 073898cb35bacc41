"""Observation of the losses and duplicates of one flow."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ..cluster_view import TopicPartition
from ..copies.journal import (
    CopyCounters,
    CopyEvent,
    FilterExcess,
    ForeignRecords,
)
from .dropped_tails import SuspectedDrop

__all__ = ["MissingCopies", "PendingReads", "SkipsObservation"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MissingCopies:
    """Records without a proved copy, by source partition."""

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
    counters: tuple[tuple[str, CopyCounters], ...] = ()
    events: tuple[tuple[CopyEvent, int], ...] = ()
    """Recent events, the newest last, each with the number of its records that
    are still missing."""

    suspicions: tuple[SuspectedDrop, ...] = ()
    left_behind: frozenset[TopicPartition] = frozenset()
    """Partitions whose task copies newer records of others: they are under
    suspicion, or will soon be."""

    foreign: tuple[tuple[str, ForeignRecords], ...] = ()
    excesses: tuple[tuple[str, FilterExcess], ...] = ()
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
