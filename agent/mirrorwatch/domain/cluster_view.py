"""Both sides of a flow, read together, and how far its mirror has come.

One survey gives one `FlowView`, and with it one `PartitionView` for each
source partition: lag, skips and position resets all read these.
"""

from collections import OrderedDict
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property

from .carriage import CarriedTopics
from .conflicts import Conflict
from .mirror_records import Committed, Sync

__all__ = [
    "FOR_EVER",
    "STALE_END",
    "ClusterAnswer",
    "ClusterView",
    "FlowView",
    "PartitionView",
    "Position",
    "PositionSource",
    "SyncBuffer",
    "TopicConfigs",
    "TopicFacts",
    "TopicPartition",
    "prove",
]


TopicPartition = tuple[str, int]
"""Name of a topic, number of a partition."""


STALE_END = timedelta(seconds=30)
"""Time for which a log end must be lower than before, or than a committed
position, until that is believed. A new leader reports an old end for some
seconds, until its followers have fetched from it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicFacts:
    """Topic as its cluster describes it."""

    id: str
    """Topic id (KIP-516): another one is another topic of the same name."""

    partitions: int
    replication_factor: int
    """Replicas of the first partition."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterView:
    """Snapshot of one cluster, as it answered in one survey."""

    alias: str
    id: str
    at: datetime
    topics: Mapping[str, TopicFacts]
    ends: Mapping[TopicPartition, int]
    """End of each partition asked for, as the mirror's consumer sees it at
    the source, the high watermark at the target; absent without a leader."""

    starts: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Lowest offset that is still there; absent where it was not asked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterAnswer:
    """Reachability of a cluster from the agent, and its response time."""

    alias: str
    answered_at: datetime | None = None
    """Time of its last response; `None` if it never responded."""

    answering_since: datetime | None = None
    """Since when it has answered every question; `None` if it did not answer
    the last one."""

    silent_since: datetime | None = None
    """Time of the first request without a response since then; `None` if the
    last request was answered. A refusal is no response, and no silence."""

    took: timedelta | None = None
    """Response time of its topic listing, the faster of the last two."""

    usual: timedelta | None = None
    """Usual response time of that listing; `None` if it is not known yet."""


class PositionSource(StrEnum):
    """Source from which a position is known."""

    COMMITTED = "committed"

    SYNC = "sync"
    """The last offset sync: up to a hundred records old."""

    ESTIMATE = "estimate"
    """The target's end, counted back by the last sync: good to the second,
    but no proof, as others may write there."""

    START = "start"


@dataclass(frozen=True, slots=True)
class Position:
    """Position of a mirror in one partition."""

    offset: int
    """Next source offset to copy."""

    origin: PositionSource


def prove(committed: Committed | None, sync: Sync | None) -> Position | None:
    """Return the highest position that is proved, `None` if there is none."""
    found = None
    if committed is not None and committed.position is not None:
        found = Position(committed.position, PositionSource.COMMITTED)
    if sync is not None and (found is None or sync.position > found.offset):
        found = Position(sync.position, PositionSource.SYNC)
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionView:
    """Source partition and its copy, as one survey saw them.

    The source has a leader for it: without one its end is not known, and
    there is no view of it.
    """

    remote: str
    source_id: str
    source_start: int | None
    """Log start at the source; `None` where it was not asked."""

    source_end: int
    target_id: str | None
    """Id of the topic at the target; `None` if it does not exist, or the
    target did not answer."""

    target_end: int | None
    """End at the target, read before that of the source; `None` if it is not
    known, or there is no such partition."""

    uncopied: bool
    committed: Committed | None
    """Committed offset, read before both ends."""

    sync: Sync | None
    """Newest sync, read before both ends."""

    marked: bool = False

    @property
    def log_start(self) -> int:
        """Log start at the source; 0 where it was not asked."""
        return self.source_start or 0

    @property
    def copies_end(self) -> int:
        """End at the target; 0 where there is none, or it is not known."""
        return self.target_end or 0

    @property
    def has_no_copies(self) -> bool:
        """Return whether the target answered and holds no copies of it."""
        return self.uncopied or self.target_end == 0

    @property
    def proved(self) -> Position | None:
        """Highest position that is proved, `None` if there is none."""
        return prove(self.committed, self.sync)

    @property
    def proved_at(self) -> datetime | None:
        """Time at which the mirror last wrote its position, `None` if it never
        did.
        """
        written = [f.written_at for f in (self.committed, self.sync) if f]
        return max(written, default=None)

    @property
    def estimate(self) -> int | None:
        """Next source offset, counted back from the target's end.

        Right as long as nobody else writes there and nothing was left out
        since the last sync. Markers of transactions count as records there.
        """
        if self.marked:
            return None
        if self.sync is None or self.target_end is None:
            return None
        distance = self.sync.upstream - self.sync.downstream
        return min(self.target_end + distance, self.source_end)


@dataclass(frozen=True, kw_only=True)
class FlowView:
    """Snapshot of one flow in one survey, in the order of these fields.

    Notes
    -----
    The follower is read before the leader: positions, the target, then the
    source. So a source end minus a position is never too small, and a target
    end is never older than the position that it is compared with.
    """

    flow: str
    at: datetime
    """Start of the survey, just before the positions were read."""

    committed: Mapping[TopicPartition, Committed]
    syncs: Mapping[TopicPartition, Sync]
    """Newest sync of each source partition."""

    caught_up: bool
    target: ClusterView | None
    """The target, `None` if it did not answer."""

    source: ClusterView | None
    """The source, `None` if it did not answer."""

    names: Mapping[str, str]
    """Topics at the source that the flow carries, with their names at the
    target; empty if the source did not answer."""

    exactly_once: bool = False
    carried: CarriedTopics = field(default_factory=CarriedTopics)
    conflicts: tuple[Conflict, ...] = ()
    problems: tuple[str, ...] = ()
    new_syncs: tuple[Sync, ...] = ()
    """Every sync that was read since the view before, in the topic's order.
    The last of them may have been read after the ends: see `SyncBuffer`."""

    answers: tuple[ClusterAnswer, ...] = ()
    before: Mapping[TopicPartition, PartitionView | None] = field(
        default_factory=dict, repr=False
    )
    """Partitions in the view before."""

    @property
    def comparison_problems(self) -> tuple[str, ...]:
        """Problems that prevent a comparison of both sides, in sentences."""
        if self.problems or self.caught_up:
            return self.problems
        return (
            "The mirror's internal topics have not been read to their ends",
        )

    @cached_property
    def partitions(self) -> Mapping[TopicPartition, PartitionView | None]:
        """Every source partition that the flow carries; `None` for one that
        has no leader at the source.

        Notes
        -----
        What is as it was in the view before is the same object. That is most
        partitions, most of the time: nobody has to look into them again.
        """
        source, target = self.source, self.target
        if source is None:
            return {}
        found: dict[TopicPartition, PartitionView | None] = {}
        before, marked = self.before, self.exactly_once
        ends, starts = source.ends, source.starts
        ends_here = {} if target is None else target.ends
        committed, syncs = self.committed, self.syncs
        for topic, remote in self.names.items():
            facts = source.topics[topic]
            copies = None if target is None else target.topics.get(remote)
            target_id = None if copies is None else copies.id
            there = 0 if copies is None else copies.partitions
            for partition in range(facts.partitions):
                key = (topic, partition)
                end = ends.get(key)
                if end is None:
                    found[key] = None
                    continue
                copied = partition < there
                start = starts.get(key)
                copies_end = (
                    ends_here.get((remote, partition)) if copied else None
                )
                commit, sync = committed.get(key), syncs.get(key)
                uncopied = target is not None and not copied
                was = before.get(key)
                if (
                    was is not None
                    and was.source_end == end
                    and was.target_end == copies_end
                    and was.source_start == start
                    and was.committed is commit
                    and was.sync is sync
                    and was.source_id == facts.id
                    and was.target_id == target_id
                    and was.uncopied is uncopied
                    and was.marked is marked
                    and was.remote == remote
                ):
                    found[key] = was
                    continue
                found[key] = PartitionView(
                    remote=remote,
                    source_id=facts.id,
                    source_start=start,
                    source_end=end,
                    target_id=target_id,
                    target_end=copies_end,
                    uncopied=uncopied,
                    committed=commit,
                    sync=sync,
                    marked=marked,
                )
        return found

    def target_end(self, key: TopicPartition) -> int | None:
        """Return the end at the target of a source partition's copy, if it is
        known.
        """
        remote = self.names.get(key[0])
        if self.target is None or remote is None:
            return None
        return self.target.ends.get((remote, key[1]))


class SyncBuffer:
    """Holds syncs back until a survey has begun after they were read.

    Syncs carry no topic id. One that was read before a survey asked for ids
    and ends speaks of the topics that this survey saw, or of former ones: so
    it is judged by the survey after the one that it came with.
    """

    def __init__(self) -> None:
        self._taken = 0
        self._held: OrderedDict[int, Sync] = OrderedDict()
        self._numbers: dict[TopicPartition, list[int]] = {}

    def hold(self, sync: Sync) -> None:
        """Hold a sync until the next release."""
        self._taken += 1
        self._held[self._taken] = sync
        self._numbers.setdefault(sync.key, []).append(self._taken)

    def trim(self, most: int) -> None:
        """Drop the oldest of all, and hold so many."""
        while len(self._held) > most:
            self._held.popitem(last=False)

    def drop(self, key: TopicPartition) -> None:
        """Drop what is held of a source partition."""
        numbers = self._numbers.get(key, [])
        for number in numbers:
            self._held.pop(number, None)
        numbers.clear()

    def release(self) -> Mapping[TopicPartition, list[Sync]]:
        """Return what was held, by source partition, in the topic's order."""
        held, numbers = self._held, self._numbers
        self._held, self._numbers = OrderedDict(), {}
        return {
            key: [held[n] for n in each if n in held]
            for key, each in numbers.items()
        }

    @property
    def partitions(self) -> AbstractSet[TopicPartition]:
        """Source partitions of which anything is held."""
        return self._numbers.keys()


FOR_EVER = -1
"""Value of an unlimited retention time or size in Kafka."""


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
    cleanup_policy: frozenset[str] | None = None
    max_message_bytes: int | None = None
    """``max.message.bytes``: the largest batch that the topic takes."""

    timestamp_type: str | None = None
    min_insync_replicas: int | None = None
    compression_type: str | None = None
    own: frozenset[str] = frozenset()

    @property
    def compacted(self) -> bool:
        """Return whether compaction may delete records of the topic."""
        return self.cleanup_policy is not None and (
            "compact" in self.cleanup_policy
        )

    @property
    def deletes(self) -> bool:
        """Return whether retention by time or size may delete records; this is
        assumed where the broker does not report it.
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


def _number(values: Mapping[str, str | None], name: str) -> int | None:
    value = values.get(name)
    return None if value is None else int(value)
