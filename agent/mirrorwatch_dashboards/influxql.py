"""InfluxQL queries for Grafana and Chronograf."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from mirrorwatch.domain.report import Health
from mirrorwatch.domain.samples import EVENTS, MAINTENANCE

from .panels import Board, Function, Query, Reading, Variable

__all__ = [
    "ANNOTATIONS",
    "GRAFANA",
    "TITLE",
    "Dialect",
    "choices",
    "now",
    "over_time",
    "table",
]


VALUE = "value"
TITLE = "title"
"""Field of an event, which is a point: the catalogue's sentence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Dialect:
    """Dialect of InfluxQL: expressions that the drawing program fills in."""

    during: str
    fresh: Callable[[Query], str]
    step: str
    measurement: Callable[[str], str]
    chosen: Callable[[Variable], str]


GRAFANA = Dialect(
    during="$timeFilter",
    # The panel looks at a short time only.
    fresh=lambda _: "$timeFilter",
    step="$__interval",
    measurement=lambda name: f'"{name}"',
    chosen=lambda variable: f'"{variable.label}" =~ /^${variable.label}$/',
)


_CHOSEN = '"flow" =~ /^$flow$/ AND $timeFilter'

ANNOTATIONS = {
    "Events": (
        Health.WARNING,
        {
            "query": f'SELECT "{TITLE}", "code", "flow" FROM'
            f' "{EVENTS.measurement}" WHERE {_CHOSEN}',
            "textColumn": TITLE,
            "tagsColumn": "code,flow",
        },
    ),
    "Maintenance": (
        Health.OFF,
        {
            "query": f'SELECT "{MAINTENANCE.field}", "flow" FROM'
            f' "{MAINTENANCE.measurement}" WHERE "{MAINTENANCE.field}" = 1'
            f" AND {_CHOSEN}",
            "tagsColumn": "flow",
        },
    ),
}
"""Annotations of Grafana by name: colour, and fields of the data source."""


def over_time(
    query: Query, board: Board, dialect: Dialect, name: str = VALUE
) -> str:
    """Return the query for a picture over time; no data is null, never 0.

    Raises
    ------
    ValueError
        Raised if the reading has a current value only.
    """
    source = _source(query, board, dialect, dialect.during)
    tail = f"{_group(query.by, dialect.step)} fill(null)"
    each = _value(query)
    match query.reading:
        case Reading.INCREASE:
            function = Function.SUM
        case Reading.GAUGE:
            each = f'{query.over_ticks}("{query.metric.field}")'
            function = query.across
            if query.over_ticks is query.across or _is_of_one_series(query):
                return f'SELECT {each} AS "{name}" {source} {tail}'
        case Reading.QUANTILE:
            return f'SELECT {each} AS "{name}" {source} {tail}'
        case Reading.AGE | Reading.EVENTS | Reading.SHARE:
            msg = f"{query.metric.name} is read for now only"
            raise ValueError(msg)
    # Nothing where there is nothing: a sum must not begin at 0.
    inner = f"{_group(query.metric.labels, dialect.step)} fill(none)"
    during = dialect.during
    return _nested(
        function,
        f'SELECT {each} AS "{name}" {source} {inner}',
        name,
        during,
        tail,
    )


def now(
    query: Query, board: Board, dialect: Dialect, name: str = VALUE
) -> str:
    """Return the query for the current value, or of the whole time shown."""
    whole = query.reading in (Reading.INCREASE, Reading.SHARE)
    during = dialect.during if whole else dialect.fresh(query)
    source = _source(query, board, dialect, during)
    each, tail = _value(query), _group(query.by)
    stepped = f"{_group(query.metric.labels, dialect.step)} fill(none)"
    match query.reading:
        case Reading.SHARE:
            rest = _value(replace(query, metric=query.rest or query.metric))
            return (
                f'SELECT sum("part") / (sum("part") + sum("rest")) AS "{name}"'
                f' FROM (SELECT {each} AS "part", {rest} AS "rest"'
                f" {source} {stepped}) WHERE {during} {tail}"
            )
        case Reading.INCREASE:
            function, inner = Function.SUM, stepped
        case Reading.GAUGE if not _is_of_one_series(query):
            function, inner = query.across, _group(query.metric.labels)
        case _:
            return f'SELECT {each} AS "{name}" {source} {tail}'.rstrip()
    series = f'SELECT {each} AS "{name}" {source} {inner}'.rstrip()
    return _nested(function, series, name, during, tail).rstrip()


def table(queries: Sequence[Query], board: Board, dialect: Dialect) -> str:
    """Return the query for a row of each series, and a column of each reading;
    or for a row of each event.

    Raises
    ------
    ValueError
        Raised if they are not of one measurement with the same labels: there
        is no join.
    """
    first = queries[0]
    if first.reading is Reading.EVENTS:
        source = _source(first, board, dialect, dialect.during)
        return f'SELECT "{TITLE}" {source} {_group(first.by)}'
    for query in queries:
        same = query.metric.measurement == first.metric.measurement
        if not (same and query.by == first.by and _is_of_one_series(query)):
            msg = f"{query.metric.name} does not fit into this table"
            raise ValueError(msg)
    columns = ", ".join(f'{_value(q)} AS "{q.label}"' for q in queries)
    source = _source(first, board, dialect, dialect.fresh(first))
    return f"SELECT {columns} {source} {_group(first.by)}"


def choices(
    variable: Variable, before: Iterable[Variable], dialect: Dialect
) -> str:
    """Return the query for the values that a variable can have."""
    origin = dialect.measurement(variable.source.measurement)
    text = f'SHOW TAG VALUES FROM {origin} WITH KEY = "{variable.label}"'
    held = " AND ".join(map(dialect.chosen, before))
    return f"{text} WHERE {held}" if held else text


def _value(query: Query) -> str:
    """Return the aggregation of one series."""
    field = query.metric.field
    match query.reading:
        case Reading.GAUGE:
            return f'last("{field}")'
        case Reading.INCREASE | Reading.EVENTS | Reading.SHARE:
            return f'non_negative_difference(last("{field}"))'
        case Reading.QUANTILE:
            return f'percentile("{field}", {(query.quantile or 0) * 100:g})'
        case Reading.AGE:
            # Grafana reckons moments in milliseconds.
            return f'max("{field}") * 1000'


def _nested(
    function: Function, series: str, name: str, during: str, tail: str
) -> str:
    return (
        f'SELECT {function}("{name}") AS "{name}" FROM ({series})'
        f" WHERE {during} {tail}"
    )


def _is_of_one_series(query: Query) -> bool:
    return {*query.metric.labels} == {*query.by, *query.where}


def _source(query: Query, board: Board, dialect: Dialect, during: str) -> str:
    conditions = [dialect.chosen(v) for v in board.chosen(query.metric)]
    conditions += [
        f"\"{key}\" = '{value}'" for key, value in query.where.items()
    ]
    if query.minimum is not None:
        conditions.append(f'"{query.metric.field}" >= {query.minimum:g}')
    name = dialect.measurement(query.metric.measurement)
    return f"FROM {name} WHERE {' AND '.join([*conditions, during])}"


def _group(labels: Iterable[str], step: str | None = None) -> str:
    groups = [f"time({step})"] if step else []
    groups += [f'"{label}"' for label in labels]
    return f"GROUP BY {', '.join(groups)}" if groups else ""
