"""Metric of lost records, by topic."""

from collections.abc import Iterator

from ..metrics import Sample, counter
from .model import LossesObservation

__all__ = ["LOST", "METRICS", "samples"]

LOST = counter(
    "lost_records",
    "records",
    "losses",
    ("flow", "topic"),
    "Source records proved to be lost for good: skipped by the mirror, or "
    "expired before they were copied (counted once it resumes)",
)

METRICS = (LOST,)


def samples(seen: LossesObservation) -> Iterator[Sample]:
    """Yield the counter of each topic."""
    for topic, records in sorted(seen.counters.items()):
        yield Sample(LOST, (seen.flow, topic), records)
