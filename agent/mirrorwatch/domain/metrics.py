"""Metrics: definition, values, and the name in each sink."""

from bisect import bisect_left
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import NamedTuple

__all__ = [
    "LATENCY_BUCKETS",
    "PREFIX",
    "Histogram",
    "Metric",
    "MetricType",
    "Sample",
    "counter",
    "gauge",
]


PREFIX = "mirrorwatch_"


class MetricType(StrEnum):
    """Metric type, in the words of Prometheus."""

    COUNTER = "counter"
    """Only grows."""

    GAUGE = "gauge"
    """True at one moment; absent when it is not known."""

    HISTOGRAM = "histogram"


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """Metric: its meaning and its name in each sink."""

    name: str
    """Name in Prometheus."""

    unit: str
    """Unit that is counted or measured."""

    type: MetricType
    help: str
    """Help text: the meaning of the metric, in one sentence."""

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


LATENCY_BUCKETS = (
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    300.0,
)
"""Upper bounds in seconds, from a mirror in one room (about 10 ms) over a
long-haul link (about 1 s) to a backlog of minutes. The default limits of the
latency are among them: 2 s and 5 s."""


@dataclass(slots=True)
class Histogram:
    """Counts of durations by bucket."""

    counts: list[int] = field(
        default_factory=lambda: [0] * (len(LATENCY_BUCKETS) + 1)
    )
    """Observations by bucket, not cumulative; the last is above every bound.
    A negative duration falls into the first."""

    total: timedelta = timedelta()

    def observe(self, duration: timedelta) -> None:
        """Count one duration."""
        bound = bisect_left(LATENCY_BUCKETS, duration.total_seconds())
        self.counts[bound] += 1
        self.total += duration

    def copy(self) -> "Histogram":
        """Return a histogram that does not change with this one."""
        return Histogram(list(self.counts), self.total)

    def cumulative(self) -> list[tuple[str, int]]:
        """Return ``(upper bound, count up to it)`` as Prometheus wants it."""
        bounds = [*(str(b) for b in LATENCY_BUCKETS), "+Inf"]
        running = 0
        result = []
        for bound, count in zip(bounds, self.counts, strict=True):
            running += count
            result.append((bound, running))
        return result


class Sample(NamedTuple):
    """Sample: one value of one series.

    Notes
    -----
    A tuple, because a report of a thousand topics has ten thousand of them,
    and a frozen dataclass takes twice as long to make.
    """

    metric: Metric
    labels: tuple[str, ...]
    value: float | Histogram
