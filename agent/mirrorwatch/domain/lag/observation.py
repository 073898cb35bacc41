"""What is known of a flow's lag at one time."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

__all__ = ["Headroom", "LagObservation", "LagStatus", "Standing", "TopicLag"]


class LagStatus(StrEnum):
    """How a topic is doing, without any threshold (after Burrow)."""

    EVEN = "even"
    """Nothing waits."""

    MOVING = "moving"
    """Records wait, and the mirror goes on."""

    FALLING_BEHIND = "falling behind"
    """The mirror goes on, but records wait longer and longer."""

    STALLED = "stalled"
    """Records wait and are not taken, while other topics go on."""

    STOPPED = "stopped"
    """Records wait, and nothing of the flow goes on."""

    NOT_BEGUN = "not begun"
    """Records wait, and none of this topic was ever copied."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Headroom:
    """How long the mirror could stand still before records are lost.

    Notes
    -----
    Kafka deletes whole segments, so records live longer than this, never
    shorter.
    """

    remaining: timedelta
    """Time until the oldest record that waits, or else the next one that is
    written, expires at the source."""

    share: float
    """The same as a share of what the topic keeps: 1 is all of it."""

    estimated: bool = False
    """Whether it is an estimate from the size of the log and the rate of the
    last minute, because the size is what bounds the topic."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """One partition that has not moved while its records waited."""

    partition: int
    """Its number."""

    position: int
    """Next source offset to be copied."""

    origin: str
    """What says so."""

    status: LagStatus
    """How it is doing."""

    stuck: timedelta
    """How long it has not moved."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicLag:
    """Lag of one source topic."""

    topic: str
    """Source topic."""

    topic_class: str
    """Class that the configuration gives it; empty if none."""

    records: int
    """Source offsets not yet copied, of all partitions."""

    seconds: float
    """Age of the oldest record not yet copied; 0 if nothing waits."""

    at_least: bool = False
    """Whether that age is only a lower bound: the record was there before
    the agent looked, and could not be read yet."""

    status: LagStatus = LagStatus.EVEN
    """How it is doing."""

    partition: int | None = None
    """The partition that is worst, `None` if nothing waits."""

    position: int | None = None
    """Next source offset to be copied there."""

    origin: str = ""
    """What says so: ``committed``, ``sync`` or ``estimate``."""

    stuck: timedelta | None = None
    """How long a partition has not moved while its records waited."""

    standing: tuple[Standing, ...] = ()
    """All partitions that do not move while their records wait."""

    drain: timedelta | None = None
    """How long until nothing waits, as fast as in the last minute; `None`
    if nothing waits or it does not get less."""

    headroom: Headroom | None = None
    """What is left before records are lost; `None` if the source keeps them
    for ever, or if that is not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LagObservation:
    """Lag of all topics that one flow carries."""

    flow: str
    """Name of the flow."""

    at: datetime
    """When the survey began (UTC)."""

    topics: tuple[TopicLag, ...] = ()
    """One entry for each topic that the flow carries, by name."""

    flush: timedelta = timedelta(minutes=1)
    """How often the mirror commits positions."""

    refresh: timedelta = timedelta(minutes=10)
    """How often the mirror looks for new topics."""

    unknown_partitions: int = 0
    """Partitions whose lag cannot be said: no leader, or a position beyond
    the end."""

    configs_known: bool = False
    """Whether it is known how long the source keeps records."""

    problems: tuple[str, ...] = ()
    """What keeps lag from being known, in sentences."""

    @property
    def records(self) -> int:
        """Records of all topics that are not yet copied."""
        return sum(t.records for t in self.topics)

    @property
    def seconds(self) -> float:
        """Age of the oldest record that is not yet copied."""
        return max((t.seconds for t in self.topics), default=0.0)
