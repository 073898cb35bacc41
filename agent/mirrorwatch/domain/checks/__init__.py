"""One pure function for each check."""

from .bottleneck import BottleneckLimits, judge_bottleneck
from .canary import CanaryLimits, judge_canary
from .judge import CHECKS, FlowLimits, judge
from .lag import LagLimits, judge_lag
from .latency import LatencyLimits, judge_latency
from .retention import RetentionLimits, judge_retention
from .tasks import TasksLimits, judge_tasks

__all__ = [
    "CHECKS",
    "BottleneckLimits",
    "CanaryLimits",
    "FlowLimits",
    "LagLimits",
    "LatencyLimits",
    "RetentionLimits",
    "TasksLimits",
    "judge",
    "judge_bottleneck",
    "judge_canary",
    "judge_lag",
    "judge_latency",
    "judge_retention",
    "judge_tasks",
]
