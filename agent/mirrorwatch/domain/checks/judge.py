"""Every check on every flow, at every tick."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from ..observations import CanaryObservation, LatencyObservation, Observation
from ..verdicts import Verdict
from .canary import CanaryLimits, judge_canary
from .latency import LatencyLimits, judge_latency

__all__ = ["CHECKS", "FlowLimits", "judge"]

T = TypeVar("T", CanaryObservation, LatencyObservation)

CHECKS = ("canary", "latency")
"""Names of the checks, as they leave the process."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowLimits:
    """Limits of one flow, by check."""

    canary: CanaryLimits = field(default_factory=CanaryLimits)
    latency: LatencyLimits = field(default_factory=LatencyLimits)


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
    seen = list(observations)
    verdicts: list[Verdict] = []
    for flow, own in limits.items():
        canary = _newest(CanaryObservation, flow, seen)
        latency = _newest(LatencyObservation, flow, seen)
        verdicts += [
            judge_canary(flow, canary, own.canary, now),
            judge_latency(flow, latency, own.latency, now),
        ]
    return tuple(verdicts)


def _newest(
    kind: type[T], flow: str, observations: Iterable[Observation]
) -> T | None:
    found = None
    for seen in observations:
        if isinstance(seen, kind) and seen.flow == flow:
            found = seen
    return found
