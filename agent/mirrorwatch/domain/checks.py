"""Every check: what it judges, by which limits, and what comes of it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from .audit import metrics as audit
from .audit.check import AuditLimits, judge_audit
from .audit.flow_result import AuditObservation
from .bottleneck import metrics as bottleneck
from .bottleneck.check import BottleneckLimits, judge_bottleneck
from .bottleneck.model import MirrorObservation
from .canary import metrics as canary
from .canary.check import CanaryLimits, judge_canary
from .checkpoints import CheckpointsObservation, judge_checkpoints
from .heartbeats import (
    HeartbeatsLimits,
    HeartbeatsObservation,
    judge_heartbeats,
)
from .lag import metrics as lag
from .lag.check import LagLimits, judge_lag
from .lag.model import LagObservation
from .lag.retention import RetentionLimits, judge_retention
from .latency import LatencyLimits, judge_latency
from .metrics import Metric, Sample
from .notices.policy import CheckAlarms, Severity
from .observations import CanaryObservation, LatencyObservation
from .parity import metrics as parity
from .parity.configs import ConfigsLimits, ConfigsObservation, judge_configs
from .parity.topics import TopicsObservation, judge_topics
from .position import metrics as position
from .position.check import PositionLimits, judge_position
from .position.model import PositionObservation
from .report import Observation, Verdict
from .skips import metrics as skips
from .skips.check import SkipsLimits, judge_skips
from .skips.model import SkipsObservation
from .tasks import metrics as tasks
from .tasks.check import TasksLimits, judge_tasks
from .tasks.model import TasksObservation

__all__ = ["CHECKS", "Check", "FlowLimits", "judge"]


FlowLimits = Mapping[str, Any]
"""Limits of one flow, by check. A check that is not in it has the defaults of
its own limits."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One check, and all that the agent and its alerts know of it."""

    name: str
    """Stable name, as it leaves the process."""

    observation: type
    """What it judges."""

    judge: Callable[..., Verdict]
    """Takes the flow, the newest observation (`None` if there is none), the
    limits if the check has any, the time, and `beside` by name."""

    limits: type | None = None
    """Its limits, with their defaults; `None` if it has none."""

    beside: Mapping[str, type] = field(default_factory=dict)
    """What it reads of other checks, by the name of the parameter."""

    metrics: tuple[Metric, ...] = ()
    """What is exported of its observation."""

    samples: Callable[[Any, datetime], Iterator[Sample]] | None = None
    """Makes the samples of these metrics."""

    alarms: CheckAlarms
    """Its alerts."""

    def verdict(
        self,
        flow: str,
        seen: Mapping[type, Observation],
        limits: FlowLimits,
        now: datetime,
    ) -> Verdict:
        """Judge one flow.

        Parameters
        ----------
        flow
            Name of the flow.
        seen
            The newest observation of each kind.
        limits
            Limits of the flow.
        now
            The time.
        """
        own = []
        if self.limits is not None:
            own.append(limits.get(self.name, self.limits()))
        beside = {name: seen.get(of) for name, of in self.beside.items()}
        newest = seen.get(self.observation)
        return self.judge(flow, newest, *own, now, **beside)


_ALL = (
    Check(
        name="canary",
        observation=CanaryObservation,
        judge=judge_canary,
        limits=CanaryLimits,
        metrics=canary.METRICS,
        samples=canary.samples,
        alarms=CheckAlarms(
            critical="probes do not arrive at the target, or were proved lost",
            warning="probes arrive late or twice, cannot be written, or "
            "leave a broker out",
            unknown="whether anything arrives at the target",
            # Nothing else watches the flow as a whole.
            unknown_severity=Severity.PAGE,
        ),
    ),
    Check(
        name="latency",
        observation=LatencyObservation,
        judge=judge_latency,
        limits=LatencyLimits,
        alarms=CheckAlarms(
            critical="records take many times as long as usual to arrive",
            warning="records take longer than usual to arrive",
            unknown="how long records take to arrive",
            # Twice the window of the check: a pause of seconds, for instance a
            # rebalance, stays in its p99 for five minutes and needs nobody at
            # night.
            critical_hold=timedelta(minutes=10),
        ),
    ),
    Check(
        name="lag",
        observation=LagObservation,
        beside={"skips": SkipsObservation},
        judge=judge_lag,
        limits=LagLimits,
        metrics=lag.METRICS,
        samples=lag.samples,
        alarms=CheckAlarms(
            critical="the mirror stands still while records wait",
            warning="the mirror falls behind: it copies less than is written",
            unknown="how far the mirror is behind",
            # Records may be about to expire.
            unknown_severity=Severity.PAGE,
        ),
    ),
    Check(
        name="skips",
        observation=SkipsObservation,
        judge=judge_skips,
        limits=SkipsLimits,
        metrics=skips.METRICS,
        samples=skips.samples,
        alarms=CheckAlarms(
            critical="the mirror skipped records: they are missing at the "
            "target and will not come by themselves",
            warning="the mirror may have skipped records, or copied some "
            "twice",
            unknown="whether the mirror skips records",
        ),
    ),
    Check(
        name="retention",
        observation=LagObservation,
        judge=judge_retention,
        limits=RetentionLimits,
        alarms=CheckAlarms(
            critical="records will soon expire at the source before they are "
            "copied, and are lost for good then",
            warning="records that wait to be copied come near their expiry",
            unknown="how long until waiting records expire",
        ),
    ),
    Check(
        name="position",
        observation=PositionObservation,
        judge=judge_position,
        limits=PositionLimits,
        metrics=position.METRICS,
        samples=position.samples,
        alarms=CheckAlarms(
            critical="the mirror lost its place: records expired unread, a "
            "topic was made again, or committed offsets are gone",
            warning="the mirror went back and copies records a second time",
            unknown="whether the mirror kept its place",
        ),
    ),
    Check(
        name="topics",
        observation=TopicsObservation,
        judge=judge_topics,
        metrics=parity.TOPICS_METRICS,
        samples=parity.topics_samples,
        alarms=CheckAlarms(
            critical="topics are missing at the target, or come round in a "
            "circle",
            warning="topics or their partitions differ between the two sites",
            unknown="whether both sites have the same topics",
        ),
    ),
    Check(
        name="configs",
        observation=ConfigsObservation,
        judge=judge_configs,
        limits=ConfigsLimits,
        metrics=parity.CONFIGS_METRICS,
        samples=parity.configs_samples,
        alarms=CheckAlarms(
            warning="topics are configured differently at the two sites",
            unknown="whether topics are configured alike",
        ),
    ),
    Check(
        name="tasks",
        observation=TasksObservation,
        judge=judge_tasks,
        limits=TasksLimits,
        metrics=tasks.METRICS,
        samples=tasks.samples,
        alarms=CheckAlarms(
            critical="a connector or task of the mirror failed, or none runs",
            warning="the mirror's tasks are restless, or leave partitions out",
            unknown="whether the mirror's tasks run",
        ),
    ),
    Check(
        name="heartbeats",
        observation=HeartbeatsObservation,
        judge=judge_heartbeats,
        limits=HeartbeatsLimits,
        alarms=CheckAlarms(
            warning="the mirror's own heartbeats stay away",
            unknown="whether the mirror's heartbeats arrive",
        ),
    ),
    Check(
        name="checkpoints",
        observation=CheckpointsObservation,
        judge=judge_checkpoints,
        alarms=CheckAlarms(
            warning="checkpoints of consumer groups are old: after a "
            "failover groups would read much again",
            unknown="where consumer groups would begin after a failover",
        ),
    ),
    Check(
        name="bottleneck",
        observation=MirrorObservation,
        judge=judge_bottleneck,
        limits=BottleneckLimits,
        metrics=bottleneck.METRICS,
        samples=bottleneck.samples,
        alarms=CheckAlarms(
            critical="the mirror gave up records because of errors",
            warning="something holds the mirror up: a quota, full batches, "
            "retries or the link",
            unknown="what holds the mirror up",
        ),
    ),
    Check(
        name="audit",
        observation=AuditObservation,
        judge=judge_audit,
        limits=AuditLimits,
        metrics=audit.METRICS,
        samples=audit.samples,
        alarms=CheckAlarms(
            critical="the nightly audit proved records missing, altered, "
            "doubled or foreign at the target",
            warning="the nightly audit was missed, is late, failed, or could "
            "not verify everything",
            unknown="whether the records of the last days all arrived",
            # A new site waits up to a day for its first audit, which takes an
            # hour or two.
            unknown_hold=timedelta(hours=26),
        ),
    ),
)

CHECKS: Mapping[str, Check] = {check.name: check for check in _ALL}
"""Every check by its name, in the order of verdicts, metrics and alerts."""


def judge(
    limits: Mapping[str, FlowLimits],
    observations: Iterable[Observation],
    now: datetime,
) -> tuple[Verdict, ...]:
    """Judge every flow by every check.

    Parameters
    ----------
    limits
        Limits of every configured flow, by its name.
    observations
        What was seen in this tick.
    now
        The time.
    """
    seen: dict[str, dict[type, Observation]] = {flow: {} for flow in limits}
    for observation in observations:
        seen.setdefault(observation.flow, {})[type(observation)] = observation
    return tuple(
        check.verdict(flow, seen[flow], own, now)
        for flow, own in limits.items()
        for check in CHECKS.values()
    )
