"""Which attribute of MirrorMaker 2 is which figure, by field of its group."""

from .aggregation import highest, lowest, mean, total

__all__ = ["CHECKPOINTS", "CLASS", "CONSUMER", "IO", "PRODUCER", "TASK"]

_MS = 0.001
"""Milliseconds in seconds."""

CONSUMER = {
    "fetch_size_average_bytes": mean("fetch-size-avg", "fetch-rate"),
    "fetch_size_max_bytes": highest("fetch-size-max"),
    "fetches_per_second": total("fetch-rate"),
    "fetch_latency_average_seconds": mean(
        "fetch-latency-avg", "fetch-rate", _MS
    ),
    "fetch_latency_max_seconds": highest("fetch-latency-max", _MS),
    "fetch_throttle_average_seconds": mean(
        "fetch-throttle-time-avg", "fetch-rate", _MS
    ),
    "fetch_throttle_max_seconds": highest("fetch-throttle-time-max", _MS),
    "consumer_lag_max_records": highest("records-lag-max"),
    "consumer_lead_min_records": lowest("records-lead-min"),
    "consumed_bytes_per_second": total("bytes-consumed-rate"),
    "consumed_records_per_second": total("records-consumed-rate"),
}

PRODUCER = {
    "batch_size_average_bytes": mean("batch-size-avg", "request-rate"),
    "batch_size_max_bytes": highest("batch-size-max"),
    "requests_in_flight": total("requests-in-flight"),
    "retries_per_second": total("record-retry-rate"),
    "errors_per_second": total("record-error-rate"),
    "sends_per_second": total("record-send-rate"),
    "request_latency_average_seconds": mean(
        "request-latency-avg", "request-rate", _MS
    ),
    "request_latency_max_seconds": highest("request-latency-max", _MS),
    "record_queue_average_seconds": mean(
        "record-queue-time-avg", "request-rate", _MS
    ),
    "record_queue_max_seconds": highest("record-queue-time-max", _MS),
    "produce_throttle_average_seconds": mean(
        "produce-throttle-time-avg", "request-rate", _MS
    ),
    "produce_throttle_max_seconds": highest("produce-throttle-time-max", _MS),
    "compression_ratio": mean("compression-rate-avg", "request-rate"),
    "batch_splits_per_second": total("batch-split-rate"),
    "buffer_available_bytes": lowest("buffer-available-bytes"),
}

IO = {
    # Of the busiest client: one that has no time left holds up its task.
    "io_ratio": highest("io-ratio"),
    "io_wait_ratio": lowest("io-wait-ratio"),
}

CLASS = {
    "record_age_min_seconds": lowest("record-age-ms-min", _MS),
    "record_age_average_seconds": mean(
        "record-age-ms-avg", "record-rate", _MS
    ),
    "record_age_max_seconds": highest("record-age-ms-max", _MS),
    "replication_latency_min_seconds": lowest(
        "replication-latency-ms-min", _MS
    ),
    "replication_latency_average_seconds": mean(
        "replication-latency-ms-avg", "record-rate", _MS
    ),
    "replication_latency_max_seconds": highest(
        "replication-latency-ms-max", _MS
    ),
    "records_per_second": total("record-rate"),
    "bytes_per_second": total("byte-rate"),
}

CHECKPOINTS = {
    "checkpoint_latency_min_seconds": lowest("checkpoint-latency-ms-min", _MS),
    # Its rate is not told, so it is that of the slowest.
    "checkpoint_latency_average_seconds": highest(
        "checkpoint-latency-ms-avg", _MS
    ),
    "checkpoint_latency_max_seconds": highest(
        "checkpoint-latency-ms-max", _MS
    ),
}

TASK = {
    "offset_commit_success_ratio": lowest("offset-commit-success-percentage"),
    "offset_commit_failure_ratio": highest("offset-commit-failure-percentage"),
    "offset_commit_average_seconds": highest("offset-commit-avg-time-ms", _MS),
    "offset_commit_max_seconds": highest("offset-commit-max-time-ms", _MS),
    "active_records": total("source-record-active-count"),
}
