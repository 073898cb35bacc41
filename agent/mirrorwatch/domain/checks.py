"""Every check: what it judges, by which limits, and what comes of it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from types import ModuleType
from typing import Any

from . import cause_texts, checkpoints_texts, heartbeats_texts, latency_texts
from .audit import metrics as audit
from .audit import texts as audit_texts
from .audit.check import AuditLimits, judge_audit
from .audit.flow_result import AuditObservation
from .bottleneck import metrics as bottleneck
from .bottleneck import texts as bottleneck_texts
from .bottleneck.check import BottleneckLimits, judge_bottleneck
from .bottleneck.model import MirrorObservation
from .canary import metrics as canary
from .canary import texts as canary_texts
from .canary.check import CanaryLimits, judge_canary
from .canary.model import CanaryObservation
from .checkpoints import CheckpointsObservation, judge_checkpoints
from .failover import metrics as failover
from .failover import texts as failover_texts
from .failover.check import (
    FailoverLimits,
    FailoverObservation,
    judge_failover,
)
from .finding import Code, Finding, Health
from .heartbeats import (
    HeartbeatsLimits,
    HeartbeatsObservation,
    judge_heartbeats,
)
from .lag import metrics as lag
from .lag import retention_texts
from .lag import texts as lag_texts
from .lag.check import LagLimits, judge_lag
from .lag.model import LagObservation
from .lag.retention import RetentionLimits, judge_retention
from .latency import LatencyLimits, LatencyObservation, judge_latency
from .metrics import Metric, Sample
from .notices.model import CheckAlarms, Severity
from .parity import configs_texts, topics_texts
from .parity import metrics as parity
from .parity.configs import ConfigsLimits, ConfigsObservation, judge_configs
from .parity.topics import TopicsObservation, judge_topics
from .position import metrics as position
from .position import texts as position_texts
from .position.check import PositionLimits, judge_position
from .position.model import PositionObservation
from .readers import metrics as readers
from .readers import texts as readers_texts
from .readers.check import ReadersLimits, judge_readers
from .readers.model import ReadersObservation
from .report import Observation, Verdict
from .schemas import metrics as schemas
from .schemas import texts as schemas_texts
from .schemas.check import SchemasLimits, judge_schemas
from .schemas.model import SchemasObservation
from .skips import metrics as skips
from .skips import texts as skips_texts
from .skips.check import SkipsLimits, judge_skips
from .skips.model import SkipsObservation
from .tasks import metrics as tasks
from .tasks import texts as tasks_texts
from .tasks.check import TasksLimits, judge_tasks
from .tasks.model import TasksObservation

__all__ = [
    "CHECKS",
    "CODES",
    "MIRROR",
    "MIRROR_NAME",
    "OFF",
    "Check",
    "FlowLimits",
    "codes_of",
    "fill_in_mirror",
    "judge",
]


OFF = "off"
"""Beside the limits by check: why checks are off that the flow's mirror leaves
no means to verify, by check."""

MIRROR = "mirror"
"""Beside the limits by check: the name of the flow's mirror in sentences."""

MIRROR_NAME = "MirrorMaker"
"""Name of a mirror that has none there."""

FlowLimits = Mapping[str, Any]
"""Limits of one flow, by check. A check that is not in it has the defaults of
its own limits."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """Check, with all that the agent and its alerts know of it."""

    name: str
    """Stable name, as it leaves the process."""

    observation: type
    """Type of observation that it judges."""

    judge: Callable[..., Verdict]
    """Takes the flow, the newest observation (`None` if there is none), the
    limits if the check has any, the time, and `beside` by name."""

    limits: type | None = None
    """Its limits, with their defaults; `None` if it has none."""

    beside: Mapping[str, type] = field(default_factory=dict)
    """Observations of other checks that it reads, by the name of the
    parameter."""

    metrics: tuple[Metric, ...] = ()
    """Metrics exported from its observation."""

    samples: Callable[[Any, datetime], Iterator[Sample]] | None = None
    """Makes the samples of these metrics."""

    alarms: CheckAlarms
    """Its alerts."""

    texts: ModuleType
    """Its ``texts``: `ABOUT`, and its part of the catalogue."""

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
        reason = limits.get(OFF, {}).get(self.name)
        if reason is not None:
            return Verdict(
                flow=flow,
                check=self.name,
                health=Health.OFF,
                reason=reason,
                since=now,
                findings=(Finding(f"{self.name}.off", Health.OFF, reason),),
            )
        own = []
        if self.limits is not None:
            own.append(limits.get(self.name, self.limits()))
        beside = {name: seen.get(of) for name, of in self.beside.items()}
        newest = seen.get(self.observation)
        found: Verdict = self.judge(flow, newest, *own, now, **beside)
        return _fill_in_mirror(found, limits.get(MIRROR) or MIRROR_NAME)


def fill_in_mirror(text: str, mirror: str) -> str:
    """Replace the placeholder of the mirror in a rendered text."""
    named = text.replace("{mirror}", mirror)
    begins = text.startswith("{mirror}")
    return named[:1].upper() + named[1:] if begins else named


def _fill_in_mirror(verdict: Verdict, mirror: str) -> Verdict:
    return replace(
        verdict,
        reason=fill_in_mirror(verdict.reason, mirror),
        findings=tuple(
            replace(finding, title=fill_in_mirror(finding.title, mirror))
            for finding in verdict.findings
        ),
    )


_ALL = (
    Check(
        name="canary",
        texts=canary_texts,
        observation=CanaryObservation,
        judge=judge_canary,
        limits=CanaryLimits,
        metrics=canary.METRICS,
        samples=canary.samples,
        alarms=CheckAlarms(
            symptom="ProbesMissing",
            critical="probes do not arrive at the target, or are lost",
            warning="probes arrive late, are duplicated, cannot be "
            "produced, or miss a broker",
            # Nothing else watches the flow as a whole.
            unknown_severity=Severity.PAGE,
        ),
    ),
    Check(
        name="latency",
        texts=latency_texts,
        observation=LatencyObservation,
        judge=judge_latency,
        limits=LatencyLimits,
        alarms=CheckAlarms(
            symptom="LatencyHigh",
            critical="end-to-end latency is many times its baseline",
            warning="end-to-end latency is above its baseline",
            # Twice the window of the check: a pause of seconds, for instance a
            # rebalance, stays in its p99 for five minutes and needs nobody at
            # night.
            critical_hold=timedelta(minutes=10),
        ),
    ),
    Check(
        name="lag",
        texts=lag_texts,
        observation=LagObservation,
        judge=judge_lag,
        limits=LagLimits,
        metrics=lag.METRICS,
        samples=lag.samples,
        alarms=CheckAlarms(
            symptom="PositionStalled",
            critical="replication has stopped, and the source has new records",
            warning="replication lag is growing",
            # Records may be about to expire.
            unknown_severity=Severity.PAGE,
        ),
    ),
    Check(
        name="skips",
        texts=skips_texts,
        observation=SkipsObservation,
        beside={"lag": LagObservation},
        judge=judge_skips,
        limits=SkipsLimits,
        metrics=skips.METRICS,
        samples=skips.samples,
        alarms=CheckAlarms(
            symptom="RecordsDropped",
            critical="the mirror skipped records: they are missing at the "
            "target",
            critical_hold=timedelta(),
            warning="the mirror may have skipped or duplicated records",
        ),
    ),
    Check(
        name="retention",
        texts=retention_texts,
        observation=LagObservation,
        judge=judge_retention,
        limits=RetentionLimits,
        alarms=CheckAlarms(
            symptom="DataLossImminent",
            critical="records will expire at the source before being copied",
            warning="records that are not copied yet approach their retention",
        ),
    ),
    Check(
        name="position",
        texts=position_texts,
        observation=PositionObservation,
        beside={"lag": LagObservation, "skips": SkipsObservation},
        judge=judge_position,
        limits=PositionLimits,
        metrics=position.METRICS,
        samples=position.samples,
        alarms=CheckAlarms(
            symptom="PositionReset",
            critical="the mirror's position was reset: records expired "
            "uncopied, a topic was recreated, or committed offsets "
            "are lost",
            critical_hold=timedelta(),
            warning="the mirror was rewound and copies records again",
        ),
    ),
    Check(
        name="topics",
        texts=topics_texts,
        observation=TopicsObservation,
        beside={"lag": LagObservation},
        judge=judge_topics,
        metrics=parity.TOPICS_METRICS,
        samples=parity.topics_samples,
        alarms=CheckAlarms(
            symptom="TopicsMissing",
            critical="topics are missing at the target, or in a replication "
            "loop",
            warning="topics or partitions differ between source and target",
        ),
    ),
    Check(
        name="configs",
        texts=configs_texts,
        observation=ConfigsObservation,
        beside={"lag": LagObservation},
        judge=judge_configs,
        limits=ConfigsLimits,
        metrics=parity.CONFIGS_METRICS,
        samples=parity.configs_samples,
        alarms=CheckAlarms(
            warning="topic configs differ between source and target",
        ),
    ),
    Check(
        name="schemas",
        texts=schemas_texts,
        observation=SchemasObservation,
        judge=judge_schemas,
        limits=SchemasLimits,
        metrics=schemas.METRICS,
        samples=schemas.samples,
        alarms=CheckAlarms(
            symptom="RecordsUndecodable",
            critical="records cannot be decoded at the target: their schema "
            "is missing there, or is another one",
            warning="schemas arrive late at the target, or its schema "
            "registry lacks subjects",
        ),
    ),
    Check(
        name="tasks",
        texts=tasks_texts,
        observation=TasksObservation,
        judge=judge_tasks,
        limits=TasksLimits,
        metrics=tasks.METRICS,
        samples=tasks.samples,
        alarms=CheckAlarms(
            symptom="TasksFailed",
            critical="a connector or task of the mirror failed, or none runs",
            warning="the mirror's tasks are flapping, rebalance often, or "
            "leave partitions unassigned",
        ),
    ),
    Check(
        name="heartbeats",
        texts=heartbeats_texts,
        observation=HeartbeatsObservation,
        judge=judge_heartbeats,
        limits=HeartbeatsLimits,
        alarms=CheckAlarms(
            warning="MirrorMaker's heartbeats are missing",
        ),
    ),
    Check(
        name="checkpoints",
        texts=checkpoints_texts,
        observation=CheckpointsObservation,
        judge=judge_checkpoints,
        alarms=CheckAlarms(
            warning="checkpoints of consumer groups are stale: after a "
            "failover groups would process records again",
        ),
    ),
    Check(
        name="failover",
        texts=failover_texts,
        observation=FailoverObservation,
        judge=judge_failover,
        limits=FailoverLimits,
        metrics=failover.METRICS,
        samples=failover.samples,
        alarms=CheckAlarms(
            symptom="FailoverUnsafe",
            critical="consumer groups have no start at the target: after a "
            "failover they would miss or repeat records",
            warning="starts of consumer groups at the target are missing or "
            "old",
        ),
    ),
    Check(
        name="readers",
        texts=readers_texts,
        observation=ReadersObservation,
        judge=judge_readers,
        limits=ReadersLimits,
        metrics=readers.METRICS,
        samples=readers.samples,
        alarms=CheckAlarms(
            symptom="ReadersStopped",
            critical="a consumer group at the target has stopped reading "
            "while records wait",
            warning="the lag of a consumer group at the target is growing, "
            "or its committed offsets are gone",
        ),
    ),
    Check(
        name="bottleneck",
        texts=bottleneck_texts,
        observation=MirrorObservation,
        judge=judge_bottleneck,
        limits=BottleneckLimits,
        metrics=bottleneck.METRICS,
        samples=bottleneck.samples,
        alarms=CheckAlarms(
            symptom="TaskErrors",
            critical="MirrorMaker dropped records because of errors",
            warning="replication is limited by a quota, full batches, "
            "retries or the link",
        ),
    ),
    Check(
        name="audit",
        texts=audit_texts,
        observation=AuditObservation,
        judge=judge_audit,
        limits=AuditLimits,
        metrics=audit.METRICS,
        samples=audit.samples,
        alarms=CheckAlarms(
            symptom="AuditFindings",
            critical="the nightly audit found records missing, altered, "
            "duplicated or added at the target",
            warning="the nightly audit was missed, is late, failed, or "
            "could not verify all records",
            # A new site waits up to a day for its first audit, which takes an
            # hour or two.
            unknown_hold=timedelta(hours=26),
        ),
    ),
)

CHECKS: Mapping[str, Check] = {check.name: check for check in _ALL}
"""Every check by its name, in the order of verdicts, metrics and alerts."""


def codes_of(texts: ModuleType) -> Iterator[Code]:
    """Yield the codes of a module of texts, as declared."""
    return (code for code in vars(texts).values() if isinstance(code, Code))


CODES: Mapping[str, Code] = {
    code.name: code
    for texts in (cause_texts, *(check.texts for check in _ALL))
    for code in codes_of(texts)
}
"""Catalogue: every code by its name."""


def judge(
    limits: Mapping[str, FlowLimits],
    observations: Iterable[Observation],
    now: datetime,
    run: Callable[[str, Callable[[], Verdict]], Verdict] = lambda _, work: (
        work()
    ),
) -> tuple[Verdict, ...]:
    """Judge every flow by every check.

    Parameters
    ----------
    limits
        Limits of every configured flow, by its name.
    observations
        Observations of this tick.
    now
        The time.
    run
        Runs each check, by its name: so that one may fail alone.
    """
    seen: dict[str, dict[type, Observation]] = {flow: {} for flow in limits}
    for observation in observations:
        seen.setdefault(observation.flow, {})[type(observation)] = observation
    return tuple(
        run(
            f"{check.name} {flow}",
            partial(check.verdict, flow, seen[flow], own, now),
        )
        for flow, own in limits.items()
        for check in CHECKS.values()
    )
