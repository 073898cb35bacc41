"""Where records wait: at the link, in the producer, or in the consumer."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from ..mirror_facts import MirrorMetrics
from ..verdicts import Health
from ..words import agree, counted
from .finding import Finding

__all__ = ["Slowness", "find_slowness"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Slowness:
    """From when something is slow."""

    queue_time: timedelta
    """How long batches may wait to be sent, on average."""

    fetch_latency: timedelta
    """How long fetches may take, on average, while records wait."""

    waiting_records: int
    """Records that may wait on a partition."""

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
        yield Finding(Health.WARNING, _of_silence(said))
        return
    queued = producer.record_queue_average_seconds or 0
    if queued > limits.queue_time.total_seconds():
        yield Finding(Health.WARNING, _of_producer(said, queued, limits))
        return
    waiting = consumer.consumer_lag_max_records or 0
    if waiting <= limits.waiting_records:
        return
    latency = consumer.fetch_latency_average_seconds or 0
    if latency > limits.fetch_latency.total_seconds():
        size = consumer.fetch_size_average_bytes or 0
        yield Finding(
            Health.WARNING,
            f"The link from the source holds the mirror up: a fetch of "
            f"{size / 1000:.0f} kB takes {latency:.2g} s, and {waiting:.0f} "
            "records of a partition wait there",
        )
        return
    yield Finding(
        Health.WARNING,
        f"The mirror's consumer is {waiting:.0f} records behind on a "
        "partition, and neither a quota nor the link nor the producer holds "
        "it up: give the mirror more tasks (tasks.max)",
    )


def _of_silence(said: MirrorMetrics) -> str:
    who = said.silent[0]
    if len(said.silent) > 1:
        who += f" and {len(said.silent) - 1} more"
    if active := round(said.tasks.active_records or 0):
        return (
            f"The mirror has read nothing for a minute ({who}), and "
            f"{counted(active, 'record')} that it read "
            f"{agree(active, 'are not written')}: look at the target's "
            "brokers and the link to them"
        )
    return (
        f"The source has answered no fetch of the mirror for a minute "
        f"({who}): look at the source's brokers and the link from them; an "
        "answer must arrive within request.timeout.ms (30 s)"
    )


def _of_producer(said: MirrorMetrics, queued: float, limits: Slowness) -> str:
    producer = said.producer
    size = producer.batch_size_average_bytes or 0
    if size >= limits.full_batch:
        return (
            f"The mirror's producer holds it up: batches are full "
            f"({size / 1000:.0f} kB on average) and wait {queued:.2g} s to "
            "be sent: raise producer.override.batch.size, or compress"
        )
    latency = producer.request_latency_average_seconds or 0
    return (
        f"The mirror's producer holds it up: batches wait {queued:.2g} s to "
        f"be sent, and the target answers in {latency:.2g} s: look at the "
        "target's brokers and the link to them"
    )
