"""What is known of skips and repeats of one flow."""

from dataclasses import dataclass
from datetime import datetime

from .conservation import Happening, Suspicion, Tally
from .view import TopicPartition

__all__ = ["SkipsObservation", "Unread"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Unread:
    """Stretches that must be read before anything is said of them."""

    partitions: int
    """How many partitions have one."""

    since: datetime
    """Since when the oldest one waits."""

    problem: str | None = None
    """What keeps it from being read, in a sentence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SkipsObservation:
    """Skips and repeats of one flow."""

    flow: str
    """Name of the flow."""

    at: datetime
    """When the survey began that they were last compared by."""

    partitions: int
    """Partitions whose books are kept."""

    tallies: tuple[tuple[str, Tally], ...] = ()
    """Counters of every topic that the flow carries, in order."""

    happenings: tuple[tuple[Happening, int], ...] = ()
    """What happened lately, the newest last, and how many of the records are
    still missing."""

    suspicions: tuple[Suspicion, ...] = ()
    """Ends of partitions that seem to have been dropped."""

    left_behind: frozenset[TopicPartition] = frozenset()
    """Partitions whose task copies newer records of others: they are under
    suspicion, or will soon be."""

    unread: Unread | None = None
    """What is not yet known."""

    blind: int = 0
    """Partitions that hold copies of which the mirror tells no offsets."""

    merged: int = 0
    """Topics that several flows feed, so that offsets tell nothing."""

    problems: tuple[str, ...] = ()
    """What keeps both sides from being compared."""
