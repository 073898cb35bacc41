"""One figure of a report."""

from dataclasses import dataclass

from ..histogram import Histogram
from .metric import Metric

__all__ = ["Sample"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One figure."""

    metric: Metric
    """What it is a figure of."""

    labels: tuple[str, ...]
    """Values of the metric's labels, in their order."""

    value: float | Histogram
    """The figure; a histogram for metrics of that type."""
