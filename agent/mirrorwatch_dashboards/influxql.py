"""Queries in InfluxQL, for Grafana and for Chronograf."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from mirrorwatch.domain.metrics import Metric

from .panels import (
    Age,
    Board,
    Function,
    Gauge,
    Increase,
    Quantile,
    Query,
    Reading,
    Share,
    Variable,
)

__all__ = ["GRAFANA", "Dialect", "choices", "now", "over_time", "table"]


VALUE = "value"


@dataclass(frozen=True, kw_only=True, slots=True)
class Dialect:
    """Dialect of InfluxQL: expressions that the drawing program fills in."""

    during: str
    fresh: Callable[[Reading], str]
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


def over_time(
    reading: Reading, board: Board, dialect: Dialect, name: str = VALUE
) -> str:
    """Return the query for how it went; no data is null, never 0."""
    metric, by = reading.metric, reading.by
    where = _where(reading, board, dialect, dialect.during)
    source = f"FROM {dialect.measurement(metric.measurement)} WHERE {where}"
    tail = f"{_group(by, dialect.step)} fill(null)"
    match reading:
        case Gauge():
            each = f'{reading.over}("{metric.field}")'
            if reading.over is reading.across or _has_own_lines(reading):
                return f'SELECT {each} AS "{name}" {source} {tail}'
            function = reading.across
        case Increase():
            each = f'non_negative_difference(last("{metric.field}"))'
            function = Function.SUM
        case Quantile():
            each = f'percentile("{metric.field}", {reading.q * 100:g})'
            return f'SELECT {each} AS "{name}" {source} {tail}'
        case Age() | Share():
            msg = f"{metric.name} is read for now only"
            raise ValueError(msg)
    # Nothing where there is nothing: a sum must not begin at 0.
    inner = _group(metric.labels, dialect.step)
    return (
        f'SELECT {function}("{name}") AS "{name}" FROM'
        f' (SELECT {each} AS "{name}" {source} {inner} fill(none))'
        f" WHERE {dialect.during} {tail}"
    )


def now(
    reading: Reading, board: Board, dialect: Dialect, name: str = VALUE
) -> str:
    """Return the query for what is true now, or of the whole time shown."""
    metric, by = reading.metric, reading.by
    during = dialect.during
    if not isinstance(reading, Increase | Share):
        during = dialect.fresh(reading)
    where = _where(reading, board, dialect, during)
    source = f"FROM {dialect.measurement(metric.measurement)} WHERE {where}"
    each = f'last("{metric.field}")'
    match reading:
        case Gauge() if _has_own_lines(reading):
            return f'SELECT {each} AS "{name}" {source} {_group(by)}'.rstrip()
        case Gauge():
            function, inner = reading.across, _group(metric.labels)
        case Increase():
            each, function = f"non_negative_difference({each})", Function.SUM
            inner = f"{_group(metric.labels, dialect.step)} fill(none)"
        case Quantile():
            each = f'percentile("{metric.field}", {reading.q * 100:g})'
            return f'SELECT {each} AS "{name}" {source} {_group(by)}'
        case Share():
            part, rest = (
                f'non_negative_difference(last("{m.field}"))'
                for m in (metric, reading.rest)
            )
            inner = f"{_group(metric.labels, dialect.step)} fill(none)"
            return (
                f'SELECT sum("part") / (sum("part") + sum("rest")) AS "{name}"'
                f' FROM (SELECT {part} AS "part", {rest} AS "rest"'
                f" {source} {inner}) WHERE {during} {_group(by)}"
            )
        case Age():
            # Grafana reckons moments in milliseconds.
            each = f'max("{metric.field}") * 1000'
            return f'SELECT {each} AS "{name}" {source} {_group(by)}'.rstrip()
    return (
        f'SELECT {function}("{name}") AS "{name}" FROM'
        f' (SELECT {each} AS "{name}" {source} {inner})'
        f" WHERE {during} {_group(by)}"
    ).rstrip()


def table(queries: Sequence[Query], board: Board, dialect: Dialect) -> str:
    """Return the query for a row of each series; a column of each reading.

    Raises
    ------
    ValueError
        Raised if they are not of one measurement with the same labels: there
        is no join.
    """
    first = queries[0].reading
    for query in queries:
        reading = query.reading
        same = reading.metric.measurement == first.metric.measurement
        if not (same and reading.by == first.by and _has_own_lines(reading)):
            msg = f"{reading.metric.name} does not fit into this table"
            raise ValueError(msg)
    columns = ", ".join(
        f'last("{query.reading.metric.field}") AS "{query.label}"'
        for query in queries
    )
    where = _where(first, board, dialect, dialect.fresh(first))
    source = dialect.measurement(first.metric.measurement)
    return f"SELECT {columns} FROM {source} WHERE {where} {_group(first.by)}"


def choices(
    label: str, source: Metric, before: Iterable[Variable], dialect: Dialect
) -> str:
    """Return the query for the values that a variable can have."""
    origin = dialect.measurement(source.measurement)
    text = f'SHOW TAG VALUES FROM {origin} WITH KEY = "{label}"'
    held = " AND ".join(dialect.chosen(variable) for variable in before)
    return f"{text} WHERE {held}" if held else text


def _has_own_lines(reading: Reading) -> bool:
    return set(reading.metric.labels) == {*reading.by, *reading.where}


def _where(
    reading: Reading, board: Board, dialect: Dialect, during: str
) -> str:
    held = [dialect.chosen(v) for v in board.chosen(reading.metric)]
    held += [f"\"{key}\" = '{value}'" for key, value in reading.where.items()]
    return " AND ".join([*held, during])


def _group(labels: Iterable[str], step: str | None = None) -> str:
    groups = [f"time({step})"] if step else []
    groups += [f'"{label}"' for label in labels]
    return f"GROUP BY {', '.join(groups)}" if groups else ""
