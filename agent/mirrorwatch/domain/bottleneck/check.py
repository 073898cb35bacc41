"""The check ``bottleneck``: what holds the mirror up, as it says itself."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar

from ..finding import Finding, Health
from ..report import Evidence, Verdict, conclude
from . import texts
from .model import MirrorMetrics, MirrorObservation

__all__ = ["BottleneckLimits", "judge_bottleneck"]


_SHOWN = (
    "consumed_records_per_second",
    "consumed_bytes_per_second",
    "fetch_latency_average_seconds",
    "fetch_throttle_max_seconds",
    "consumer_lag_max_records",
    "consumer_lead_min_records",
    "sends_per_second",
    "batch_size_average_bytes",
    "record_queue_average_seconds",
    "request_latency_average_seconds",
    "produce_throttle_max_seconds",
    "retries_per_second",
    "buffer_available_bytes",
    "offset_commit_success_ratio",
    "offset_commit_max_seconds",
    "active_records",
)
"""Metrics that a person looks at first, in the order of the way of a
record; all others are in the metrics."""


def gather(seen: MirrorObservation) -> Evidence:
    """Return what led to the verdict."""
    said = seen.metrics
    known = {
        **asdict(said.consumer),
        **asdict(said.producer),
        **asdict(said.tasks),
    }
    evidence: dict[str, str | int | float | bool | None] = {
        name: round(value, 3)
        for name in _SHOWN
        if (value := known[name]) is not None
    }
    behind = {where: lag for where, lag in said.lags.items() if lag > 0}
    if behind:
        topic, partition = max(behind, key=lambda where: behind[where])
        evidence["most_behind"] = f"{topic}[{partition}]"
    evidence["answering"] = ", ".join(seen.answering)
    return evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class BottleneckLimits:
    """Limits of the check `bottleneck`, for MirrorMaker's JMX metrics."""

    enabled: bool = True
    """JMX of the mirror is configured."""

    lost_window: ClassVar[timedelta] = timedelta(hours=1)
    """Time the check stays critical after a task dropped records. The default
    is that of lost probes. The counters keep the total."""

    throttle: ClassVar[timedelta] = timedelta(milliseconds=100)
    """Longest delay of a request of MirrorMaker by a quota. A tenth of the
    usual second of a long-distance link."""

    retries_per_second: ClassVar[float] = 0.1
    """Records that MirrorMaker's producer retries per second. Six per minute
    are more than a leader election causes."""

    commit_failures: ClassVar[float] = 0.1
    """Share of offset commits that may fail. The next commit makes up for a
    single failure."""

    commit_time: ClassVar[timedelta] = timedelta(seconds=4)
    """Duration of an offset commit. One second below
    `offset.flush.timeout.ms`, at which commits fail."""

    queue_time: ClassVar[timedelta] = timedelta(seconds=1)
    """Average time that batches wait in MirrorMaker's producer
    (`record-queue-time-avg`). The whole latency of a long-distance link."""

    fetch_latency: ClassVar[timedelta] = timedelta(seconds=2)
    """Average duration of fetches (`fetch-latency-avg`) while there is lag.
    Four times the half second that a fetch without records waits
    (`fetch.max.wait.ms`)."""

    waiting_records: ClassVar[int] = 10_000
    """Lag of MirrorMaker's consumer on one partition (`records-lag`). Twenty
    polls of `max.poll.records`; below that, slow fetches do no harm."""

    batch_size: int = field(
        default=16_384,
        metadata={"title": "Batch size", "gt": 0, "unit": "bytes"},
    )
    """`batch.size` of MirrorMaker's producer. The default is Kafka's."""


def judge_bottleneck(
    flow: str,
    seen: MirrorObservation | None,
    limits: BottleneckLimits,
    now: datetime,
) -> Verdict:
    """Judge what the mirror says of itself.

    Parameters
    ----------
    flow
        Name of the flow.
    seen
        Observation of the flow's mirror, from the mirror's own metrics.
    limits
        Limits of the check.
    now
        The time.
    """
    return conclude(
        _find(seen, limits, now),
        flow=flow,
        check="bottleneck",
        now=now,
        evidence={} if seen is None else gather(seen),
    )


def _find(
    seen: MirrorObservation | None, limits: BottleneckLimits, now: datetime
) -> Iterator[Finding]:
    if not limits.enabled:
        yield texts.OFF.found(Health.OFF)
        return
    if seen is None:
        yield texts.NO_DATA.found(Health.UNKNOWN)
        return
    at, lately = seen.last_lost, seen.lately
    if at is not None and now - at <= limits.lost_window:
        yield texts.DROPPED.found(
            Health.CRITICAL,
            records=lately.lost,
            not_produced_records=lately.not_produced,
            skipped_records=lately.records_skipped,
            seconds=(now - at).total_seconds(),
        )
    for unread in seen.unread:
        yield texts.UNREADABLE.found(
            Health.UNKNOWN, {"connection": unread.url}, problem=unread.reason
        )
    if not seen.answering:
        return
    if seen.metrics.blank:
        yield texts.BLANK.found(Health.UNKNOWN)
        return
    yield from _refused(seen.metrics, limits)
    yield from _slow(seen.metrics, limits)
    rate = sum(
        copied.records_per_second or 0
        for copied in seen.metrics.classes.values()
    )
    yield texts.OK.found(Health.OK, records_per_second=rate)


def _refused(
    said: MirrorMetrics, limits: BottleneckLimits
) -> Iterator[Finding]:
    consumer, producer, tasks = said.consumer, said.producer, said.tasks
    throttle = limits.throttle.total_seconds()
    for code, number, value, most in (
        (
            texts.THROTTLED,
            "fetch_throttle_seconds",
            consumer.fetch_throttle_max_seconds,
            throttle,
        ),
        (
            texts.THROTTLED,
            "produce_throttle_seconds",
            producer.produce_throttle_max_seconds,
            throttle,
        ),
        (
            texts.REFUSED,
            "failed_records_per_second",
            producer.errors_per_second,
            0,
        ),
        (
            texts.REFUSED,
            "retried_records_per_second",
            producer.retries_per_second,
            limits.retries_per_second,
        ),
        (
            texts.TOO_LARGE,
            "split_batches_per_second",
            producer.batch_splits_per_second,
            0,
        ),
        (
            texts.COMMITS,
            "failed_ratio",
            tasks.offset_commit_failure_ratio,
            limits.commit_failures,
        ),
        (
            texts.COMMITS,
            "commit_seconds",
            tasks.offset_commit_max_seconds,
            limits.commit_time.total_seconds(),
        ),
    ):
        if (value or 0) > most:
            yield code.found(Health.WARNING, None, **{number: value})


def _slow(said: MirrorMetrics, limits: BottleneckLimits) -> Iterator[Finding]:
    """Yield at most one finding: what is slow first explains the rest.

    A producer that does not get rid of records fills its buffer, and then the
    consumer waits as well; a slow link makes a consumer look slow. So the
    producer is looked at first, and the consumer last.
    """
    consumer, producer = said.consumer, said.producer
    queued = producer.record_queue_average_seconds or 0
    waiting = consumer.consumer_lag_max_records or 0
    latency = consumer.fetch_latency_average_seconds or 0
    if said.silent:
        yield texts.SILENT.found(
            Health.WARNING,
            {"client": said.silent[0]},
            clients=len(said.silent),
            in_flight_records=round(said.tasks.active_records or 0),
        )
    elif queued > limits.queue_time.total_seconds():
        yield texts.PRODUCER.found(
            Health.WARNING,
            queue_seconds=queued,
            batch_bytes=producer.batch_size_average_bytes,
            batch_limit_bytes=limits.batch_size,
            request_seconds=producer.request_latency_average_seconds,
        )
    elif waiting <= limits.waiting_records:
        return
    elif latency > limits.fetch_latency.total_seconds():
        yield texts.LINK.found(
            Health.WARNING,
            fetch_seconds=latency,
            fetch_bytes=consumer.fetch_size_average_bytes or 0,
            lag_records=waiting,
        )
    else:
        yield texts.CONSUMER.found(Health.WARNING, lag_records=waiting)
