"""The `limits` block of a flow: one model for each check that has limits."""

from datetime import timedelta

from pydantic import ByteSize, Field

from .base import Model
from .types import Duration

__all__ = ["CanaryLimits", "LatencyLimits", "LimitsConfig"]


class BottleneckLimits(Model):
    """Limits of the check `bottleneck`, on the mirror's own figures."""

    lost_window: Duration = Field(
        timedelta(hours=1), title="Memory for errors", gt=timedelta()
    )
    """How long records that a task gave up keep the verdict critical: as
    long as a lost probe. The counters never forget."""

    throttle: Duration = Field(
        timedelta(milliseconds=100), title="Throttled above", ge=timedelta()
    )
    """Longest that a quota may hold a request of the mirror: a tenth of the
    second that the long-haul mirror takes."""

    retries_per_second: float = Field(0.1, title="Retries above", ge=0)
    """Records a second that the mirror sends again: six in the minute of
    the window, more than the change of a leader costs."""

    commit_failures: float = Field(
        0.1, title="Failing commits above", ge=0, le=1
    )
    """Part of the commits of positions that may fail: one that is made up
    for by the next is no harm."""

    commit_time: Duration = Field(
        timedelta(seconds=4), title="Slow commits above", gt=timedelta()
    )
    """A second before `offset.flush.timeout.ms`, at which they fail."""

    queue_time: Duration = Field(
        timedelta(seconds=1), title="Waiting to be sent above", gt=timedelta()
    )
    """How long batches may wait in the mirror's producer, on average: the
    whole second that the long-haul mirror takes."""

    fetch_latency: Duration = Field(
        timedelta(seconds=2), title="Slow fetches above", gt=timedelta()
    )
    """How long fetches may take, on average, while records wait: four times
    the half second that an idle one waits (`fetch.max.wait.ms`)."""

    waiting_records: int = Field(10_000, title="Records that may wait", ge=0)
    """On one partition, by the mirror's own lag: twenty polls of
    `max.poll.records`. Below it, slow fetches hold nobody up."""

    batch_size: ByteSize = Field(
        ByteSize(16_384), title="The mirror's batch.size", gt=0
    )
    """Kafka's default. Say so if the mirror's producer has another."""

    batch_full: float = Field(0.9, title="Full from", gt=0, le=1)
    """Part of `batch_size` from which batches are full, on average: the next
    record would rarely have had room."""


class HeartbeatsLimits(Model):
    """Limits of the check `heartbeats`."""

    stale: Duration = Field(
        timedelta(minutes=1), title="Stale after", gt=timedelta()
    )
    """How long heartbeats may fail to come, or their copies be late. They are
    made every second; a worker that leaves is missed after ten, and a
    rebalance takes some more. Ten of the mirror's intervals, if that is
    longer."""


class TopicsLimits(Model):
    """Limits of the check `topics`."""

    refreshes: float = Field(2, title="Refreshes of the mirror", ge=1)
    """Topic refreshes of the mirror within which a new topic, or a new
    partition, must be at the target: it may have just missed the first. The
    interval is read from the mirror's own configuration."""

    least: Duration = Field(
        timedelta(minutes=1), title="Least patience", gt=timedelta()
    )
    """What the mirror is given in any case: to make topics, and to deal them
    out to its tasks, takes it seconds whatever its interval."""


class ConfigsLimits(Model):
    """Limits of the check `configs`."""

    enabled: bool = Field(default=True, title="Enabled")
    """Whether configurations are compared: it needs the right
    DESCRIBE_CONFIGS on all topics that the flow carries, on both sides."""

    every: Duration = Field(
        timedelta(minutes=5), title="How often", ge=timedelta(seconds=1)
    )
    """How often configurations are read: 100 topics make a request, answered
    in about 20 ms, so all topics of a large site cost less than a second.
    The mirror itself looks every ten minutes."""

    slack: Duration = Field(
        timedelta(minutes=1), title="Slack", gt=timedelta()
    )
    """What the mirror is given beyond its own interval before a drift counts:
    to go through thousands of topics takes it a while."""


class PositionLimits(Model):
    """Limits of the check `position`."""

    lost_window: Duration = Field(
        timedelta(hours=1), title="Memory for losses", gt=timedelta()
    )
    """How long a reset that left records out keeps the verdict critical once
    the mirror has gone on: as long as a lost probe does. The counter never
    forgets."""

    rewind_window: Duration = Field(
        timedelta(minutes=10), title="Memory for repeats", gt=timedelta()
    )
    """How long one that only copies records again keeps it at warning: every
    crash of the mirror does that, and nothing is lost."""


class SkipsLimits(Model):
    """Limits of the check `skips`."""

    lost_window: Duration = Field(
        timedelta(hours=1), title="Memory for skips", gt=timedelta()
    )
    """How long skipped records keep the verdict critical: as long as lost
    probes do. The counters never forget."""

    warning_window: Duration = Field(
        timedelta(minutes=10), title="Memory for warnings", gt=timedelta()
    )
    """How long repeats, and offsets that cannot be verified, keep it at
    warning: as long as late probes do."""

    suspect_after: Duration = Field(
        timedelta(minutes=2), title="Suspect after", gt=timedelta()
    )
    """How much newer the records must be that a task copies elsewhere before
    those that it leaves behind are suspected: two of the mirror's flush
    intervals, so that every position was told since."""

    unread_after: Duration = Field(
        timedelta(minutes=2), title="Patience for reading", gt=timedelta()
    )
    """How long a stretch may wait to be read before the check is unknown:
    some seconds are usual, a minute after a mirror with thousands of
    partitions was killed."""


class TasksLimits(Model):
    """Limits of the check `tasks`."""

    grace: Duration = Field(
        timedelta(seconds=30), title="Time between two runs", gt=timedelta()
    )
    """How long tasks may be neither running nor failed. When they are given
    out anew they stop for some seconds; whoever stops them for longer stops
    the flow."""

    failures: int = Field(2, title="Failures an hour", ge=1)
    """From how many failures within an hour a task that runs again is
    flapping: one may have been mended, a second one was not."""

    restarts: int = Field(6, title="Starts an hour", ge=1)
    """How many starts and rebalances within an hour are usual, beside one
    for each look of the mirror for new topics: a deployment takes up to
    three of them."""


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
