"""Every check on every flow, at every tick."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from .audit.check import AuditLimits, judge_audit
from .audit.flow_result import AuditObservation
from .bottleneck.check import BottleneckLimits, judge_bottleneck
from .bottleneck.model import MirrorObservation
from .canary.check import CanaryLimits, judge_canary
from .checkpoints import CheckpointsObservation, judge_checkpoints
from .heartbeats import (
    HeartbeatsLimits,
    HeartbeatsObservation,
    judge_heartbeats,
)
from .lag.check import LagLimits, judge_lag
from .lag.model import LagObservation
from .lag.retention import RetentionLimits, judge_retention
from .latency import LatencyLimits, judge_latency
from .observations import CanaryObservation, LatencyObservation, Observation
from .parity.configs import ConfigsLimits, ConfigsObservation, judge_configs
from .parity.topics import TopicsLimits, TopicsObservation, judge_topics
from .position.check import PositionLimits, judge_position
from .position.model import PositionObservation
from .report import Verdict
from .skips.check import SkipsLimits, judge_skips
from .skips.model import SkipsObservation
from .tasks.check import TasksLimits, judge_tasks
from .tasks.model import TasksObservation

__all__ = ["CHECKS", "FlowFacts", "FlowLimits", "judge"]


T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowLimits:
    """Limits of a flow, by check."""

    canary: CanaryLimits = field(
        default_factory=CanaryLimits, metadata={"title": "Canary"}
    )
    """When probes make the flow unhealthy."""

    latency: LatencyLimits = field(
        default_factory=LatencyLimits, metadata={"title": "Latency"}
    )
    """When their latency does."""

    lag: LagLimits = field(
        default_factory=LagLimits, metadata={"title": "Replication lag"}
    )
    """When replication lag does."""

    skips: SkipsLimits = field(
        default_factory=SkipsLimits,
        metadata={"title": "Skips and duplicates"},
    )
    """When skipped or duplicated records do."""

    retention: RetentionLimits = field(
        default_factory=RetentionLimits, metadata={"title": "Time to loss"}
    )
    """When the time until uncopied records expire does."""

    position: PositionLimits = field(
        default_factory=PositionLimits, metadata={"title": "Position resets"}
    )
    """How long a position reset of the mirror does."""

    topics: TopicsLimits = field(
        default_factory=TopicsLimits, metadata={"title": "Topics"}
    )
    """When missing topics or partitions do."""

    configs: ConfigsLimits = field(
        default_factory=ConfigsLimits,
        metadata={"title": "Topic configurations"},
    )
    """When topics that are configured differently do."""

    tasks: TasksLimits = field(
        default_factory=TasksLimits, metadata={"title": "Tasks"}
    )
    """When the mirror's tasks do."""

    heartbeats: HeartbeatsLimits = field(
        default_factory=HeartbeatsLimits, metadata={"title": "Heartbeats"}
    )
    """When its heartbeats do."""

    bottleneck: BottleneckLimits = field(
        default_factory=BottleneckLimits, metadata={"title": "Bottleneck"}
    )
    """When the mirror's JMX metrics do."""

    audit: AuditLimits = field(default_factory=AuditLimits)
    """When a night that found records lost, or was missed, does."""


@dataclass(frozen=True, slots=True)
class FlowFacts:
    """What is known of one flow at one time."""

    flow: str
    """Name of the flow."""

    seen: Mapping[type, Observation]
    """The newest observation of each kind."""

    now: datetime
    """The time of the judgement."""

    def get(self, kind: type[T]) -> T | None:
        """Return the newest observation of a kind, `None` if there is none."""
        found = self.seen.get(kind)
        return found if isinstance(found, kind) else None


CHECKS: Mapping[str, Callable[[FlowFacts, FlowLimits], Verdict]] = {
    "canary": lambda facts, limits: judge_canary(
        facts.flow, facts.get(CanaryObservation), limits.canary, facts.now
    ),
    "latency": lambda facts, limits: judge_latency(
        facts.flow, facts.get(LatencyObservation), limits.latency, facts.now
    ),
    "lag": lambda facts, limits: judge_lag(
        facts.flow,
        facts.get(LagObservation),
        limits.lag,
        facts.now,
        skips=facts.get(SkipsObservation),
    ),
    "skips": lambda facts, limits: judge_skips(
        facts.flow, facts.get(SkipsObservation), limits.skips, facts.now
    ),
    "retention": lambda facts, limits: judge_retention(
        facts.flow, facts.get(LagObservation), limits.retention, facts.now
    ),
    "position": lambda facts, limits: judge_position(
        facts.flow, facts.get(PositionObservation), limits.position, facts.now
    ),
    "topics": lambda facts, _: judge_topics(
        facts.flow, facts.get(TopicsObservation), facts.now
    ),
    "configs": lambda facts, limits: judge_configs(
        facts.flow, facts.get(ConfigsObservation), limits.configs, facts.now
    ),
    "tasks": lambda facts, limits: judge_tasks(
        facts.flow, facts.get(TasksObservation), limits.tasks, facts.now
    ),
    "heartbeats": lambda facts, limits: judge_heartbeats(
        facts.flow,
        facts.get(HeartbeatsObservation),
        limits.heartbeats,
        facts.now,
    ),
    "checkpoints": lambda facts, _: judge_checkpoints(
        facts.flow, facts.get(CheckpointsObservation), facts.now
    ),
    "bottleneck": lambda facts, limits: judge_bottleneck(
        facts.flow, facts.get(MirrorObservation), limits.bottleneck, facts.now
    ),
    "audit": lambda facts, limits: judge_audit(
        facts.flow, facts.get(AuditObservation), limits.audit, facts.now
    ),
}
"""Every check by its name, as it leaves the process."""


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
        check(FlowFacts(flow, seen[flow], now), own)
        for flow, own in limits.items()
        for check in CHECKS.values()
    )
