"""Asks all clusters, once a tick, how far every topic is."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..domain.view import ClusterView, FlowView, TopicFacts, TopicPartition
from ..exceptions import MirrorwatchError, SourceError
from .bulk import Described, describe
from .cluster import Cluster
from .ends import Ends
from .surveyed import Surveyed

__all__ = ["Survey"]

STARTS_EVERY = timedelta(seconds=30)
"""How often log starts are read: they move by whole segments, seldom."""


@dataclass(frozen=True, slots=True)
class _Starts:
    """The log starts of one cluster, with what they were read of."""

    at: datetime
    ids: Mapping[str, str]
    starts: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What one cluster answered in one survey."""

    at: datetime
    described: Described
    ends: Mapping[bool, Mapping[TopicPartition, int]]
    """By whether they were read committed."""

    starts: Mapping[TopicPartition, int]


class Survey:
    """Surveys all clusters for all flows, so that each is asked once.

    Parameters
    ----------
    flows
        What is surveyed.
    clusters
        Clusters by alias.
    ends
        What reads the ends of their partitions, by alias.
    interval
        How often.
    clock
        Gives the time.

    Notes
    -----
    Clusters that only receive are asked before those that send, and
    positions are read before both: see `FlowView`.
    """

    name = "survey"

    def __init__(
        self,
        *,
        flows: Sequence[Surveyed],
        clusters: Mapping[str, Cluster],
        ends: Mapping[str, Ends],
        interval: timedelta,
        clock: Callable[[], datetime],
    ) -> None:
        self.interval = interval
        self._flows = flows
        self._clusters = clusters
        self._ends = ends
        self._clock = clock
        self._starts: dict[str, _Starts] = {}

    def step(self) -> None:
        at = self._clock()
        # Caught up first: what it covers was read before the positions were.
        mirrors = [
            (
                flow.positions.behind() == 0,
                flow.positions.all_committed(),
                flow.positions.all_syncs(),
            )
            for flow in self._flows
        ]
        described, problems = self._describe()
        wanted = self._want(described)
        asked: dict[str, _Asked] = {}
        for alias in self._in_order(described):
            try:
                asked[alias] = self._ask(
                    alias, described[alias], wanted[alias]
                )
            except SourceError as e:
                problems[alias] = str(e)
        failed: MirrorwatchError | None = None
        for flow, (caught_up, committed, syncs) in zip(
            self._flows, mirrors, strict=True
        ):
            source, target = flow.flow.source, flow.flow.target
            view = FlowView(
                flow=flow.flow.name,
                at=at,
                committed=committed,
                syncs=syncs,
                caught_up=caught_up,
                target=self._view(asked, target, read_committed=False),
                source=self._view(
                    asked, source, read_committed=_reads_committed(flow)
                ),
                names=flow.carriage.names(asked[source].described.topics)
                if source in asked
                else {},
                problems=tuple(
                    problems[alias]
                    for alias in (source, target)
                    if alias in problems
                ),
            )
            for reader in flow.readers:
                try:
                    reader.take(view)
                except MirrorwatchError as e:
                    # The others must learn all the same.
                    failed = failed or e
        if failed is not None:
            raise failed

    def close(self) -> None:
        for reader in self._ends.values():
            reader.close()

    def _describe(self) -> tuple[dict[str, Described], dict[str, str]]:
        found: dict[str, Described] = {}
        problems: dict[str, str] = {}
        for alias in sorted({a for f in self._flows for a in _aliases(f)}):
            try:
                found[alias] = describe(self._clusters[alias])
            except SourceError as e:
                problems[alias] = str(e)
        return found, problems

    def _in_order(self, aliases: Iterable[str]) -> list[str]:
        sources = {flow.flow.source for flow in self._flows}
        return sorted(aliases, key=lambda alias: (alias in sources, alias))

    def _want(
        self, described: Mapping[str, Described]
    ) -> dict[str, dict[bool, set[TopicPartition]]]:
        """Return by cluster and isolation which ends are needed."""
        wanted: dict[str, dict[bool, set[TopicPartition]]] = {
            alias: {} for alias in described
        }
        for flow in self._flows:
            source, target = _aliases(flow)
            if source not in described:
                continue
            here = described[source].topics
            names = flow.carriage.names(here)
            committed = _reads_committed(flow)
            wanted[source].setdefault(committed, set()).update(
                (topic, p) for topic in names for p in _range(here[topic])
            )
            if target not in described:
                continue
            there = described[target].topics
            wanted[target].setdefault(False, set()).update(
                (remote, p)
                for remote in names.values()
                if remote in there
                for p in _range(there[remote])
            )
        return wanted

    def _ask(
        self,
        alias: str,
        described: Described,
        wanted: Mapping[bool, set[TopicPartition]],
    ) -> _Asked:
        reader, at = self._ends[alias], self._clock()
        ends = {
            committed: reader.read(places, read_committed=committed)
            for committed, places in wanted.items()
        }
        everything = set().union(*wanted.values())
        # A topic of another id has other starts, whatever its name.
        ids = {t: described.topics[t].id for t, _ in everything}
        kept = self._starts.get(alias)
        if (
            kept is None
            or at - kept.at >= STARTS_EVERY
            or kept.ids != ids
            or not everything <= kept.starts.keys()
        ):
            starts = reader.read_starts(everything)
            kept = self._starts[alias] = _Starts(at, ids, starts)
        return _Asked(at, described, ends, kept.starts)

    def _view(
        self, asked: Mapping[str, _Asked], alias: str, *, read_committed: bool
    ) -> ClusterView | None:
        if alias not in asked:
            return None
        found = asked[alias]
        return ClusterView(
            alias=alias,
            id=found.described.id,
            at=found.at,
            topics=found.described.topics,
            ends=found.ends.get(read_committed, {}),
            starts=found.starts,
        )


def _aliases(flow: Surveyed) -> tuple[str, str]:
    return flow.flow.source, flow.flow.target


def _range(topic: TopicFacts) -> range:
    return range(topic.partitions)


def _reads_committed(flow: Surveyed) -> bool:
    connectors = flow.positions.connectors()
    return bool(connectors) and all(c.read_committed for c in connectors)
