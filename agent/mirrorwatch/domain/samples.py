"""What a report says in figures: the same ones for every sink."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from . import catalogue as c
from .catalogue import Metric
from .histogram import Histogram
from .observations import (
    CanaryObservation,
    CanaryPartition,
    Observation,
    canaries,
)
from .verdicts import Flow, Health, Verdict

__all__ = ["AgentFigures", "Figures", "Sample", "samples"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One figure."""

    metric: Metric
    """What it is a figure of."""

    labels: tuple[str, ...]
    """Values of the metric's labels, in their order."""

    value: float | Histogram
    """The figure; a histogram for metrics of that type."""


class AgentFigures(Protocol):
    """What is read of the agent's own state."""

    @property
    def sources_up(self) -> Mapping[str, bool]: ...

    @property
    def sinks_up(self) -> Mapping[str, bool]: ...

    @property
    def spooled_points(self) -> Mapping[str, int]: ...

    @property
    def lost_points(self) -> Mapping[str, int]: ...

    @property
    def last_tick(self) -> timedelta | None: ...


class Figures(Protocol):
    """What is read of a report; `mirrorwatch.ports.Report` is one."""

    @property
    def at(self) -> datetime: ...

    @property
    def flows(self) -> tuple[Flow, ...]: ...

    @property
    def observations(self) -> tuple[Observation, ...]: ...

    @property
    def verdicts(self) -> tuple[Verdict, ...]: ...

    @property
    def agent(self) -> AgentFigures: ...

    def health_of(self, flow: str) -> Health: ...


def samples(report: Figures) -> Iterator[Sample]:
    """Yield every figure of a report, each series once.

    Notes
    -----
    A gauge whose fact is absent is left out: it is neither shown as zero nor
    kept at what it was before. Counters are there from the start.
    """
    yield from _health(report)
    newest: dict[str, CanaryObservation] = {}
    for seen in sorted(canaries(report.observations), key=lambda o: o.at):
        newest[seen.flow] = seen
    for flow, canary in sorted(newest.items()):
        for partition in canary.partitions:
            labels = (flow, str(partition.partition))
            # The state may have been read after the tick began.
            now = max(report.at, canary.at)
            yield from _canary(partition, labels, now)
    yield from _agent(report.agent, report.at)


def _health(report: Figures) -> Iterator[Sample]:
    for flow in report.flows:
        health = report.health_of(flow.name)
        yield Sample(c.HEALTH, (flow.name,), health.value)
    for verdict in report.verdicts:
        labels = (verdict.flow, verdict.check)
        yield Sample(c.CHECK_HEALTH, labels, verdict.health.value)


def _canary(
    state: CanaryPartition, labels: tuple[str, str], now: datetime
) -> Iterator[Sample]:
    for name, count in state.counts.as_dict().items():
        yield Sample(c.CANARY_COUNTERS[name], labels, count)
    yield Sample(c.CANARY_LATENCY, labels, state.latency)
    yield Sample(c.CANARY_REPLICATION, labels, state.replication)
    yield Sample(c.CANARY_PRODUCE, labels, state.produce)
    yield Sample(c.CANARY_OUTSTANDING, labels, state.outstanding)
    age = _age_of_oldest(state, now)
    if age is not None:
        yield Sample(c.CANARY_OLDEST, labels, age)
    if state.last_arrival is not None:
        arrived = state.last_arrival.timestamp()
        yield Sample(c.CANARY_LAST_ARRIVAL, labels, arrived)


def _age_of_oldest(state: CanaryPartition, now: datetime) -> float | None:
    if not state.outstanding:
        return 0.0  # idle is known, not absent
    sent = _known(state.oldest_outstanding, state.oldest_unacked)
    return (now - min(sent)).total_seconds() if sent else None


def _known(*times: datetime | None) -> list[datetime]:
    return [t for t in times if t is not None]


def _agent(agent: AgentFigures, at: datetime) -> Iterator[Sample]:
    for source, up in sorted(agent.sources_up.items()):
        yield Sample(c.SOURCE_UP, (source,), int(up))
    for sink, up in sorted(agent.sinks_up.items()):
        yield Sample(c.SINK_UP, (sink,), int(up))
    for sink, points in sorted(agent.spooled_points.items()):
        yield Sample(c.SINK_SPOOLED, (sink,), points)
    lost = dict.fromkeys([*agent.sinks_up, *agent.spooled_points], 0)
    for sink, points in sorted((lost | dict(agent.lost_points)).items()):
        yield Sample(c.SINK_LOST, (sink,), points)
    if agent.last_tick is not None:
        yield Sample(c.TICK_SECONDS, (), agent.last_tick.total_seconds())
    yield Sample(c.LAST_TICK, (), at.timestamp())
