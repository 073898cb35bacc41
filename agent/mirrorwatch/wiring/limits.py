"""Limits of a flow's checks, as the domain takes them."""

from dataclasses import fields
from typing import Any

from ..config import AuditConfig, FlowConfig
from ..domain.checks import CHECKS, FlowLimits

__all__ = ["to_limits"]


def to_limits(
    flow: FlowConfig, audit: AuditConfig | None = None
) -> FlowLimits:
    """Return the limits of a flow's checks.

    A block of the configuration has the names of the domain's limits; what
    is added here is known from elsewhere in the flow.
    """
    canary = flow.canary
    elsewhere: dict[str, dict[str, Any]] = {
        "canary": {"enabled": canary.enabled, "deadline": canary.deadline},
        "latency": {"enabled": canary.enabled},
        "bottleneck": {"enabled": flow.mirror.jmx is not None},
        "audit": {"enabled": False}
        if audit is None
        else {"timeout": audit.timeout},
    }
    found = {}
    for check in CHECKS.values():
        if check.limits is None:
            continue
        # A block may have more than limits: how often to look, for example.
        block = getattr(flow.limits, check.name, None)
        names = {f.name for f in fields(check.limits)}
        configured = dict(block) if block is not None else {}
        found[check.name] = check.limits(
            **{n: v for n, v in configured.items() if n in names},
            **elsewhere.get(check.name, {}),
        )
    return found
