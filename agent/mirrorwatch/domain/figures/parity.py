"""Figures of parity: how far both sides are from being alike."""

from collections.abc import Iterator
from datetime import datetime

from ..parity.topics import TopicsObservation
from .metric import gauge
from .sample import Sample

__all__ = ["METRICS", "MISSING_TOPICS", "PARTITION_MISMATCHES"]
__all__ += ["topic_figures"]

_LABELS = ("flow",)

MISSING_TOPICS = gauge(
    "missing_topics",
    "topics",
    "parity",
    _LABELS,
    "Topics that the target should have by now; absent while unknown",
)
PARTITION_MISMATCHES = gauge(
    "partition_mismatches",
    "topics",
    "parity",
    _LABELS,
    "Topics that should have as many partitions on both sides by now",
)

METRICS = (MISSING_TOPICS, PARTITION_MISMATCHES)


def topic_figures(seen: TopicsObservation, _: datetime) -> Iterator[Sample]:
    """Yield the figures of one flow's topics; none while they are unknown."""
    if seen.known:
        yield Sample(MISSING_TOPICS, (seen.flow,), seen.absent)
        yield Sample(PARTITION_MISMATCHES, (seen.flow,), len(seen.divided))
