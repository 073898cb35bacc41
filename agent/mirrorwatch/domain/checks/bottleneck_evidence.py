"""The figures behind the check ``bottleneck``."""

from dataclasses import asdict

from ..mirror_facts import MirrorObservation
from ..verdicts import Evidence

__all__ = ["gather"]

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
"""Figures that a person looks at first, in the order of the way of a
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
