"""Dashboard model, whatever renders it: panels, variables, layout."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum, StrEnum, auto
from math import ceil

from mirrorwatch.domain.bottleneck import metrics as mirror
from mirrorwatch.domain.bottleneck.model import ClassMetrics
from mirrorwatch.domain.lag import metrics as lag
from mirrorwatch.domain.metrics import Metric, MetricType
from mirrorwatch.domain.report import Health
from mirrorwatch.domain.samples import HEALTH

__all__ = [
    "CLASS",
    "COLOURS",
    "COLUMNS",
    "FLOW",
    "FRESH",
    "MONTH",
    "TOPIC",
    "Age",
    "Board",
    "Function",
    "Gauge",
    "Increase",
    "Limits",
    "Panel",
    "PanelPosition",
    "PanelRow",
    "Picture",
    "Quantile",
    "Query",
    "Reading",
    "Share",
    "Unit",
    "Variable",
    "arrange",
]


COLOURS = {
    Health.OFF: "#8e8e8e",
    Health.OK: "#299c46",
    Health.UNKNOWN: "#8f3bb8",
    Health.WARNING: "#ff9830",
    Health.CRITICAL: "#e02f44",
}
"""Grey, green, violet, orange, red: distinct in light and dark. Unknown is
never green."""

COLUMNS = 24


class Function(StrEnum):
    """Aggregate function: a word of all three query languages."""

    MAX = "max"
    MEAN = "mean"
    MIN = "min"
    SUM = "sum"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reading:
    metric: Metric
    by: tuple[str, ...] = ("flow",)
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
    """Gauge reading: its current value, or its history."""

    over: Function = Function.MAX
    """Aggregation of the ticks between two points of a picture. The worst of
    them: what lasted for one tick is seen in a picture of a month."""

    across: Function = Function.MAX
    """Aggregation of the series that are not distinguished."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Increase(_Reading):
    """By how much counters grew, all that are not distinguished, together."""

    @classmethod
    def types(cls) -> tuple[MetricType, ...]:
        return (MetricType.COUNTER,)


@dataclass(frozen=True, kw_only=True, slots=True)
class Quantile(_Reading):
    """A quantile of durations, over all that are not distinguished.

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
    """Age of the newest of some timestamps."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Share(_Reading):
    """The share of one counter in the sum of two, over 30 days."""

    rest: Metric

    @classmethod
    def types(cls) -> tuple[MetricType, ...]:
        return (MetricType.COUNTER,)


Reading = Gauge | Increase | Share | Quantile | Age


MONTH = "30d"

FRESH = timedelta(minutes=2)
"""Maximum age of a figure that is shown as current: longer than three ticks of
any usual agent, and short enough that a dead one is seen. Older ones are shown
as no data."""


class Unit(StrEnum):
    """Unit of a value, in words that follow a number."""

    BYTES = "bytes"
    BYTES_PER_SECOND = "bytes/s"
    COUNT = ""
    FAULT = "fault"
    FLAG = "yes or no"
    HEALTH = "health"
    MOMENT = "ago"
    PER_SECOND = "per second"
    RATIO = "ratio"
    SECONDS = "s"


class Picture(Enum):
    """Chart type of a panel."""

    BARS = auto()
    """Events: nothing joins one stretch of time to the next."""

    LINES = auto()

    NUMBER = auto()

    STATES = auto()

    TABLE = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """From which value on something is a warning or critical."""

    warning: float | None = None
    critical: float | None = None

    below: bool = False
    """Small values are the bad ones."""

    @property
    def steps(self) -> tuple[tuple[float | None, Health], ...]:
        """Health from each value upwards; the first has no beginning."""
        marks = [
            (at, health)
            for at, health in (
                (self.warning, Health.WARNING),
                (self.critical, Health.CRITICAL),
            )
            if at is not None
        ]
        if not self.below:
            return ((None, Health.OK), *marks)
        # Each colour ends where the next milder one begins.
        milder = [Health.OK, *(health for _, health in marks)]
        rising = zip((at for at, _ in marks), milder, strict=False)
        return ((None, milder[-1]), *reversed(list(rising)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """Query of a panel: a reading and its label."""

    reading: Reading

    label: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """Panel of a dashboard: a question, and the picture that answers it."""

    title: str
    description: str
    """Explanation for someone who sees the panel for the first time."""

    picture: Picture
    queries: tuple[Query, ...]
    unit: Unit = Unit.COUNT
    limits: Limits | None = None

    check: str | None = None
    width: int = 12
    """Of 24 columns."""

    height: int = 7
    """In rows of a grid, as high as in Grafana (38 pixels)."""

    @property
    def steps(self) -> tuple[tuple[float | None, Health], ...]:
        """Health from each value upwards; the first has no beginning.

        Notes
        -----
        That no event was counted is no good news by itself: an agent that is
        gone counts none. So it is never green.
        """
        if self.limits is None:
            return ()
        (_, best), *worse = self.limits.steps
        counted = any(isinstance(q.reading, Increase) for q in self.queries)
        if counted and best is Health.OK:
            best = Health.OFF
        return ((None, best), *worse)


@dataclass(frozen=True, kw_only=True, slots=True)
class Variable:
    """A selection at the top of a dashboard."""

    label: str
    source: Metric
    all: bool = True


FLOW = Variable(label="flow", source=HEALTH)

TOPIC = Variable(label="topic", source=lag.LAG_RECORDS, all=False)
"""A panel of a thousand lines cannot be read, so not all of them."""

CLASS = Variable(
    label="class",
    source=mirror.GAUGES[ClassMetrics]["records_per_second"],
)


@dataclass(frozen=True, kw_only=True, slots=True)
class PanelRow:
    """Panels that are shown and hidden together."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Board:
    """A dashboard."""

    name: str
    title: str
    description: str
    variables: tuple[Variable, ...]
    first: tuple[Panel, ...]
    """Panels that are seen at first."""

    rows: tuple[PanelRow, ...] = ()
    """Rows below, each folded until it is wanted."""

    hours: int = 6
    """Time range at first, in hours."""

    refresh: str = "30s"
    """Refresh interval: no shorter than the tick of most agents."""

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All panels, in reading order."""
        return (*self.first, *(p for row in self.rows for p in row.panels))

    def chosen(self, metric: Metric) -> tuple[Variable, ...]:
        """Return the variables that apply to a metric."""
        return tuple(v for v in self.variables if v.label in metric.labels)


@dataclass(frozen=True, kw_only=True, slots=True)
class PanelPosition:
    """Position and size of one panel, in cells of the grid."""

    x: int
    y: int
    width: int
    height: int


def arrange(
    panels: Sequence[Panel], *, cell: int = 1
) -> Iterator[tuple[Panel, PanelPosition]]:
    """Yield panels with their positions: rows from left to right.

    Parameters
    ----------
    panels
        In reading order.
    cell
        Size of one cell of the grid, in columns and rows.
    """
    x = y = tallest = 0
    for panel in panels:
        width, height = panel.width // cell, ceil(panel.height / cell)
        if x + width > COLUMNS // cell:
            x, y, tallest = 0, y + tallest, 0
        yield panel, PanelPosition(x=x, y=y, width=width, height=height)
        x += width
        tallest = max(tallest, height)
