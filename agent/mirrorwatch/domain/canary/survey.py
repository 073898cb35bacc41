"""What was found out about a canary's surroundings, once a tick."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..observations import Problem
from .proof import ORDER_GRACE

__all__ = ["Doubt", "MirrorPosition", "Settlement", "Survey", "TopicState"]
__all__ += ["uncovered"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicState:
    """The canary topic on one side."""

    id: str
    """Topic id; another one is another topic of the same name."""

    partitions: frozenset[int]
    """Partitions that it has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Doubt:
    """A probe of which nobody knows whether it was written."""

    partition: int
    sequence: int
    floor: int
    """Lowest source offset that it can have."""

    sent_at: datetime
    current: bool
    """Whether it was sent to the present incarnation of the topic."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settlement:
    """What reading the source said of a doubtful probe."""

    partition: int
    sequence: int
    source_offset: int | None
    """Where it was found, `None` if it was not."""

    readable: bool
    """Whether everything where it could be was there to be read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MirrorPosition:
    """How far the mirror has got on one partition, in source offsets."""

    origin: str
    """Where the figure comes from, in words."""

    position: int
    """Next source offset to copy."""

    seen_at: datetime
    """When the mirror wrote it."""

    counts_at: datetime
    """From when it counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Survey:
    """What was found out, in the order that proofs need.

    Positions were read first, then the target's ends, then the source topic:
    if that still has the id that the probes were sent to, the positions speak
    of the same topic.
    """

    at: datetime
    """When it was begun."""

    positions: Mapping[int, tuple[MirrorPosition, ...]] = field(
        default_factory=dict
    )
    """What the mirror says of itself, by partition."""

    target: TopicState | None = None
    """The topic at the target; `None` if it is absent or not known."""

    ends: Mapping[int, int] = field(default_factory=dict)
    """Ends of the target's partitions, read after the positions."""

    source: TopicState | None = None
    """The topic at the source; `None` if it is absent or not known."""

    settlements: tuple[Settlement, ...] = ()
    """Doubts that were resolved."""

    source_cluster: str | None = None
    """Cluster id of the source, if it answered."""

    target_cluster: str | None = None
    """Cluster id of the target, if it answered."""

    refresh: timedelta | None = None
    """How often the mirror looks for new partitions, if that is known."""

    size_limit: int | None = None
    """Largest record value that everything on the way takes, in bytes, if
    that was asked for."""

    ordered: bool = False
    """Whether the mirror is known to keep the order within a partition."""

    problems: tuple[Problem, ...] = ()
    """What a person can mend."""

    @property
    def grace(self) -> timedelta | None:
        """How long an overtaken probe may follow; `None` without order."""
        return ORDER_GRACE if self.ordered else None


def uncovered(
    brokers: frozenset[int], leaders: Mapping[int, int | None]
) -> frozenset[int]:
    """Return the brokers that lead no partition of the canary topic."""
    return brokers - {b for b in leaders.values() if b is not None}
