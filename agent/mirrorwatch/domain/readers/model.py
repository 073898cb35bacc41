"""Lag of consumer groups at the target: what arrived is not yet read."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ..lag.model import LagStatus, TopicLag

__all__ = [
    "STALE",
    "GroupFacts",
    "GroupLag",
    "LostOffsets",
    "ReadersObservation",
    "ReadersState",
    "StandingPartition",
]


STALE = timedelta(minutes=2)
"""Oldest look at the groups that is still believed: there is one every 15 s,
and each of two hundred groups may take a while to answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupFacts:
    """A consumer group as its coordinator describes it."""

    state: str
    members: int


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupLag:
    """Lag of one consumer group on the topics that one flow copies."""

    group: str
    facts: GroupFacts | None = None
    """Its state and members; `None` if they are not known."""

    topics: tuple[TopicLag, ...] = ()
    unknown_partitions: int = 0
    """Partitions whose lag is not known: no leader, or a committed offset
    beyond the end."""

    @property
    def records(self) -> int:
        """Offsets that the group has not read."""
        return sum(topic.records for topic in self.topics)

    @property
    def seconds(self) -> float:
        """Age of the oldest record that the group has not read."""
        return max((topic.seconds for topic in self.topics), default=0.0)

    @property
    def worst(self) -> TopicLag | None:
        """The topic that has been stuck for longest; `None` without lag."""
        waiting = [topic for topic in self.topics if topic.records]
        return max(
            waiting,
            key=lambda t: (
                t.status in {LagStatus.STOPPED, LagStatus.STALLED},
                t.stuck,
                t.seconds,
            ),
            default=None,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class LostOffsets:
    """Unread records of one group whose consumer offsets are gone."""

    group: str
    topics: int
    """Topics of which it had not read all."""

    records: int
    missed_at: datetime
    """Time at which the newest of these offsets was first found to be gone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadersObservation:
    """Lag of the configured groups at the target of one flow."""

    flow: str
    at: datetime
    """Time at which the target's log ends were read; the consumer offsets were
    read just before."""

    groups: tuple[GroupLag, ...] = ()
    lost: tuple[LostOffsets, ...] = ()
    """Groups that had not read all when their offsets were gone, by name."""

    missing: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    """Groups that mirrorwatch may not describe."""

    unread: int = 0
    """Groups that were not read, as there are too many."""

    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class StandingPartition:
    """A committed offset that does not move while records wait."""

    group: str
    topic: str
    topic_id: str
    partition: int
    offset: int
    since: datetime
    """Since when it has not moved."""

    missed_at: datetime | None = None
    """Time at which the offset was first found to be gone; `None` while it is
    there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadersState:
    """State of consumer groups that must outlive the agent."""

    standing: tuple[StandingPartition, ...] = ()
    """Committed offsets that do not move while records wait, also such as
    are gone since."""
