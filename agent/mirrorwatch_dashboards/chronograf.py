"""Chronograf dashboards, as the JSON that it stores.

Notes
-----
The keys are those of the server's source (chronograf.go, server/cells.go and
server/templates.go of 1.10), which refuses little.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from mirrorwatch.domain.report import Health

from . import influxql
from .panels import (
    COLOURS,
    COLUMNS,
    FRESH,
    QUANTILE_WINDOW,
    WORDS,
    Board,
    Panel,
    PanelPosition,
    Picture,
    Query,
    Reading,
    Unit,
    Variable,
    arrange,
)

__all__ = ["NAME", "render"]


Json = dict[str, Any]

NAME = "chronograf"

CELL = 2
"""Chronograf's grid has half as many columns, and rows twice as high."""

DATABASE, POLICY = "mirrorwatch", "autogen"
"""Named in every query, until a site's map says otherwise."""

PAGE = "http://127.0.0.1:8080"
"""Address of the agent's page, until a site's map says otherwise."""

BEGINNING = "-1000000000000000000"
"""Lowest threshold in Chronograf, from which the first colour holds."""

FIRST_ID = 5_201
"""Id of the first dashboard, where a file gives it one: far from 1, from which
a server numbers those that are posted."""

NOTE_HEIGHT = 2

SUFFIXES = {Unit.BYTES, Unit.BYTES_PER_SECOND, Unit.SECONDS}

LINES = ("#31c0f6", "#a500a5", "#ff7e27")
"""Chronograf's colour scale for lines, "Nineteen Eighty Four"."""


def _fresh(query: Query) -> str:
    is_quantile = query.reading is Reading.QUANTILE
    window = QUANTILE_WINDOW if is_quantile else f"{FRESH.total_seconds():g}s"
    return f"time > now() - {window}"


DIALECT = influxql.Dialect(
    during="time > :dashboardTime: AND time < :upperDashboardTime:",
    fresh=_fresh,
    step=":interval:",
    measurement=lambda name: f'"{DATABASE}"."{POLICY}"."{name}"',
    chosen=lambda variable: (
        f'"{variable.label}" =~ /^:{variable.label}:$/'
        if variable.all
        else f'"{variable.label}" = :{variable.label}:'
    ),
)


def render(number: int, board: Board) -> Json:
    """Return a dashboard; `number` is its index among ours."""
    return {
        "id": str(FIRST_ID + number),
        "name": board.title,
        "organization": "default",
        "cells": [
            {"i": f"mirrorwatch-{board.name}-{index}", **cell}
            for index, cell in enumerate(_cells(board), start=1)
        ],
        "templates": [_template(board, v) for v in board.variables],
    }


def _cells(board: Board) -> Iterator[Json]:
    yield _note(board)
    # InfluxQL cannot reckon with the present moment, and no cell has a time
    # of its own.
    left_out = (Reading.AGE, Reading.SHARE)
    panels = [panel for panel in board.panels if panel.reading not in left_out]
    for panel, at in arrange(panels, cell=CELL):
        yield from _drawn(panel, board, replace(at, y=at.y + NOTE_HEIGHT))


def _drawn(panel: Panel, board: Board, at: PanelPosition) -> Iterator[Json]:
    """Yield the cells of a panel.

    Notes
    -----
    Chronograf draws no states: a table shows the current ones, a line the
    past ones, side by side.
    """
    match panel.picture:
        case Picture.STATES:
            left = replace(at, width=at.width // 2)
            right = replace(
                at, width=at.width - left.width, x=at.x + left.width
            )
            now = _texts(panel.queries, board, influxql.now)
            yield _cell(panel, left, "table", now)
            past = _texts(panel.queries, board, influxql.over_time)
            yield _cell(panel, right, "line-stepplot", past)
        case Picture.TABLE:
            columns = [replace(q, label=_column(q)) for q in panel.queries]
            text = influxql.table(columns, board, DIALECT)
            dated = panel.reading is Reading.EVENTS
            sort = "time" if dated else columns[0].label
            cell = _cell(panel, at, "table", [text], sort=sort)
            yield {**cell, "fieldOptions": [_field("time", visible=dated)]}
        case Picture.NUMBER:
            one = [replace(query, by=()) for query in panel.queries]
            now = _texts(one, board, influxql.now)
            yield _cell(panel, at, "single-stat", now)
        case Picture.LINES | Picture.BARS:
            past = _texts(panel.queries, board, influxql.over_time)
            kind = "bar" if panel.picture is Picture.BARS else "line"
            yield _cell(panel, at, kind, past)


def _texts(
    queries: Sequence[Query],
    board: Board,
    ask: Callable[[Query, Board, influxql.Dialect, str], str],
) -> list[str]:
    return [
        ask(query, board, DIALECT, query.label or query.metric.field)
        for query in queries
    ]


def _column(query: Query) -> str:
    return f"{query.label} ({query.metric.unit})"


def _cell(
    panel: Panel,
    at: PanelPosition,
    kind: str,
    queries: Sequence[str],
    *,
    sort: str = "time",
) -> Json:
    words = WORDS.get(panel.unit, {})
    shown = [f"{n} {text}" for n, (text, _) in words.items() if n >= 0]
    suffix = f" {panel.unit}" if panel.unit in SUFFIXES else ""
    return {
        **_placed(at, kind),
        "name": panel.title + (f" ({', '.join(shown)})" if shown else ""),
        "queries": [
            {"query": text, "source": "", "type": "influxql"}
            for text in queries
        ],
        "axes": _axes(label=panel.axis, suffix=suffix),
        "colors": list(_colours(panel, kind)),
        "tableOptions": _table_options(sort),
        # Two digits would make 1 of a share of 0.9996.
        "decimalPlaces": {
            "isEnforced": True,
            "digits": 5 if panel.unit is Unit.RATIO else 2,
        },
        "note": plain(panel.description),
    }


def _placed(at: PanelPosition, kind: str) -> Json:
    """Return a cell with all keys that Chronograf gives back, empty."""
    return {
        "x": at.x,
        "y": at.y,
        "w": at.width,
        "h": at.height,
        "name": "",
        "type": kind,
        "queries": [],
        "axes": _axes(),
        "colors": [],
        "legend": {},
        "tableOptions": _table_options("time"),
        "fieldOptions": [_field("time", visible=False)],
        "timeFormat": "YYYY-MM-DD HH:mm:ss",
        "decimalPlaces": {"isEnforced": True, "digits": 2},
        "noteVisibility": "default",
    }


def _axes(*, label: str = "", suffix: str = "") -> Json:
    """Return the axes; the suffix of `y` is also that of a single number."""
    axis = {
        "bounds": ["", ""],
        "label": "",
        "prefix": "",
        "suffix": "",
        "base": "10",
        "scale": "linear",
    }
    return {
        "x": axis,
        "y": {**axis, "label": label, "suffix": suffix},
        "y2": axis,
    }


def _table_options(sort: str) -> Json:
    return {
        "verticalTimeAxis": True,
        "sortBy": _field(sort),
        "wrapping": "truncate",
        "fixFirstColumn": False,
    }


def _field(name: str, *, visible: bool = True) -> Json:
    return {"internalName": name, "displayName": "", "visible": visible}


def _colours(panel: Panel, kind: str) -> Iterator[Json]:
    if kind not in ("single-stat", "table"):
        for index, colour in enumerate(LINES):
            yield {
                "id": str(index),
                "type": "scale",
                "hex": colour,
                "name": "Nineteen Eighty Four",
                "value": "0",
            }
        return
    steps = panel.steps if kind == "single-stat" else ()
    words = WORDS.get(panel.unit, {})
    named = [(n, h) for n, (_, h) in words.items() if h is not None]
    if named:
        (_, first), *others = named
        steps = ((None, first), *others)
    if not steps:
        yield _threshold(None, "text", "white", "#ffffff")
    for at, health in steps:
        yield _threshold(at, "background", health.label, COLOURS[health])


def _threshold(at: float | None, kind: str, name: str, colour: str) -> Json:
    return {
        "id": "base" if at is None else f"from-{at:g}",
        "type": kind,
        "hex": colour,
        "name": name,
        "value": BEGINNING if at is None else f"{at:g}",
    }


def _note(board: Board) -> Json:
    values = ", ".join(f"{h.value} {h.label}" for h in Health)
    at = PanelPosition(x=0, y=0, width=COLUMNS // CELL, height=NOTE_HEIGHT)
    text = (
        f"{board.description} Health: {values}. [The agent]({PAGE}/) says"
        f" why, its [runbook]({PAGE}/runbook) what to do. Variables that"
        " begin as .* are regular expressions. Lines are drawn over"
        " stretches without data: only the numbers show that there is"
        " none now."
    )
    return {**_placed(at, "note"), "note": plain(text)}


def plain(text: str) -> str:
    """Return a note without apostrophes: they would come back as HTML."""
    return text.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}")


def _template(board: Board, variable: Variable) -> Json:
    template: Json = {
        "id": f"mirrorwatch-{board.name}-{variable.label}",
        "tempVar": f":{variable.label}:",
        "label": "",
        "sourceID": "dynamic",
    }
    if variable.all:
        value = {"value": ".*", "type": "constant", "selected": True}
        return {**template, "type": "text", "values": [value]}
    return {
        **template,
        "type": "tagValues",
        "values": [],
        "query": {
            "influxql": "SHOW TAG VALUES ON :database: FROM :measurement:"
            " WITH KEY=:tagKey:",
            "db": DATABASE,
            "measurement": variable.source.measurement,
            "tagKey": variable.label,
            "fieldKey": "",
        },
    }
