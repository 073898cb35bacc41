"""One pure function for each check."""

from .audit import AuditLimits, judge_audit
from .bottleneck import BottleneckLimits, judge_bottleneck
from .canary import CanaryLimits, judge_canary
from .checkpoints import judge_checkpoints
from .configs import ConfigsLimits, judge_configs
from .heartbeats import HeartbeatsLimits, judge_heartbeats
from .judge import CHECKS, FlowLimits, judge
from .lag import LagLimits, judge_lag
from .latency import LatencyLimits, judge_latency
from .position import PositionLimits, judge_position
from .retention import RetentionLimits, judge_retention
from .skips import SkipsLimits, judge_skips
from .tasks import TasksLimits, judge_tasks
from .topics import judge_topics

__all__ = [
    "CHECKS",
    "AuditLimits",
    "BottleneckLimits",
    "CanaryLimits",
    "ConfigsLimits",
    "FlowLimits",
    "HeartbeatsLimits",
    "LagLimits",
    "LatencyLimits",
    "PositionLimits",
    "RetentionLimits",
    "SkipsLimits",
    "TasksLimits",
    "judge",
    "judge_audit",
    "judge_bottleneck",
    "judge_canary",
    "judge_checkpoints",
    "judge_configs",
    "judge_heartbeats",
    "judge_lag",
    "judge_latency",
    "judge_position",
    "judge_retention",
    "judge_skips",
    "judge_tasks",
    "judge_topics",
]
