"""Figures of health: what was concluded."""

from collections.abc import Iterable, Iterator

from ..verdicts import Flow, Health, Verdict, worst
from .metric import gauge
from .sample import Sample

__all__ = ["CHECK_HEALTH", "HEALTH", "METRICS", "figures"]

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

METRICS = (HEALTH, CHECK_HEALTH)


def figures(
    flows: Iterable[Flow], verdicts: Iterable[Verdict]
) -> Iterator[Sample]:
    """Yield the health of every flow, and of each of its checks."""
    judged = list(verdicts)
    for flow in flows:
        own = [v for v in judged if v.flow == flow.name]
        health = worst(own) if own else Health.UNKNOWN
        yield Sample(HEALTH, (flow.name,), health.value)
    for verdict in judged:
        labels = (verdict.flow, verdict.check)
        yield Sample(CHECK_HEALTH, labels, verdict.health.value)
