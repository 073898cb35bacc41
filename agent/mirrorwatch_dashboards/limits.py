"""Colour thresholds: the defaults of the checks, and nothing else."""

from datetime import timedelta

from mirrorwatch.domain.bottleneck.check import BottleneckLimits
from mirrorwatch.domain.canary.check import CanaryLimits
from mirrorwatch.domain.lag.retention import RetentionLimits
from mirrorwatch.domain.latency import LatencyLimits

from .panels import Limits

__all__ = [
    "ANY",
    "COMMIT",
    "COMMIT_FAILURES",
    "FETCH",
    "LATENCY",
    "NONE",
    "OVERDUE",
    "QUEUE",
    "RETENTION",
    "SOME",
    "THROTTLE",
    "WAITING",
]


_LATENCY, _RETENTION = LatencyLimits(), RetentionLimits()
_MIRROR = BottleneckLimits()


def _seconds(duration: timedelta) -> float:
    return duration.total_seconds()


ANY = Limits(critical=1)
"""Limit of one, which is critical: the verdict of its check is."""

SOME = Limits(warning=1)
"""Limit of one, which is a warning: nothing is lost by it."""

NONE = Limits(critical=1, below=True)

OVERDUE = Limits(critical=_seconds(CanaryLimits().deadline))

LATENCY = Limits(
    warning=_seconds(_LATENCY.warning),
    critical=_seconds(_LATENCY.critical),
)
"""The check also asks for a multiple of what is usual."""

RETENTION = Limits(
    warning=_seconds(_RETENTION.warning),
    critical=_seconds(_RETENTION.critical),
    below=True,
)
"""The check also asks for a share of the retention."""

THROTTLE = Limits(warning=_seconds(_MIRROR.throttle))
COMMIT = Limits(warning=_seconds(_MIRROR.commit_time))
COMMIT_FAILURES = Limits(warning=_MIRROR.commit_failures)
QUEUE = Limits(warning=_seconds(_MIRROR.queue_time))
FETCH = Limits(warning=_seconds(_MIRROR.fetch_latency))
WAITING = Limits(warning=_MIRROR.waiting_records)
