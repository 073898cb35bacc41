"""What a report says in figures: the same ones for every sink."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Protocol

from .audit.observation import AuditObservation
from .figures import (
    agent,
    audit,
    canary,
    health,
    lag,
    mirror,
    parity,
    position,
    skips,
    tasks,
)
from .figures.sample import Sample
from .lag import LagObservation
from .maintenance import Window
from .mirror_facts import MirrorObservation
from .observations import CanaryObservation, Observation
from .parity.configs import ConfigsObservation
from .parity.topics import TopicsObservation
from .resets import PositionObservation
from .skips import SkipsObservation
from .tasks import TasksObservation
from .verdicts import Flow, Verdict

__all__ = ["Figures", "Sample", "samples"]


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
    def maintenance(self) -> tuple[Window, ...]: ...

    @property
    def agent(self) -> agent.AgentFigures: ...


OF: Mapping[type, Callable[[Any, datetime], Iterator[Sample]]] = {
    CanaryObservation: canary.figures,
    LagObservation: lag.figures,
    PositionObservation: position.figures,
    SkipsObservation: skips.figures,
    TopicsObservation: parity.topic_figures,
    ConfigsObservation: parity.config_figures,
    TasksObservation: tasks.figures,
    MirrorObservation: mirror.figures,
    AuditObservation: audit.figures,
}
"""How the figures of each kind of observation are made."""


def samples(report: Figures) -> Iterator[Sample]:
    """Yield every figure of a report, each series once.

    Notes
    -----
    A gauge whose fact is absent is left out: it is neither shown as zero nor
    kept at what it was before. Counters are there from the start.
    """
    yield from health.figures(
        report.flows, report.verdicts, report.maintenance
    )
    newest = {
        (seen.flow, type(seen)): seen
        for seen in sorted(report.observations, key=lambda o: o.at)
    }
    for kind, figures in OF.items():
        for (_, of), seen in sorted(
            newest.items(), key=lambda item: item[0][0]
        ):
            if of is kind:
                # The state may have been read after the tick began.
                yield from figures(seen, max(report.at, seen.at))
    yield from agent.figures(report.agent, report.at)
