"""Limits of the check `bottleneck`."""

from datetime import timedelta

from pydantic import ByteSize, Field

from .base import Model
from .durations import Duration

__all__ = ["BottleneckLimits"]


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
