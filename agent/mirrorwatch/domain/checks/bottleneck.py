"""The check ``bottleneck``: what holds the mirror up, as it says itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..mirror_facts import MirrorObservation
from ..verdicts import Evidence, Health, Verdict
from ..words import counted
from .bottleneck_evidence import gather
from .finding import Finding, conclude, seconds
from .slowness import Slowness, find_slowness

__all__ = ["BottleneckLimits", "judge_bottleneck"]

_OFF = (
    "mirror.jmx is not configured: give it the mirror's Jolokia agent, "
    "Prometheus exporter or JMX port, and this check says what holds the "
    "mirror up"
)

_BLANK = (
    "The mirror answers, but says nothing of this flow: mirror.source_alias, "
    "mirror.target_alias and mirror.connectors must be the mirror's own, an "
    "exporter's rules must export its MBeans, and a task of it must run"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class BottleneckLimits:
    """Limits of the check. The configuration gives their reasons."""

    enabled: bool = True
    """Whether the mirror's own figures are configured."""

    lost_window: timedelta = timedelta(hours=1)
    """How long records given up keep it critical."""

    throttle: timedelta = timedelta(milliseconds=100)
    """Longest that a quota may hold a request."""

    retries_per_second: float = 0.1
    """Records sent again that are a warning."""

    commit_failures: float = 0.1
    """Part of the commits that may fail."""

    commit_time: timedelta = timedelta(seconds=4)
    """How long a commit may take."""

    queue_time: timedelta = timedelta(seconds=1)
    """How long batches may wait to be sent, on average."""

    fetch_latency: timedelta = timedelta(seconds=2)
    """How long fetches may take, on average, while records wait."""

    waiting_records: int = 10_000
    """Records that may wait on a partition."""

    batch_size: int = 16_384
    """The mirror's ``batch.size``."""

    batch_full: float = 0.9
    """Part of it from which batches are full, on average."""


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
        evidence=_evidence(seen),
    )


def _evidence(seen: MirrorObservation | None) -> Evidence:
    return {} if seen is None else gather(seen)


def _find(
    seen: MirrorObservation | None, limits: BottleneckLimits, now: datetime
) -> Iterator[Finding]:
    if not limits.enabled:
        yield Finding(Health.OFF, _OFF)
        return
    if seen is None:
        yield Finding(Health.UNKNOWN, "The mirror was not asked yet")
        return
    yield from _lost(seen, limits, now)
    for unread in seen.unread:
        yield Finding(
            Health.UNKNOWN,
            f"Figures of the mirror do not arrive: {unread.reason}",
        )
    if not seen.answering:
        return
    if seen.metrics.blank:
        yield Finding(Health.UNKNOWN, _BLANK)
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
        Health.OK,
        f"Nothing holds the mirror up; it copies {rate:.1f} records a second",
    )


def _lost(
    seen: MirrorObservation, limits: BottleneckLimits, now: datetime
) -> Iterator[Finding]:
    at, lately = seen.last_lost, seen.lately
    if at is None or now - at > limits.lost_window:
        return
    yield Finding(
        Health.CRITICAL,
        f"The mirror's tasks gave up {counted(lately.lost, 'record')} "
        f"({lately.record_failures} failed, {lately.records_skipped} "
        f"skipped), the last ones {seconds(now - at)} ago: they will not "
        "arrive; the mirror's log says which, if errors.log.enable is on",
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
            Health.WARNING,
            f"A quota of the source holds the mirror's fetches, up to "
            f"{held:.2g} s each: raise consumer_byte_rate there",
        )
    held = producer.produce_throttle_max_seconds or 0
    if held > throttle:
        yield Finding(
            Health.WARNING,
            f"A quota of the target holds the mirror's producer, up to "
            f"{held:.2g} s a request: raise producer_byte_rate there",
        )
    if (failed := producer.errors_per_second or 0) > 0:
        yield Finding(
            Health.WARNING,
            f"The mirror's producer gives up {failed:.2g} records a second "
            "that the target does not take",
        )
    if (again := producer.retries_per_second or 0) > limits.retries_per_second:
        yield Finding(
            Health.WARNING,
            f"The mirror's producer sends {again:.2g} records a second "
            "again: the target does not answer, or changes leaders",
        )
    if (split := producer.batch_splits_per_second or 0) > 0:
        yield Finding(
            Health.WARNING,
            f"The target finds batches of the mirror's producer too large "
            f"({split:.2g} a second): compare max.message.bytes of both sides",
        )
    if (part := tasks.offset_commit_failure_ratio or 0) > (
        limits.commit_failures
    ):
        yield Finding(
            Health.WARNING,
            f"The mirror fails to commit {part:.0%} of its positions: after "
            "a restart it would copy again what it does not remember",
        )
    took = tasks.offset_commit_max_seconds or 0
    if took > limits.commit_time.total_seconds():
        yield Finding(
            Health.WARNING,
            f"The mirror took {took:.2g} s to commit positions: beyond "
            "offset.flush.timeout.ms (5 s) it gives up",
        )
