"""Dashboard model, whatever renders it: panels, variables, layout."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum, StrEnum, auto
from functools import partial
from math import ceil

from mirrorwatch.domain.bottleneck import metrics as mirror
from mirrorwatch.domain.bottleneck.model import ClassMetrics
from mirrorwatch.domain.checks import CHECKS
from mirrorwatch.domain.lag import metrics as lag
from mirrorwatch.domain.metrics import Metric, MetricType
from mirrorwatch.domain.report import Health
from mirrorwatch.domain.samples import (
    EVENTS,
    FLOW_CAUSE,
    FLOW_INFO,
    HEALTH,
)

__all__ = [
    "CLASS",
    "COLOURS",
    "COLUMNS",
    "FLOW",
    "FRESH",
    "MONTH",
    "PAGE",
    "QUANTILE_WINDOW",
    "TOPIC",
    "WORDS",
    "Board",
    "Function",
    "Limits",
    "Panel",
    "PanelPosition",
    "PanelRow",
    "Picture",
    "Query",
    "Reading",
    "Unit",
    "Variable",
    "arrange",
    "bars",
    "lines",
    "number",
    "states",
    "table",
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
    """Aggregation of many values: a word of both query languages."""

    MAX = "max"
    MEAN = "mean"
    MIN = "min"
    SUM = "sum"


class Reading(Enum):
    """Form in which a query reads its metric."""

    GAUGE = auto()

    INCREASE = auto()
    """Growth of a counter."""

    QUANTILE = auto()
    """Quantile of durations: exact in InfluxDB, within a bucket in
    Prometheus."""

    AGE = auto()
    """Age of the newest of some timestamps."""

    SHARE = auto()
    """Share of one counter in the sum of two, over 30 days."""

    EVENTS = auto()
    """List of events: with their titles in InfluxDB, by code in Prometheus."""


class Unit(StrEnum):
    """Unit of a panel's values, in words that follow a number."""

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


_UNITS = {
    "0 or 1": Unit.FLAG,
    "batches per second": Unit.PER_SECOND,
    "bytes": Unit.BYTES,
    "bytes per second": Unit.BYTES_PER_SECOND,
    "fetches per second": Unit.PER_SECOND,
    "health": Unit.HEALTH,
    "ratio": Unit.RATIO,
    "records per second": Unit.PER_SECOND,
    "seconds": Unit.SECONDS,
    "seconds since 1970": Unit.MOMENT,
}
"""Units by those of metrics; a count if there is none."""

_RATES = {unit for unit in _UNITS if unit.endswith(" per second")}

WORDS: Mapping[Unit, Mapping[int, tuple[str, Health | None]]] = {
    Unit.HEALTH: {h.value: (h.label, h) for h in Health},
    Unit.FAULT: {
        0: ("not named", Health.OFF),
        **{h.value: (h.label, h) for h in (Health.WARNING, Health.CRITICAL)},
    },
    Unit.FLAG: {0: ("no", None), 1: ("yes", None)},
}
"""Words of values, and their colours if those do not come from limits."""

MONTH = "30d"
QUANTILE_WINDOW = "5m"

FRESH = timedelta(minutes=2)
"""Greatest age of a current value: longer than three ticks of any usual
agent, and short enough that a dead one is seen."""

_CHECKS = {
    metric.name: name
    for name, check in CHECKS.items()
    for metric in check.metrics
}


@dataclass(frozen=True, slots=True)
class Query:
    """Query of a panel: one metric, and its aggregation."""

    metric: Metric
    label: str = ""
    by: tuple[str, ...] = ("flow",)
    where: Mapping[str, str] = field(default_factory=dict)
    """Labels of which only one value is wanted."""

    over: Function | None = None
    """Aggregation of a gauge over the ticks between two points; `None` for
    that of its kind (`over_ticks`)."""

    across: Function = Function.MAX
    """Aggregation of a gauge across series that are not distinguished."""

    quantile: float | None = None
    """Quantile of a histogram, from 0 to 1."""

    rest: Metric | None = None
    """Counter of all others, for a share."""

    minimum: float | None = None
    """Lowest value of a gauge that is shown."""

    def __post_init__(self) -> None:
        name = self.metric.name
        if unknown := {*self.by, *self.where} - {*self.metric.labels}:
            msg = f"{name} has no label {', '.join(unknown)}"
            raise ValueError(msg)
        is_histogram = self.metric.type is MetricType.HISTOGRAM
        is_counter = self.metric.type is MetricType.COUNTER
        if is_histogram is (self.quantile is None) or (
            self.rest is not None and not is_counter
        ):
            msg = f"{name} is a {self.metric.type}"
            raise ValueError(msg)

    @property
    def reading(self) -> Reading:
        """Form in which the metric is read, by its type and unit."""
        if self.rest is not None:
            return Reading.SHARE
        if self.metric is EVENTS:
            return Reading.EVENTS
        if self.metric.type is MetricType.COUNTER:
            return Reading.INCREASE
        if self.metric.type is MetricType.HISTOGRAM:
            return Reading.QUANTILE
        if _UNITS.get(self.metric.unit) is Unit.MOMENT:
            return Reading.AGE
        return Reading.GAUGE

    @property
    def over_ticks(self) -> Function:
        """Aggregation of a gauge over the ticks between two points.

        Notes
        -----
        Of rates and averages the mean; of others the worst, so that one tick
        is seen in a picture of a month.
        """
        if self.over is not None:
            return self.over
        if "_average_" in self.metric.name or self.metric.unit in _RATES:
            return Function.MEAN
        return Function.MIN if "_min_" in self.metric.name else Function.MAX


class Picture(Enum):
    """Visualisation of a panel."""

    BARS = auto()
    LINES = auto()
    NUMBER = auto()
    STATES = auto()
    TABLE = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Limits from which a value is a warning or critical."""

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
class Panel:
    """Panel of a dashboard: a question, and the picture that answers it."""

    title: str
    note: str
    """Explanation beyond the help of the metrics."""

    picture: Picture
    queries: tuple[Query, ...]
    limits: Limits | None
    check: str | None
    """Section of the runbook."""

    width: int
    """Of 24 columns."""

    height: int
    """In rows of a grid, as high as in Grafana (38 pixels)."""

    @property
    def description(self) -> str:
        """Help of the metrics, then the note: for someone who sees the panel
        for the first time.

        Notes
        -----
        The help of a metric does not fit one of its labels only.
        """
        helps = {q.metric.help: q.label for q in self.queries if not q.where}
        parts = [f"{text}." for text in helps]
        if len(helps) > 1:
            items = (f"- {label}: {text}." for text, label in helps.items())
            return "\n".join([*items, "", self.note]).rstrip()
        is_number = self.picture is Picture.NUMBER
        if is_number and self.reading is Reading.INCREASE:
            parts.append("In the selected time range.")
        return " ".join(filter(None, [*parts, self.note]))

    @property
    def reading(self) -> Reading:
        """Form of its first query."""
        return self.queries[0].reading

    @property
    def unit(self) -> Unit:
        """Unit of its values; columns of a table have their own."""
        metric = self.queries[0].metric
        if self.picture is Picture.TABLE:
            return Unit.COUNT
        if metric is FLOW_CAUSE:
            return Unit.FAULT
        if self.reading is Reading.SHARE:
            return Unit.RATIO
        return _UNITS.get(metric.unit, Unit.COUNT)

    @property
    def axis(self) -> str:
        """Axis label: the names of the things counted, or nothing where the
        unit says it.
        """
        if self.unit not in (Unit.COUNT, Unit.PER_SECOND):
            return ""
        return ", ".join(dict.fromkeys(q.metric.unit for q in self.queries))

    @property
    def steps(self) -> tuple[tuple[float | None, Health], ...]:
        """Health from each value upwards; the first has no beginning.

        Notes
        -----
        A count of 0 is grey: an agent that is gone counts nothing.
        """
        if self.limits is None:
            return ()
        (_, best), *worse = self.limits.steps
        if self.unit is Unit.COUNT and best is Health.OK:
            best = Health.OFF
        return ((None, best), *worse)


def _panel(
    picture: Picture,
    title: str,
    *queries: Query,
    note: str = "",
    limits: Limits | None = None,
    check: str | None = None,
    width: int = 12,
    height: int = 7,
) -> Panel:
    return Panel(
        title=title,
        note=note,
        picture=picture,
        queries=queries,
        limits=limits,
        check=check or _CHECKS.get(queries[0].metric.name),
        width=width,
        height=height,
    )


lines = partial(_panel, Picture.LINES)
bars = partial(_panel, Picture.BARS)
number = partial(_panel, Picture.NUMBER, width=4, height=4)
states = partial(_panel, Picture.STATES)
table = partial(_panel, Picture.TABLE, width=COLUMNS, height=9)


@dataclass(frozen=True, kw_only=True, slots=True)
class Variable:
    """Selection at the top of a dashboard."""

    label: str
    source: Metric
    all: bool = True


FLOW = Variable(label="flow", source=HEALTH)

TOPIC = Variable(label="topic", source=lag.LAG_RECORDS, all=False)
"""Selection of topics, never all: a panel of a thousand lines cannot be
read."""

CLASS = Variable(
    label="class",
    source=mirror.GAUGES[ClassMetrics]["records_per_second"],
)

PAGE = Variable(label="page", source=FLOW_INFO, all=False)
"""Address of the agent's page, to which links lead. Hidden."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PanelRow:
    """Panels that are shown and hidden together."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Board:
    """Dashboard of panels, before any program's form."""

    name: str
    title: str
    description: str
    variables: tuple[Variable, ...]
    first: tuple[Panel, ...]
    """Panels above the rows."""

    rows: tuple[PanelRow, ...] = ()
    """Rows below, each folded until it is opened."""

    hours: int = 6
    """Time range at first."""

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
