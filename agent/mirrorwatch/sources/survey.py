"""Asks all clusters, once a tick, how far every topic is."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Self

from ..domain.positions import Committed, Sync
from ..domain.view import FlowView, TopicFacts, TopicPartition
from ..exceptions import MirrorwatchError, SourceError
from .bulk import Described
from .cluster import Cluster
from .ends import Ends
from .positions import Positions
from .side import Side
from .surveyed import Surveyed

__all__ = ["Survey"]

Facts = Mapping[TopicPartition, Committed | Sync]


@dataclass(frozen=True, slots=True)
class _Said:
    """What one mirror had said of itself before a survey."""

    caught_up: bool = False
    committed: Mapping[TopicPartition, Committed] = field(default_factory=dict)
    syncs: Mapping[TopicPartition, Sync] = field(default_factory=dict)

    @classmethod
    def of(cls, positions: Positions) -> Self:
        return cls(
            # Caught up first: what it covers was read before the positions.
            positions.behind() == 0,
            positions.all_committed(),
            positions.all_syncs(),
        )

    def news(self, before: Self) -> set[str]:
        """Return the source topics of which it is not what it was before."""
        return {
            *_changed(self.committed, before.committed),
            *_changed(self.syncs, before.syncs),
        }


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
        self._sides = {
            alias: Side(alias, clusters[alias], ends[alias], clock)
            for alias in sorted({a for f in flows for a in _aliases(f)})
        }
        self._clock = clock
        # What of it was made sure of: with the last answer of both sides.
        self._known = [_Said() for _ in flows]

    def step(self) -> None:
        at = self._clock()
        mirrors = [_Said.of(flow.positions) for flow in self._flows]
        described, problems = self._describe()
        told = self._translate(mirrors, described)
        wanted = self._want(described)
        for alias in self._in_order(described):
            try:
                self._sides[alias].ask(wanted[alias], told[alias])
            except SourceError as e:
                problems[alias] = str(e)
        failed: MirrorwatchError | None = None
        for n, (flow, said) in enumerate(
            zip(self._flows, mirrors, strict=True)
        ):
            source, target = _aliases(flow)
            here = self._sides[source].view(
                read_committed=_reads_committed(flow)
            )
            view = FlowView(
                flow=flow.flow.name,
                at=at,
                committed=said.committed,
                syncs=said.syncs,
                caught_up=said.caught_up,
                target=self._sides[target].view(read_committed=False),
                source=here,
                names={} if here is None else flow.carriage.names(here.topics),
                problems=tuple(
                    problems[alias]
                    for alias in (source, target)
                    if alias in problems
                ),
            )
            if view.source is not None and view.target is not None:
                self._known[n] = said
            for reader in flow.readers:
                try:
                    reader.take(view)
                except MirrorwatchError as e:
                    # The others must learn all the same.
                    failed = failed or e
        if failed is not None:
            raise failed

    def close(self) -> None:
        for side in self._sides.values():
            side.close()

    def _describe(self) -> tuple[dict[str, Described], dict[str, str]]:
        found: dict[str, Described] = {}
        problems: dict[str, str] = {}
        for alias, side in self._sides.items():
            try:
                found[alias] = side.describe()
            except SourceError as e:
                problems[alias] = str(e)
        return found, problems

    def _translate(
        self, mirrors: Iterable[_Said], described: Mapping[str, Described]
    ) -> dict[str, set[str]]:
        """Return by cluster of which topics mirrors said something new."""
        told: dict[str, set[str]] = {alias: set() for alias in self._sides}
        for flow, said, known in zip(
            self._flows, mirrors, self._known, strict=True
        ):
            source, target = _aliases(flow)
            if source in described:
                names = flow.carriage.names(described[source].topics)
                news = said.news(known) & names.keys()
                told[source] |= news
                told[target] |= {names[topic] for topic in news}
        return told

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


def _aliases(flow: Surveyed) -> tuple[str, str]:
    return flow.flow.source, flow.flow.target


def _range(topic: TopicFacts) -> range:
    return range(topic.partitions)


def _reads_committed(flow: Surveyed) -> bool:
    connectors = flow.positions.connectors()
    return bool(connectors) and all(c.read_committed for c in connectors)


def _changed(now: Facts, before: Facts) -> Iterator[str]:
    return (
        place[0]
        for place, fact in now.items()
        if before.get(place) is not fact
    )
