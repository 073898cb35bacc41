"""What a mirror's internal topics hold, read once."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from ..config import FlowConfig
from ..domain.audit.facts import IsolationHistory, SyncHistory
from ..domain.cluster_view import TopicPartition, prove
from ..domain.mirror_records import Committed, Connector, MirrorFact, Sync
from ..domain.topics import ReplicatedTopics
from ..kafka.reader import read_all, written_at
from ..sources.mirror_state import MirrorState
from ..wiring.context import to_mirror
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
    and nothing is called dropped.
    """

    def __init__(
        self,
        flow: FlowConfig,
        sites: AuditedSites,
        clock: Callable[[], datetime],
    ) -> None:
        self.flow = flow
        self.positions = MirrorState()
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
        """Whether it leaves out aborted records; `None` if that is not known,
        or was not always so.
        """
        return self._isolation.read_committed

    @property
    def starts_at_end(self) -> bool | None:
        """Whether it skips what a partition held when it found it; `None` if
        that is not known.
        """
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
            Raised if a topic cannot be read.
        """
        self._syncs = SyncHistory(floors)
        for fact in self._read("offsets", "syncs"):
            self.positions.note(fact)
            if isinstance(fact, Sync):
                self._syncs.take(fact)
        self._committed = self.positions.all_committed()
        self._newest = self.positions.all_syncs()

    def position(self, partition: TopicPartition) -> int | None:
        """Return the next source offset proved copied or passed."""
        proved = prove(
            self._committed.get(partition), self._newest.get(partition)
        )
        return None if proved is None else proved.offset

    def syncs(self, partition: TopicPartition) -> tuple[tuple[int, int], ...]:
        """Return syncs of a source partition, ascending on both sides."""
        return self._syncs.of(partition)

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
