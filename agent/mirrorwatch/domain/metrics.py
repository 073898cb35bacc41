"""What a metric is, and what it is called in each sink."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from .observations import Histogram

__all__ = ["PREFIX", "Metric", "MetricType", "Sample", "counter", "gauge"]


PREFIX = "mirrorwatch_"
"""Begins every name that leaves the process."""


class MetricType(StrEnum):
    """How a metric behaves over time, in the words of Prometheus."""

    COUNTER = "counter"
    """Only grows."""

    GAUGE = "gauge"
    """True at one moment; absent when it is not known."""

    HISTOGRAM = "histogram"
    """Durations. In InfluxDB each one is a point of its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """One metric: what it means and what it is called in each sink."""

    name: str
    """Name in Prometheus."""

    unit: str
    """What is counted or measured."""

    type: MetricType
    """How it behaves over time."""

    help: str
    """What it means, in one sentence."""

    labels: tuple[str, ...]
    """Labels in Prometheus, tags in InfluxDB."""

    measurement: str
    """Its subject: the measurement in InfluxDB."""

    @property
    def field(self) -> str:
        """Field in InfluxDB: the name without prefix and subject.

        Notes
        -----
        Where the name does not begin with the subject, or is the subject,
        only the prefix goes: ``health.health``, ``agent.source_up``.
        """
        name = self.name.removeprefix(PREFIX)
        return name.removeprefix(f"{self.measurement}_")


def gauge(
    name: str, unit: str, subject: str, labels: tuple[str, ...], text: str
) -> Metric:
    """Return a gauge; ``subject`` is its measurement in InfluxDB."""
    return Metric(
        name=PREFIX + name,
        unit=unit,
        type=MetricType.GAUGE,
        help=text,
        labels=labels,
        measurement=subject,
    )


def counter(
    name: str, unit: str, subject: str, labels: tuple[str, ...], text: str
) -> Metric:
    """Return a counter; its name ends in ``_total``."""
    return Metric(
        name=f"{PREFIX}{name}_total",
        unit=unit,
        type=MetricType.COUNTER,
        help=text,
        labels=labels,
        measurement=subject,
    )


class Sample(NamedTuple):
    """One value of one series.

    Notes
    -----
    A tuple, because a report of a thousand topics has ten thousand of them,
    and a frozen dataclass takes twice as long to make.
    """

    metric: Metric
    """What it is a value of."""

    labels: tuple[str, ...]
    """Values of the metric's labels, in their order."""

    value: float | Histogram
    """The value; a histogram for metrics of that type."""
