"""The `limits` block of a flow: one model for each check that has limits."""

from datetime import timedelta

from pydantic import Field

from .base import Model
from .bottleneck import BottleneckLimits
from .durations import Duration
from .heartbeats import HeartbeatsLimits
from .parity import ConfigsLimits, TopicsLimits
from .position import PositionLimits
from .skips import SkipsLimits
from .tasks import TasksLimits

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


class LagLimits(Model):
    """Limits of the check `lag`."""

    stuck_flushes: float = Field(2, title="Flushes without a move", ge=1)
    """How many of the mirror's flush intervals a position may stand while
    records wait: it commits once in each, so one may be missed by a little,
    two not."""

    begin_refreshes: float = Field(2, title="Refreshes to begin", ge=1)
    """How many of the mirror's topic refreshes a new topic may wait for its
    first copy: it may be made just after one, and be found by the next."""


class RetentionLimits(Model):
    """Limits of the check `retention`, for topics of which records wait.

    Both the time and the share must be fallen short of: the time alone would
    alarm on every topic that is kept for an hour only, the share alone on a
    long retention with days left.
    """

    critical: Duration = Field(
        timedelta(hours=6), title="Critical below", gt=timedelta()
    )
    """A shift is left to mend the mirror, or to raise the retention."""

    critical_share: float = Field(
        0.5, title="Critical below this share", gt=0, le=1
    )
    """Half of what the source keeps is used up."""

    warning: Duration = Field(
        timedelta(hours=24), title="Warning below", gt=timedelta()
    )
    """A day is left."""

    warning_share: float = Field(
        0.75, title="Warning below this share", gt=0, le=1
    )
    """A quarter of what the source keeps is used up."""


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

    lag: LagLimits = Field(default_factory=LagLimits, title="Limits of lag")
    """When records that wait do."""

    skips: SkipsLimits = Field(
        default_factory=SkipsLimits, title="Limits of skips and repeats"
    )
    """When records that were skipped or doubled do."""

    retention: RetentionLimits = Field(
        default_factory=RetentionLimits, title="Limits of the retention"
    )
    """When the time until they are lost does."""

    position: PositionLimits = Field(
        default_factory=PositionLimits, title="Limits of the position"
    )
    """How long a mirror that lost its place does."""

    topics: TopicsLimits = Field(
        default_factory=TopicsLimits, title="Limits of the topics"
    )
    """When topics or partitions that are missing do."""

    configs: ConfigsLimits = Field(
        default_factory=ConfigsLimits, title="Limits of the configurations"
    )
    """When topics that are configured differently do."""

    tasks: TasksLimits = Field(
        default_factory=TasksLimits, title="Limits of the tasks"
    )
    """When the mirror's tasks do."""

    heartbeats: HeartbeatsLimits = Field(
        default_factory=HeartbeatsLimits, title="Limits of the heartbeats"
    )
    """When its heartbeats do."""

    bottleneck: BottleneckLimits = Field(
        default_factory=BottleneckLimits, title="Limits of the bottleneck"
    )
    """When the mirror's own figures do."""
