"""Queries in Flux, with the variables of Grafana."""

from collections.abc import Iterable, Sequence

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
    Variable,
)

__all__ = ["choices", "now", "over_time", "table"]


STEP = "every: v.windowPeriod"
AS_COLUMNS = 'columnKey: ["_field"], valueColumn: "_value"'
EXACT = 'method: "exact_mean"'
MILLISECONDS = "|> map(fn: (r) => ({r with _value: r._value * 1000.0}))"
"""Grafana reckons moments in milliseconds."""


def over_time(reading: Reading, board: Board) -> str:
    """Return the query for how it went; no data is null, never 0."""
    steps = [_source(reading, board), *_fields([reading])]
    group = _group(reading.by)
    match reading:
        case Gauge():
            if reading.over is not reading.across:
                steps.append(_each_window(reading.over))
            steps += [group, _windows(reading.across)]
        case Increase():
            steps.append(_each_window("last"))
            steps.append("|> difference(nonNegative: true)")
            steps += [group, _windows(Function.SUM)]
        case Quantile():
            function = (
                "(column, tables=<-) => tables"
                f" |> quantile(q: {reading.q:g}, column: column, {EXACT})"
            )
            steps += [group, _windows(function)]
        case Age():
            msg = f"{reading.metric.name}: an age is read for now"
            raise ValueError(msg)
    # Selectors leave the labels of what they chose behind.
    columns = _list(("_time", "_value", *reading.by))
    return "\n  ".join([*steps, f"|> keep(columns: {columns})"])


def now(reading: Reading, board: Board) -> str:
    """Return the query for what is true now, or of the whole time shown."""
    steps = [_source(reading, board), *_fields([reading])]
    group = _group(reading.by)
    match reading:
        case Gauge():
            steps += ["|> last()", group, f"|> {reading.across}()"]
        case Increase():
            steps.append(_each_window("last"))
            steps.append("|> difference(nonNegative: true)")
            steps += [group, "|> sum()"]
        case Quantile():
            steps += [group, f"|> quantile(q: {reading.q:g}, {EXACT})"]
        case Age():
            steps += ["|> last()", group, "|> max()", MILLISECONDS]
    columns = _list(("_value", *reading.by))
    return "\n  ".join([*steps, f"|> keep(columns: {columns})"])


def table(queries: Sequence[Query], board: Board) -> str:
    """Return the query for a row of each series; a column of each reading.

    Notes
    -----
    The columns have the names of the fields: `rename` refuses those of which
    there is no point.
    """
    readings = [query.reading for query in queries]
    by = readings[0].by
    return "\n  ".join(
        [
            _source(readings[0], board),
            *_fields(readings),
            "|> last()",
            f"|> keep(columns: {_list((*by, '_field', '_value'))})",
            "|> group()",
            f"|> pivot(rowKey: {_list(by)}, {AS_COLUMNS})",
        ]
    )


def choices(label: str, source: Metric, before: Iterable[Variable]) -> str:
    """Return the query for the values that a variable can have."""
    held = [f'r._measurement == "{source.measurement}"']
    held += [_chosen(variable) for variable in before]
    return (
        'import "influxdata/influxdb/schema"\n'
        "schema.tagValues(bucket: v.defaultBucket,"
        f' tag: "{label}", start: v.timeRangeStart,'
        f" predicate: (r) => {' and '.join(held)})"
    )


def _source(reading: Reading, board: Board) -> str:
    metric = reading.metric
    held = [f'r._measurement == "{metric.measurement}"']
    held += [_chosen(variable) for variable in board.chosen(metric)]
    held += [f'r.{key} == "{value}"' for key, value in reading.where.items()]
    return (
        "from(bucket: v.defaultBucket)\n"
        "  |> range(start: v.timeRangeStart, stop: v.timeRangeStop)\n"
        f"  |> filter(fn: (r) => {' and '.join(held)})"
    )


def _fields(readings: Iterable[Reading]) -> list[str]:
    fields = " or ".join(f'r._field == "{r.metric.field}"' for r in readings)
    return [f"|> filter(fn: (r) => {fields})"]


def _chosen(variable: Variable) -> str:
    return f"r.{variable.label} =~ /^${{{variable.label}:regex}}$/"


def _each_window(function: str) -> str:
    """Return what makes one value of each series in each window.

    It stands at the window's start: at its end it would be in the next one.
    """
    return (
        f'|> aggregateWindow({STEP}, fn: {function}, timeSrc: "_start",'
        " createEmpty: false)"
    )


def _windows(function: str) -> str:
    return f"|> aggregateWindow({STEP}, fn: {function}, createEmpty: true)"


def _group(by: Iterable[str]) -> str:
    return f"|> group(columns: {_list(by)})"


def _list(names: Iterable[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"
