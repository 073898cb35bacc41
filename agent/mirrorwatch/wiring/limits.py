"""Limits of a flow's checks, as the domain takes them."""

from ..config import AuditConfig, FlowConfig
from ..domain.checks import (
    AuditLimits,
    BottleneckLimits,
    CanaryLimits,
    ConfigsLimits,
    FlowLimits,
    HeartbeatsLimits,
    LagLimits,
    LatencyLimits,
    PositionLimits,
    RetentionLimits,
    SkipsLimits,
    TasksLimits,
)

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
