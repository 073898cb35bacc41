"""Limits of a flow's checks, as the domain takes them."""

from ..config import AuditConfig, FlowConfig
from ..domain.audit.check import AuditLimits
from ..domain.bottleneck.check import BottleneckLimits
from ..domain.canary.check import CanaryLimits
from ..domain.checks import FlowLimits
from ..domain.heartbeats import HeartbeatsLimits
from ..domain.lag.check import LagLimits
from ..domain.lag.retention import RetentionLimits
from ..domain.latency import LatencyLimits
from ..domain.parity.configs import ConfigsLimits
from ..domain.position.check import PositionLimits
from ..domain.skips.check import SkipsLimits
from ..domain.tasks.check import TasksLimits

__all__ = ["to_limits"]


def to_limits(
    flow: FlowConfig, audit: AuditConfig | None = None
) -> FlowLimits:
    """Return the limits of a flow's checks.

    A block of the configuration has the names of the domain's limits; what
    is added here is known from elsewhere in the flow.
    """
    limits, canary = flow.limits, flow.canary
    return FlowLimits(
        canary=CanaryLimits(
            enabled=canary.enabled,
            deadline=canary.deadline,
            **limits.canary.model_dump(),
        ),
        latency=LatencyLimits(
            enabled=canary.enabled, **limits.latency.model_dump()
        ),
        lag=LagLimits(**limits.lag.model_dump()),
        skips=SkipsLimits(
            **limits.skips.model_dump(exclude={"suspect_after"})
        ),
        retention=RetentionLimits(**limits.retention.model_dump()),
        position=PositionLimits(**limits.position.model_dump()),
        configs=ConfigsLimits(enabled=limits.configs.enabled),
        tasks=TasksLimits(**limits.tasks.model_dump()),
        heartbeats=HeartbeatsLimits(**limits.heartbeats.model_dump()),
        bottleneck=BottleneckLimits(
            enabled=flow.mirror.jmx is not None,
            **limits.bottleneck.model_dump(),
        ),
        audit=AuditLimits(enabled=False)
        if audit is None
        else AuditLimits(timeout=audit.timeout),
    )
