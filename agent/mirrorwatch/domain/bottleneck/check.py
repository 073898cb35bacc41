"""The check ``bottleneck``: what holds the mirror up, as it says itself."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar

from ..report import (
    Evidence,
    Finding,
    Health,
    Verdict,
    agree,
    conclude,
    counted,
    seconds,
)
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
    evidence["record_failures"] = seen.counted.record_failures
    evidence["records_skipped"] = seen.counted.records_skipped
    evidence["answering"] = ", ".join(seen.answering)
    return evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class Slowness:
    """From when something is slow."""

    queue_time: timedelta
    fetch_latency: timedelta
    waiting_records: int
    full_batch: float
    """Bytes from which batches are full, on average."""


def find_slowness(said: MirrorMetrics, limits: Slowness) -> Iterator[Finding]:
    """Yield at most one finding: what is slow first explains the rest.

    A producer that does not get rid of records fills its buffer, and then the
    consumer waits as well; a slow link makes a consumer look slow. So the
    producer is looked at first, and the consumer last.
    """
    consumer, producer = said.consumer, said.producer
    if said.silent:
        yield Finding(
            "bottleneck.silent",
            Health.WARNING,
            _of_silence(said),
            subject={"client": said.silent[0]},
            numbers={
                "clients": len(said.silent),
                "in_flight_records": round(said.tasks.active_records or 0),
            },
        )
        return
    queued = producer.record_queue_average_seconds or 0
    if queued > limits.queue_time.total_seconds():
        yield Finding(
            "bottleneck.producer",
            Health.WARNING,
            _of_producer(said, queued, limits),
            numbers={
                "queue_seconds": queued,
                "batch_bytes": producer.batch_size_average_bytes,
                "request_seconds": producer.request_latency_average_seconds,
            },
        )
        return
    waiting = consumer.consumer_lag_max_records or 0
    if waiting <= limits.waiting_records:
        return
    latency = consumer.fetch_latency_average_seconds or 0
    if latency > limits.fetch_latency.total_seconds():
        size = consumer.fetch_size_average_bytes or 0
        yield Finding(
            "bottleneck.link",
            Health.WARNING,
            "Link from the source is the bottleneck: a fetch of "
            f"{size / 1000:.0f} kB takes {latency:.2g} s, and lag is "
            f"{waiting:.0f} records on a partition",
            numbers={
                "fetch_seconds": latency,
                "fetch_bytes": size,
                "lag_records": waiting,
            },
        )
        return
    yield Finding(
        "bottleneck.consumer",
        Health.WARNING,
        f"MirrorMaker's consumer is the bottleneck: lag is {waiting:.0f} "
        "records on a partition, and neither quotas nor the link nor the "
        "producer limit it. Raise tasks.max",
        numbers={"lag_records": waiting},
    )


def _of_silence(said: MirrorMetrics) -> str:
    who = said.silent[0]
    if len(said.silent) > 1:
        who += f" and {len(said.silent) - 1} more"
    if active := round(said.tasks.active_records or 0):
        return (
            f"MirrorMaker has fetched nothing for a minute ({who}), and "
            f"{counted(active, 'record')} {agree(active, 'are in flight')} "
            "to the target. Check the target brokers and the link to them"
        )
    return (
        "The source has answered no fetch of MirrorMaker for a minute "
        f"({who}). Check the source brokers and the link from them; a "
        "response must arrive within request.timeout.ms (30 s)"
    )


def _of_producer(said: MirrorMetrics, queued: float, limits: Slowness) -> str:
    producer = said.producer
    size = producer.batch_size_average_bytes or 0
    if size >= limits.full_batch:
        return (
            "MirrorMaker's producer is the bottleneck: batches are full "
            f"({size / 1000:.0f} kB on average) and wait {queued:.2g} s to "
            "be sent. Raise producer.override.batch.size or enable "
            "compression"
        )
    latency = producer.request_latency_average_seconds or 0
    return (
        "MirrorMaker's producer is the bottleneck: batches wait "
        f"{queued:.2g} s to be sent, and request latency of the target is "
        f"{latency:.2g} s. Check the target brokers and the link to them"
    )


_OFF = (
    "mirror.jmx is not configured. Set it to MirrorMaker's Jolokia agent, "
    "Prometheus exporter or JMX port to see what limits replication"
)

_BLANK = (
    "JMX metrics of this flow are missing. Check that mirror.source_alias, "
    "mirror.target_alias and mirror.connectors match MirrorMaker's, that "
    "the exporter's rules export its MBeans, and that one of its tasks runs"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class BottleneckLimits:
    """Limits of the check `bottleneck`, for MirrorMaker's JMX metrics."""

    enabled: bool = True
    """Whether the mirror's JMX is configured."""

    lost_window: ClassVar[timedelta] = timedelta(hours=1)
    """How long records that a task dropped keep the check critical. The
    default is that of lost probes. The counters keep the total."""

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

    batch_full: ClassVar[float] = 0.9
    """Share of `batch_size` from which batches are full, on average. The next
    record would rarely have fitted."""


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
        What its mirror says.
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
        yield Finding("bottleneck.off", Health.OFF, _OFF)
        return
    if seen is None:
        yield Finding(
            "bottleneck.no-data",
            Health.UNKNOWN,
            "JMX metrics have not been read yet",
        )
        return
    yield from _lost(seen, limits, now)
    for unread in seen.unread:
        yield Finding(
            "bottleneck.unreadable",
            Health.UNKNOWN,
            f"No JMX metrics from MirrorMaker: {unread.reason}",
            subject={"connection": unread.url},
        )
    if not seen.answering:
        return
    if seen.metrics.blank:
        yield Finding("bottleneck.blank", Health.UNKNOWN, _BLANK)
        return
    yield from _refused(seen, limits)
    yield from find_slowness(
        seen.metrics,
        Slowness(
            queue_time=limits.queue_time,
            fetch_latency=limits.fetch_latency,
            waiting_records=limits.waiting_records,
            full_batch=limits.batch_size * limits.batch_full,
        ),
    )
    rate = sum(
        copied.records_per_second or 0
        for copied in seen.metrics.classes.values()
    )
    yield Finding(
        "bottleneck.ok",
        Health.OK,
        f"No bottleneck: MirrorMaker copies {rate:.1f} records/s",
        numbers={"records_per_second": rate},
    )


def _lost(
    seen: MirrorObservation, limits: BottleneckLimits, now: datetime
) -> Iterator[Finding]:
    at, lately = seen.last_lost, seen.lately
    if at is None or now - at > limits.lost_window:
        return
    yield Finding(
        "bottleneck.dropped",
        Health.CRITICAL,
        f"MirrorMaker's tasks dropped {counted(lately.lost, 'record')} "
        f"({lately.not_produced} not produced, {lately.records_skipped} "
        f"skipped), most recently {seconds(now - at)} ago. MirrorMaker's log "
        "names them if errors.log.enable is on",
        numbers={
            "records": lately.lost,
            "not_produced_records": lately.not_produced,
            "skipped_records": lately.records_skipped,
            "seconds": (now - at).total_seconds(),
        },
    )


def _refused(
    seen: MirrorObservation, limits: BottleneckLimits
) -> Iterator[Finding]:
    consumer, producer = seen.metrics.consumer, seen.metrics.producer
    tasks = seen.metrics.tasks
    throttle = limits.throttle.total_seconds()
    held = consumer.fetch_throttle_max_seconds or 0
    if held > throttle:
        yield Finding(
            "bottleneck.throttled",
            Health.WARNING,
            "A quota at the source throttles MirrorMaker's fetches by up to "
            f"{held:.2g} s each. Raise consumer_byte_rate there",
            numbers={"fetch_throttle_seconds": held},
        )
    held = producer.produce_throttle_max_seconds or 0
    if held > throttle:
        yield Finding(
            "bottleneck.throttled",
            Health.WARNING,
            "A quota at the target throttles MirrorMaker's producer by up "
            f"to {held:.2g} s per request. Raise producer_byte_rate there",
            numbers={"produce_throttle_seconds": held},
        )
    if (failed := producer.errors_per_second or 0) > 0:
        yield Finding(
            "bottleneck.refused",
            Health.WARNING,
            f"MirrorMaker's producer fails to write {failed:.2g} records/s "
            "to the target (record-error-rate)",
            numbers={"failed_records_per_second": failed},
        )
    if (again := producer.retries_per_second or 0) > limits.retries_per_second:
        yield Finding(
            "bottleneck.refused",
            Health.WARNING,
            f"MirrorMaker's producer retries {again:.2g} records/s "
            "(record-retry-rate): the target does not answer, or its "
            "leaders change",
            numbers={"retried_records_per_second": again},
        )
    if (split := producer.batch_splits_per_second or 0) > 0:
        yield Finding(
            "bottleneck.too-large",
            Health.WARNING,
            f"MirrorMaker's producer splits {split:.2g} batches/s that are "
            "too large for the target. Compare max.message.bytes on both "
            "clusters",
            numbers={"split_batches_per_second": split},
        )
    if (part := tasks.offset_commit_failure_ratio or 0) > (
        limits.commit_failures
    ):
        yield Finding(
            "bottleneck.commits",
            Health.WARNING,
            f"MirrorMaker fails {part:.0%} of its offset commits. After a "
            "restart it copies uncommitted records again",
            numbers={"failed_ratio": part},
        )
    took = tasks.offset_commit_max_seconds or 0
    if took > limits.commit_time.total_seconds():
        yield Finding(
            "bottleneck.commits",
            Health.WARNING,
            f"MirrorMaker took {took:.2g} s to commit offsets. Commits fail "
            "beyond offset.flush.timeout.ms (5 s)",
            numbers={"commit_seconds": took},
        )
