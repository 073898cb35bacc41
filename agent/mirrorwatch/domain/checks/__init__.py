"""One pure function for each check."""

from .canary import CanaryLimits, judge_canary
from .judge import CHECKS, FlowLimits, judge
from .latency import LatencyLimits, judge_latency

__all__ = [
    "CHECKS",
    "CanaryLimits",
    "FlowLimits",
    "LatencyLimits",
    "judge",
    "judge_canary",
    "judge_latency",
]
