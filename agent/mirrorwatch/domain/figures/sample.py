"""One figure of a report."""

from typing import NamedTuple

from ..histogram import Histogram
from .metric import Metric

__all__ = ["Sample"]


class Sample(NamedTuple):
    """One figure.

    Notes
    -----
    A tuple, because a report of a thousand topics has ten thousand of them,
    and a frozen dataclass takes twice as long to make.
    """

    metric: Metric
    """What it is a figure of."""

    labels: tuple[str, ...]
    """Values of the metric's labels, in their order."""

    value: float | Histogram
    """The figure; a histogram for metrics of that type."""
