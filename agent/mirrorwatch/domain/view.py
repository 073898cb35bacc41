"""Both sides of a flow, read together: what lag, skips and parity need."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from .positions import Committed, Sync

__all__ = ["ClusterView", "FlowView", "TopicFacts", "TopicPartition"]

TopicPartition = tuple[str, int]
"""Name of a topic, number of a partition."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicFacts:
    """One topic as its cluster describes it."""

    id: str
    """Topic id (KIP-516): another one is another topic of the same name."""

    partitions: int
    """Number of partitions."""

    replication_factor: int
    """Replicas of the first partition."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterView:
    """What one cluster answered in one survey."""

    alias: str
    """Our alias of the cluster."""

    id: str
    """Id that the cluster was formatted with."""

    at: datetime
    """When the ends were asked for: none of them is older."""

    topics: Mapping[str, TopicFacts]
    """All topics but Kafka's own, by name."""

    ends: Mapping[TopicPartition, int]
    """End of each partition asked for, as the mirror's consumer sees it at
    the source, the high watermark at the target; absent without a leader."""

    starts: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Lowest offset that is still there; absent where it was not asked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowView:
    """What one survey saw of one flow, in the order of these fields.

    Notes
    -----
    The follower is read before the leader: positions, the target, then the
    source. So a source end minus a position is never too small, and a target
    end is never older than the position that it is compared with.
    """

    flow: str
    """Name of the flow."""

    at: datetime
    """When the survey began, just before the positions were read."""

    committed: Mapping[TopicPartition, Committed]
    """Committed position of each source partition."""

    syncs: Mapping[TopicPartition, Sync]
    """Newest sync of each source partition."""

    caught_up: bool
    """Whether the mirror's internal topics were read to their ends."""

    target: ClusterView | None
    """The target, `None` if it did not answer."""

    source: ClusterView | None
    """The source, `None` if it did not answer."""

    names: Mapping[str, str]
    """Topics at the source that the flow carries, with their names at the
    target; empty if the source did not answer."""

    problems: tuple[str, ...] = ()
    """What kept facts from being read, in sentences."""

    def partitions(self) -> Iterable[TopicPartition]:
        """Return every source partition that the flow carries."""
        if self.source is None:
            return ()
        return (
            (topic, partition)
            for topic in self.names
            for partition in range(self.source.topics[topic].partitions)
        )
