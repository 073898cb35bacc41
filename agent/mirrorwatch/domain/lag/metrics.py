"""Metrics of lag, by topic."""

from collections.abc import Iterator
from datetime import datetime

from ..metrics import Sample, gauge
from .model import STALE, LagObservation

__all__ = ["LAG_RECORDS", "LAG_SECONDS", "METRICS", "TIME_TO_LOSS", "samples"]


_LABELS = ("flow", "topic")

LAG_RECORDS = gauge(
    "lag_records",
    "offsets",
    "lag",
    _LABELS,
    "Replication lag: source offsets not copied yet",
)
LAG_SECONDS = gauge(
    "lag_seconds",
    "seconds",
    "lag",
    _LABELS,
    "Age of the oldest record not copied yet; 0 without lag",
)
TIME_TO_LOSS = gauge(
    "time_to_loss_seconds",
    "seconds",
    "lag",
    _LABELS,
    "Time until the oldest record not copied yet, or the next one written, "
    "expires at the source; absent if nothing expires",
)

METRICS = (LAG_RECORDS, LAG_SECONDS, TIME_TO_LOSS)


def samples(seen: LagObservation, now: datetime) -> Iterator[Sample]:
    """Yield the lag of each topic; none once it is too old to be judged."""
    if now - seen.at > STALE:
        return
    for topic in seen.topics:
        labels = (seen.flow, topic.topic)
        yield Sample(LAG_RECORDS, labels, topic.records)
        yield Sample(LAG_SECONDS, labels, topic.seconds)
        if topic.headroom is not None:
            left = topic.headroom.remaining.total_seconds()
            yield Sample(TIME_TO_LOSS, labels, left)
