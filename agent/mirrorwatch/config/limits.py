"""The `limits` block of a flow: one model for each check that has limits."""

from datetime import timedelta

from pydantic import Field

from .base import Model
from .durations import Duration

__all__ = ["CanaryLimits", "LatencyLimits", "LimitsConfig"]


class CanaryLimits(Model):
    """Limits of the check `canary`."""

    lost_window: Duration = Field(
        timedelta(hours=1), title="Memory for losses", gt=timedelta()
    )
    """How long a probe that was proved lost keeps the verdict critical: long
    enough that a person sees it, short enough that a mended mirror is
    healthy again within a shift. The counter never forgets."""

    warning_window: Duration = Field(
        timedelta(minutes=10), title="Memory for warnings", gt=timedelta()
    )
    """How long late, doubled or unsendable probes keep it at warning: they
    lose nothing, so one topic refresh of the mirror is enough."""


class LatencyLimits(Model):
    """Limits of the check `latency`, on the canary's p99 over 5 minutes.

    Both the time and the factor must be exceeded: the factor alone would
    alarm on a fast mirror's jitter, the time alone on a slow link's usual.
    """

    critical: Duration = Field(
        timedelta(seconds=5), title="Critical above", gt=timedelta()
    )
    """Five times the second that the long-haul mirror takes."""

    critical_factor: float = Field(10, title="Critical above usual", gt=1)
    """Times the flow's usual: an order of magnitude is no jitter."""

    warning: Duration = Field(
        timedelta(seconds=2), title="Warning above", gt=timedelta()
    )
    """Twice the second that the long-haul mirror takes."""

    warning_factor: float = Field(3, title="Warning above usual", gt=1)
    """Times the flow's usual: more than the swing of a day and a night."""


class LimitsConfig(Model):
    """Limits of a flow, by check."""

    canary: CanaryLimits = Field(
        default_factory=CanaryLimits, title="Limits of the canary"
    )
    """When probes make the flow unhealthy."""

    latency: LatencyLimits = Field(
        default_factory=LatencyLimits, title="Limits of the latency"
    )
    """When their delay does."""
