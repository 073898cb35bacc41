"""Metric of lost records, by topic."""

from collections.abc import Iterator

from ..metrics import Sample, counter
from .model import LossesObservation

__all__ = ["LOST", "METRICS", "samples"]

LOST = counter(
    "lost_records",
    "records",
    "losses",
    ("flow", "topic", "kind"),
    "Source records proved to be lost for good: dropped by the mirror, or "
    "expired before they were copied (counted once it resumes)",
)

METRICS = (LOST,)


def samples(seen: LossesObservation) -> Iterator[Sample]:
    """Yield the counters of each topic."""
    for topic, lost in sorted(seen.counters.items()):
        yield Sample(LOST, (seen.flow, topic, "dropped"), lost.dropped)
        yield Sample(LOST, (seen.flow, topic, "expired"), lost.expired)
