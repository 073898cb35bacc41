"""What a panel reads: a metric, and what becomes of its many series."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ..domain.catalogue import Metric, MetricType

__all__ = ["Age", "Function", "Gauge", "Increase", "Quantile", "Reading"]


class Function(StrEnum):
    """What makes one value of many: a word of all three query languages."""

    MAX = "max"
    MEAN = "mean"
    MIN = "min"
    SUM = "sum"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reading:
    metric: Metric
    """What is read."""

    by: tuple[str, ...] = ("flow",)
    """Labels that tell the lines apart; over all others is summed up."""

    where: Mapping[str, str] = field(default_factory=dict)
    """Labels of which only one value is wanted."""

    def __post_init__(self) -> None:
        if strange := {*self.by, *self.where} - {*self.metric.labels}:
            msg = f"{self.metric.name} has no label {', '.join(strange)}"
            raise ValueError(msg)
        if self.metric.type not in self.types():
            msg = f"{self.metric.name} is a {self.metric.type}"
            raise ValueError(msg)

    @classmethod
    def types(cls) -> tuple[MetricType, ...]:
        """Return the types of metrics that can be read so."""
        return (MetricType.GAUGE,)


@dataclass(frozen=True, kw_only=True, slots=True)
class Gauge(_Reading):
    """What is true now, or how it went."""

    over: Function = Function.MAX
    """What stands for the ticks between two points of a picture. The worst
    of them: what lasted for one tick is seen in a picture of a month."""

    across: Function = Function.MAX
    """What stands for the series that are not told apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Increase(_Reading):
    """By how much counters grew, all that are not told apart together."""

    @classmethod
    def types(cls) -> tuple[MetricType, ...]:
        return (MetricType.COUNTER,)


@dataclass(frozen=True, kw_only=True, slots=True)
class Quantile(_Reading):
    """A quantile of durations, over all that are not told apart.

    Notes
    -----
    InfluxDB has each duration and answers exactly. Prometheus has buckets and
    answers within one.
    """

    q: float
    """Which, from 0 to 1."""

    @classmethod
    def types(cls) -> tuple[MetricType, ...]:
        return (MetricType.HISTOGRAM,)


@dataclass(frozen=True, kw_only=True, slots=True)
class Age(_Reading):
    """How long ago the newest of some moments is."""


Reading = Gauge | Increase | Quantile | Age
