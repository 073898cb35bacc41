"""Metrics of positions that were lost, by topic."""

from collections.abc import Iterator
from datetime import datetime

from ..metrics import Sample, counter
from .model import PositionObservation

__all__ = ["METRICS", "RESETS", "samples"]


RESETS = counter(
    "position_resets",
    "resets",
    "skips",
    ("flow", "topic"),
    "Position resets: positions that were lost, or rewound so that records "
    "are copied again",
)

METRICS = (RESETS,)


def samples(seen: PositionObservation, now: datetime) -> Iterator[Sample]:
    """Yield the resets of each topic."""
    del now  # a counter has no age
    for topic, resets in sorted(seen.counts.items()):
        yield Sample(RESETS, (seen.flow, topic), resets)
