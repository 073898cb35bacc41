"""Metrics of what a flow would lose with its source."""

from collections.abc import Iterator
from datetime import datetime

from ..metrics import Sample, gauge
from .check import FailoverObservation

__all__ = ["COMPLETE_UNTIL", "METRICS", "RPO_RECORDS", "RPO_SECONDS"]
__all__ += ["samples"]

RPO_RECORDS = gauge(
    "rpo_records",
    "offsets",
    "failover",
    ("flow",),
    "Source offsets that are not proved to be at the target: what a loss of "
    "the source would lose at most",
)
RPO_SECONDS = gauge(
    "rpo_seconds",
    "seconds",
    "failover",
    ("flow",),
    "Age of the oldest record not proved to be at the target, at most; 0 "
    "without any",
)
COMPLETE_UNTIL = gauge(
    "complete_until_timestamp_seconds",
    "seconds since 1970",
    "failover",
    ("flow",),
    "Time until which every replicated topic is complete at the target, as "
    "proved; absent if that is not known",
)

METRICS = (RPO_RECORDS, RPO_SECONDS, COMPLETE_UNTIL)


def samples(seen: FailoverObservation, now: datetime) -> Iterator[Sample]:
    """Yield the recovery point of a flow, as far as it is known."""
    point = seen.recovery
    if point is None:
        return
    labels = (seen.flow,)
    records = point.known_records(now)
    if records is not None:
        yield Sample(RPO_RECORDS, labels, records)
    seconds = point.seconds(now)
    if seconds is not None:
        yield Sample(RPO_SECONDS, labels, seconds)
    if point.complete_until is not None:
        yield Sample(COMPLETE_UNTIL, labels, point.complete_until.timestamp())
