"""Figures of health: what was concluded."""

from collections.abc import Iterable, Iterator

from ..maintenance import Window
from ..verdicts import Flow, Health, Verdict, worst
from .metric import gauge
from .sample import Sample

__all__ = ["CHECK_HEALTH", "HEALTH", "MAINTENANCE", "METRICS", "figures"]

_SCALE = ", ".join(f"{h.value} {h.label}" for h in Health)

HEALTH = gauge(
    "health", "health", "health", ("flow",), f"Worst check of a flow: {_SCALE}"
)
CHECK_HEALTH = gauge(
    "check_health",
    "health",
    "health",
    ("flow", "check"),
    f"Outcome of one check: {_SCALE}",
)

MAINTENANCE = gauge(
    "maintenance",
    "0 or 1",
    "health",
    ("flow",),
    "1 while notices of a flow are held for maintenance, else 0",
)

METRICS = (HEALTH, CHECK_HEALTH, MAINTENANCE)


def figures(
    flows: Iterable[Flow],
    verdicts: Iterable[Verdict],
    maintenance: Iterable[Window],
) -> Iterator[Sample]:
    """Yield the health of every flow, and of each of its checks."""
    judged, named = list(verdicts), list(flows)
    for flow in named:
        own = [v for v in judged if v.flow == flow.name]
        health = worst(own) if own else Health.UNKNOWN
        yield Sample(HEALTH, (flow.name,), health.value)
    for verdict in judged:
        labels = (verdict.flow, verdict.check)
        yield Sample(CHECK_HEALTH, labels, verdict.health.value)
    held = {window.flow for window in maintenance}
    for flow in named:
        yield Sample(MAINTENANCE, (flow.name,), int(flow.name in held))
