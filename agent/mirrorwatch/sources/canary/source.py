"""The canary's settings, and what the tick sees of it, which never waits."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ...domain.canary.model import (
    CanaryObservation,
    CanaryPartition,
    CanarySurvey,
    IndeterminateProbe,
    Loss,
    OffsetGap,
    ProbeArrival,
    ProbeMessage,
)
from ...domain.latency import LatencyObservation
from ...domain.report import Flow, Problem
from ...exceptions import SourceError, StateError
from ...state.history import History
from ...threads import Latest, Mailbox
from .encoding import Encoding, Json

__all__ = [
    "CanarySettings",
    "CanarySnapshot",
    "CanarySource",
    "CanaryState",
    "Headers",
    "LatencySource",
    "SizedProbes",
    "no_headers",
]


ARRIVALS_KEPT = 20_000
"""Arrivals kept for a tick that does not come: an hour of six partitions."""

GAPS_KEPT = 20
"""Gaps that wait to be looked into. One shows a circle as well as many."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CanarySnapshot:
    """What the canary knew when it last saved its ledgers."""

    at: datetime
    partitions: tuple[CanaryPartition, ...]
    doubts: tuple[IndeterminateProbe, ...]
    problems: tuple[Problem, ...]
    blind: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class CanaryState:
    """What passes between the threads of one flow's canary."""

    snapshot: Latest[CanarySnapshot | None] = field(
        default_factory=lambda: Latest(None)
    )
    """From the worker, as everything that it saves."""

    arrivals: Mailbox[ProbeArrival] = field(
        default_factory=lambda: Mailbox(limit=ARRIVALS_KEPT)
    )
    """Live arrivals, from the worker to the tick."""

    losses: Mailbox[Loss] = field(default_factory=Mailbox)
    """Proved losses, from the worker to the tick."""

    gaps: Mailbox[OffsetGap] = field(
        default_factory=lambda: Mailbox(limit=GAPS_KEPT)
    )
    """Source offsets that the canary did not write, for the surveyor."""

    send_problem: Latest[Problem | None] = field(
        default_factory=lambda: Latest(None)
    )
    """Why the last send failed, `None` if it did not."""

    surveys: Mailbox[CanarySurvey] = field(default_factory=Mailbox)
    """From the surveyor to the worker."""

    survey: Latest[CanarySurvey | None] = field(
        default_factory=lambda: Latest(None)
    )
    """The last of them."""

    schema_problems: Latest[tuple[Problem, ...]] = field(
        default_factory=lambda: Latest(())
    )
    """What is wrong with the probe's schema, from the registrar."""


Headers = Callable[[ProbeMessage], list[tuple[str, str | bytes | None]]]
"""Gives the headers of a probe."""


def no_headers(_message: ProbeMessage) -> list[tuple[str, str | bytes | None]]:
    """Return no headers: a probe in service has none."""
    return []


@dataclass(frozen=True, kw_only=True, slots=True)
class SizedProbes:
    """Large probes, which one partition gets."""

    bytes: int
    """Size of their value."""

    interval: timedelta
    """How often one is sent."""

    partition: int
    """The partition that gets them."""


@dataclass(frozen=True, kw_only=True)
class CanarySettings:
    """Settings of the canary of one flow. Defaults are the configuration's."""

    flow: Flow
    """The flow that is watched."""

    topic: str
    """Canary topic at the source."""

    remote_topic: str
    """Its name at the target."""

    interval: timedelta
    """How often every partition gets a probe."""

    deadline: timedelta
    """Longest time to the arrival that is not late."""

    warmup: timedelta
    """How long a new partition may go without arrivals."""

    create: bool
    """Whether the topic may be created, at the source."""

    partitions: int | None = None
    """Partitions to cover; `None` for all."""

    cluster_ids: Mapping[str, str] = field(default_factory=dict)
    """Ids that clusters must have, by alias, where they are configured."""

    sized: SizedProbes | None = None
    """Large probes beside the small ones; `None` for none."""

    max_request_bytes: int | None = None
    """The mirror producer's ``max.request.size``, where it is known."""

    encoding: Encoding = field(default_factory=Json)
    """How probes are written."""

    headers: Headers = no_headers
    """Headers of a probe: how a test marks those that it wants dropped."""


class CanarySource:
    """Reports the state of one flow's canary.

    Parameters
    ----------
    settings
        Settings of the canary.
    state
        What the canary and the surveyor left there.
    losses
        Those of earlier runs.
    lost_window
        How long losses are reported by name.
    """

    def __init__(
        self,
        *,
        settings: CanarySettings,
        state: CanaryState,
        losses: Iterable[Loss],
        lost_window: timedelta,
    ) -> None:
        self.name = f"canary {settings.flow.name}"
        self._settings = settings
        self._state = state
        self._losses = list(losses)
        self._lost_window = lost_window

    def observe(self, now: datetime) -> Sequence[CanaryObservation]:
        seen, survey = self._state.snapshot.get(), self._state.survey.get()
        if seen is None:
            return []
        problems = [
            *self._state.schema_problems.get(),
            *seen.problems,
            *(survey.problems if survey else ()),
        ]
        if survey is None:
            problems.append(Problem.unknown("Clusters have not been read yet"))
        send_problem = self._state.send_problem.get()
        if send_problem is not None:
            problems.append(send_problem)
        since = now - self._lost_window
        self._losses = [
            loss
            for loss in (*self._losses, *self._state.losses.take_all())
            if loss.proved_at >= since
        ]
        return [
            CanaryObservation(
                flow=self._settings.flow.name,
                at=seen.at,
                topic=self._settings.topic,
                remote_topic=self._settings.remote_topic,
                partitions=seen.partitions,
                arrivals=self._state.arrivals.take_all(),
                losses=tuple(self._losses),
                problems=tuple(dict.fromkeys(problems)),
                blind=seen.blind,
            )
        ]


LATENCY_WINDOW = timedelta(minutes=5)
"""The stretch that is judged: long enough for a 99th percentile (300 probes a
partition), short enough for an alarm."""


class LatencySource:
    """Reads the latency of one flow from the history.

    Parameters
    ----------
    flow
        Name of the flow.
    target
        Alias of its target.
    history
        What was recorded up to the tick before.
    """

    def __init__(self, flow: str, target: str, history: History) -> None:
        self.name = f"latency {flow}"
        self._flow = flow
        self._target = target
        self._history = history

    def observe(self, now: datetime) -> Sequence[LatencyObservation]:
        try:
            recent = self._history.summary(
                self._flow, now - LATENCY_WINDOW, now
            )
            usual = self._history.usual_p99(self._flow, now)
        except StateError as e:
            raise SourceError(
                str(e), source=self.name, cluster=self._target
            ) from e
        return [
            LatencyObservation(
                flow=self._flow,
                at=now,
                p99=recent.quantile(0.99),
                usual=usual,
                measured=recent.delivered + recent.late,
            )
        ]
