"""Both sides of a flow, read together: what lag, skips and parity need."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from .mirror_records import Committed, Sync

__all__ = [
    "FOR_EVER",
    "ClusterView",
    "FlowView",
    "TopicConfigs",
    "TopicFacts",
    "TopicPartition",
]


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


FOR_EVER = -1
"""What Kafka says where nothing is deleted by time, or by size."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicConfigs:
    """Values in effect on one topic: its own, or those of its broker.

    `None` where the broker does not say.
    """

    retention_ms: int | None = None
    """``retention.ms``; -1 for ever. Of concern only with ``delete``."""

    retention_bytes: int | None = None
    """``retention.bytes`` of each partition; -1 without limit."""

    segment_bytes: int | None = None
    """``segment.bytes``: records are deleted by whole segments."""

    segment_ms: int | None = None
    """``segment.ms``: age from which a segment is closed."""

    cleanup_policy: frozenset[str] | None = None
    """``cleanup.policy``: ``delete``, ``compact``, both or neither."""

    max_message_bytes: int | None = None
    """``max.message.bytes``: the largest batch that the topic takes."""

    timestamp_type: str | None = None
    """``message.timestamp.type``: ``CreateTime`` or ``LogAppendTime``."""

    min_insync_replicas: int | None = None
    """``min.insync.replicas``."""

    compression_type: str | None = None
    """``compression.type``; ``producer`` keeps what was sent."""

    own: frozenset[str] = frozenset()
    """Properties that the topic sets itself; others are its broker's."""

    @property
    def compacted(self) -> bool:
        """Whether records may go because a later one has the same key."""
        return self.cleanup_policy is not None and (
            "compact" in self.cleanup_policy
        )

    @property
    def deletes(self) -> bool:
        """Whether records may go by time or size; so it is assumed where the
        broker does not say.
        """
        return self.cleanup_policy is None or "delete" in self.cleanup_policy

    def get(self, name: str) -> str | None:
        """Return a property by Kafka's name, as Kafka writes it."""
        value = getattr(self, FIELDS[name])
        if isinstance(value, frozenset):
            return ",".join(sorted(value))
        return None if value is None else str(value)

    @classmethod
    def parse(
        cls, values: Mapping[str, str | None], own: frozenset[str]
    ) -> "TopicConfigs":
        """Return what a broker's answer says.

        Parameters
        ----------
        values
            Values by Kafka's names.
        own
            Names of the properties that the topic sets itself.
        """
        policy = values.get("cleanup.policy")
        return cls(
            retention_ms=_number(values, "retention.ms"),
            retention_bytes=_number(values, "retention.bytes"),
            segment_bytes=_number(values, "segment.bytes"),
            segment_ms=_number(values, "segment.ms"),
            cleanup_policy=None
            if policy is None
            else frozenset(p.strip() for p in policy.split(",") if p.strip()),
            max_message_bytes=_number(values, "max.message.bytes"),
            timestamp_type=values.get("message.timestamp.type"),
            min_insync_replicas=_number(values, "min.insync.replicas"),
            compression_type=values.get("compression.type"),
            own=own.intersection(FIELDS),
        )


FIELDS: Mapping[str, str] = {
    "max.message.bytes": "max_message_bytes",
    "retention.ms": "retention_ms",
    "retention.bytes": "retention_bytes",
    "cleanup.policy": "cleanup_policy",
    "segment.bytes": "segment_bytes",
    "segment.ms": "segment_ms",
    "message.timestamp.type": "timestamp_type",
    "min.insync.replicas": "min_insync_replicas",
    "compression.type": "compression_type",
}
"""Fields by Kafka's names."""


def _number(values: Mapping[str, str | None], name: str) -> int | None:
    value = values.get(name)
    return None if value is None else int(value)
