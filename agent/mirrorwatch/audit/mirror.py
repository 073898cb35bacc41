"""Mirror state from its internal topics, read once."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from threading import Event

from ..config import FlowConfig
from ..domain.audit.facts import IsolationHistory, SyncHistory
from ..domain.cluster_view import TopicPartition, prove
from ..domain.mirror_records import Committed, Connector, MirrorFact, Sync
from ..domain.topics import ReplicatedTopics
from ..kafka.groups import read_source_group
from ..kafka.reader import read_all, written_at
from ..sources.mirror_state import MirrorState
from ..wiring.context import to_mirror, to_offset_nodes
from .offsets import AuditedSites

__all__ = ["MirrorReader"]


class MirrorReader:
    """Reads positions and configuration of one flow's mirror.

    Parameters
    ----------
    flow
        The flow.
    sites
        The clusters.
    clock
        Gives the time.

    Notes
    -----
    Where a topic does not exist, a position is not known,
    and nothing is called dropped. Nor is it where a consumer group has
    committed nothing of a partition.
    """

    def __init__(
        self,
        flow: FlowConfig,
        sites: AuditedSites,
        clock: Callable[[], datetime],
    ) -> None:
        self.flow = flow
        self.positions = MirrorState()
        self._traits = flow.mirror.traits
        self._mirror = to_mirror(flow)
        self._sites = sites
        self._clock = clock
        self._isolation = IsolationHistory()
        self._syncs = SyncHistory({})
        self._committed: Mapping[TopicPartition, Committed] = {}
        self._newest: Mapping[TopicPartition, Sync] = {}

    @property
    def replicated(self) -> ReplicatedTopics:
        """Which topics the flow carries."""
        return ReplicatedTopics(
            selection=self.flow.selection,
            naming=self.flow.topic_naming,
            target_alias=self.flow.mirror.target_alias,
        )

    @property
    def read_committed(self) -> bool | None:
        """Isolation level is `read_committed`: aborted records are left out;
        `None` if that is not known, or was not always so.
        """
        if self._traits.keeps_offsets:
            # The logs are alike, aborted records and markers included.
            return True
        configured = self.flow.mirror.isolation_level
        if configured is not None:
            return configured == "read_committed"
        return self._isolation.read_committed

    @property
    def starts_at_end(self) -> bool | None:
        """Mirror skips records that a partition held before it was discovered;
        `None` if that is not known.
        """
        traits = self._traits
        if traits.keeps_offsets or (
            traits.only_commits and not traits.in_connect
        ):
            return traits.starts_at_end
        found = self.positions.connectors()
        return any(c.starts_at_end for c in found) if found else None

    def read_configs(self) -> None:
        """Read how the mirror is configured, and what its tasks were given.

        Raises
        ------
        ConfigError
            Raised if the name of a topic cannot be derived.
        SourceError
            Raised if a topic cannot be read.
        """
        for fact in self._read("configs"):
            self.positions.note(fact)
            if isinstance(fact, Connector):
                self._isolation.take(fact)

    def read_positions(self, floors: Mapping[TopicPartition, int]) -> None:
        """Read how far the mirror is.

        Parameters
        ----------
        floors
            By source partition: syncs below are of no concern.

        Raises
        ------
        SourceError
            Raised if a topic or a consumer group cannot be read.
        """
        group = self._mirror.group
        if any(
            c.obeys_group != group
            for c in self.positions.connectors()
            if self._traits.in_connect
        ):
            return  # of no use: the running agent reports the remedy
        if group is not None:
            self._committed = self._group_offsets(group)
            return
        if self._traits.in_zookeeper:
            self._committed = self._zookeeper_offsets()
            return
        if self._traits.keeps_offsets:
            self._committed = self._target_ends(floors)
            return
        self._syncs = SyncHistory(floors)
        for fact in self._read("offsets", "syncs"):
            self.positions.note(fact)
            if isinstance(fact, Sync):
                self._syncs.take(fact)
        self._committed = self.positions.all_committed()
        self._newest = self.positions.all_syncs()

    def read_syncs(self) -> Iterator[Sync]:
        """Read all syncs of the mirror, if it writes any.

        Raises
        ------
        SourceError
            Raised if their topic cannot be read.
        """
        return (f for f in self._read("syncs") if isinstance(f, Sync))

    def position(self, partition: TopicPartition) -> int | None:
        """Return the next source offset proved copied or passed."""
        proved = prove(
            self._committed.get(partition), self._newest.get(partition)
        )
        return None if proved is None else proved.offset

    def syncs(self, partition: TopicPartition) -> tuple[tuple[int, int], ...]:
        """Return syncs of a source partition, ascending on both sides."""
        return self._syncs.of(partition)

    def _group_offsets(self, group: str) -> dict[TopicPartition, Committed]:
        site = self._sites[self.flow.source]
        found = read_source_group(site.cluster, group).offsets
        # What is committed may still be on its way to the target.
        Event().wait(self._traits.unflushed.total_seconds())
        return {key: self._to_fact(key, end) for key, end in found.items()}

    def _zookeeper_offsets(self) -> dict[TopicPartition, Committed]:
        nodes = to_offset_nodes(self.flow)
        try:
            found = nodes.read()
        finally:
            nodes.close()
        return {key: self._to_fact(key, end) for key, end in found.items()}

    def _target_ends(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, Committed]:
        """Return ends at the target, below which all was copied."""
        site = self._sites[self.flow.target]
        there = site.describe().topics
        names = {
            (remote, partition): (topic, partition)
            for topic, partition in partitions
            if (remote := self.replicated.naming.remote(topic)) in there
            and partition < there[remote].partitions
        }
        ends = site.ends(names, read_committed=True)
        return {
            names[key]: self._to_fact(names[key], end)
            for key, end in ends.items()
        }

    def _to_fact(self, key: TopicPartition, position: int) -> Committed:
        topic, partition = key
        return Committed(
            topic=topic,
            partition=partition,
            position=position,
            written_at=self._clock(),
        )

    def _read(self, *kinds: str) -> Iterator[MirrorFact]:
        for topic in self._mirror.internal_topics():
            if topic.kind not in kinds:
                continue
            side = topic.side
            site = self._sites[
                self.flow.source if side == "source" else self.flow.target
            ]
            for message in read_all(site.cluster, site.properties, topic.name):
                now = self._clock()
                at = written_at(message) or now
                try:
                    fact = self._mirror.decode(
                        topic.kind,
                        message.key(),
                        message.value(),
                        min(at, now),
                    )
                except ValueError:
                    continue  # the running agent reports it
                if fact is not None:
                    yield fact
