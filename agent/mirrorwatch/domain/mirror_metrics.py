"""The figures that a mirror gives of itself. They explain; they never prove.

Every figure is of a window (the last half minute to a minute) where the
mirror has one, so it is absent when nothing happened in it, and never frozen.
"""

from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "ClassMetrics",
    "ConsumerMetrics",
    "IoMetrics",
    "ProducerMetrics",
    "TaskMetrics",
]


def _figure(unit: str, text: str) -> Any:
    """Return a field that is absent by default, and what it means."""
    return field(default=None, metadata={"unit": unit, "help": text})


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsumerMetrics:
    """The mirror's consumers, which read from the source."""

    fetch_size_average_bytes: float | None = _figure(
        "bytes", "Data in one fetch from the source, on average"
    )
    fetch_size_max_bytes: float | None = _figure(
        "bytes", "Data in the largest fetch from the source"
    )
    fetches_per_second: float | None = _figure(
        "fetches per second", "Fetches from the source"
    )
    fetch_latency_average_seconds: float | None = _figure(
        "seconds", "A fetch from the source, on average; 0.5 when idle"
    )
    fetch_latency_max_seconds: float | None = _figure(
        "seconds", "The slowest fetch from the source"
    )
    fetch_throttle_average_seconds: float | None = _figure(
        "seconds", "How long a quota of the source held fetches, on average"
    )
    fetch_throttle_max_seconds: float | None = _figure(
        "seconds", "How long a quota of the source held a fetch at most"
    )
    consumer_lag_max_records: float | None = _figure(
        "records", "The mirror's own largest lag on a partition"
    )
    consumer_lead_min_records: float | None = _figure(
        "records", "Smallest distance to the start of a partition: 0 is loss"
    )
    consumed_bytes_per_second: float | None = _figure(
        "bytes per second", "Data read from the source"
    )
    consumed_records_per_second: float | None = _figure(
        "records per second", "Records read from the source"
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ProducerMetrics:
    """The mirror's producers, which write to the target."""

    batch_size_average_bytes: float | None = _figure(
        "bytes", "Size of a batch for one partition, on average"
    )
    batch_size_max_bytes: float | None = _figure(
        "bytes", "Size of the largest batch for one partition"
    )
    requests_in_flight: float | None = _figure(
        "requests", "Requests that the target has not answered"
    )
    retries_per_second: float | None = _figure(
        "records per second", "Records sent again to the target"
    )
    errors_per_second: float | None = _figure(
        "records per second", "Records that could not be written"
    )
    sends_per_second: float | None = _figure(
        "records per second", "Records sent to the target"
    )
    request_latency_average_seconds: float | None = _figure(
        "seconds", "An answer of the target, on average"
    )
    request_latency_max_seconds: float | None = _figure(
        "seconds", "The slowest answer of the target"
    )
    record_queue_average_seconds: float | None = _figure(
        "seconds", "How long a batch waits to be sent, on average"
    )
    record_queue_max_seconds: float | None = _figure(
        "seconds", "How long a batch waited to be sent at most"
    )
    produce_throttle_average_seconds: float | None = _figure(
        "seconds", "How long a quota of the target held requests, on average"
    )
    produce_throttle_max_seconds: float | None = _figure(
        "seconds", "How long a quota of the target held a request at most"
    )
    compression_ratio: float | None = _figure(
        "ratio", "Size of batches after compression by size before"
    )
    batch_splits_per_second: float | None = _figure(
        "batches per second", "Batches that the target found too large"
    )
    buffer_available_bytes: float | None = _figure(
        "bytes", "Room left for records that wait to be sent, the least"
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class IoMetrics:
    """How busy the network threads of the mirror's clients are."""

    io_ratio: float | None = _figure(
        "ratio", "Part of the time that the busiest client spends on I/O"
    )
    io_wait_ratio: float | None = _figure(
        "ratio", "Part of the time that the busiest client waits for I/O"
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassMetrics:
    """What is copied, of one class of topics."""

    record_age_min_seconds: float | None = _figure(
        "seconds", "Age of the youngest record when it was read"
    )
    record_age_average_seconds: float | None = _figure(
        "seconds", "Age of records when they are read, on average"
    )
    record_age_max_seconds: float | None = _figure(
        "seconds", "Age of the oldest record when it was read"
    )
    replication_latency_min_seconds: float | None = _figure(
        "seconds", "Age of the youngest record when it was written"
    )
    replication_latency_average_seconds: float | None = _figure(
        "seconds", "Age of records when they are written, on average"
    )
    replication_latency_max_seconds: float | None = _figure(
        "seconds", "Age of the oldest record when it was written"
    )
    records_per_second: float | None = _figure(
        "records per second", "Records copied"
    )
    bytes_per_second: float | None = _figure(
        "bytes per second", "Values copied, without keys and headers"
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskMetrics:
    """The tasks of Connect in which the mirror runs."""

    checkpoint_latency_min_seconds: float | None = _figure(
        "seconds", "Quickest checkpoint of a consumer group"
    )
    checkpoint_latency_average_seconds: float | None = _figure(
        "seconds", "A checkpoint of a consumer group, on average"
    )
    checkpoint_latency_max_seconds: float | None = _figure(
        "seconds", "Slowest checkpoint of a consumer group"
    )
    offset_commit_success_ratio: float | None = _figure(
        "ratio", "Commits of positions that succeed, of the worst task"
    )
    offset_commit_failure_ratio: float | None = _figure(
        "ratio", "Commits of positions that fail, of the worst task"
    )
    offset_commit_average_seconds: float | None = _figure(
        "seconds", "A commit of positions, on average, of the worst task"
    )
    offset_commit_max_seconds: float | None = _figure(
        "seconds", "The slowest commit of positions"
    )
    active_records: float | None = _figure(
        "records", "Records read from the source and not yet written"
    )
