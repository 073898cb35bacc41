"""Metrics of parity: how far both sides are from being alike."""

from collections.abc import Iterator
from datetime import datetime

from ..metrics import Sample, gauge
from .configs import ConfigsObservation
from .topics import TopicsObservation

__all__ = [
    "CONFIG_DRIFTS",
    "MISSING_TOPICS",
    "PARTITION_MISMATCHES",
    "configs_samples",
    "topics_samples",
]


_LABELS = ("flow",)

MISSING_TOPICS = gauge(
    "missing_topics",
    "topics",
    "parity",
    _LABELS,
    "Topics missing at the target, after the grace period; absent while "
    "unknown",
)
PARTITION_MISMATCHES = gauge(
    "partition_mismatches",
    "topics",
    "parity",
    _LABELS,
    "Topics with different partition counts, after the grace period",
)

CONFIG_DRIFTS = gauge(
    "config_drifts",
    "topic properties",
    "parity",
    _LABELS,
    "Topic configs that differ between source and target, after the grace "
    "period",
)

TOPICS_METRICS = (MISSING_TOPICS, PARTITION_MISMATCHES)
CONFIGS_METRICS = (CONFIG_DRIFTS,)


def topics_samples(seen: TopicsObservation, _: datetime) -> Iterator[Sample]:
    """Yield the samples of one flow's topics; none while they are unknown."""
    if seen.known:
        yield Sample(MISSING_TOPICS, (seen.flow,), seen.absent)
        yield Sample(PARTITION_MISMATCHES, (seen.flow,), len(seen.divided))


def configs_samples(seen: ConfigsObservation, _: datetime) -> Iterator[Sample]:
    """Yield the samples of one flow's configurations."""
    if seen.fresh:
        yield Sample(CONFIG_DRIFTS, (seen.flow,), len(seen.due))
