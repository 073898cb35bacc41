"""A panel in cells of Chronograf: one, or two where it has no picture."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from ...domain.verdicts import Health
from .. import influxql
from ..colours import COLOURS
from ..layout import Place
from ..panels import FRESH, Board, Panel, Picture, Unit
from ..promql import QUANTILE_WINDOW
from ..readings import Quantile, Reading
from .models import Axis, Cell, Colour, FieldOption, Query, TableOptions, plain

__all__ = ["CELL", "DATABASE", "DIALECT", "POLICY", "render_cells"]

CELL = 2
"""Chronograf's grid has half as many columns, and rows twice as high."""

DATABASE, POLICY = "mirrorwatch", "autogen"
"""Until a site's map says otherwise: Chronograf's queries name both."""

BEGINNING = "-1000000000000000000"
"""What Chronograf calls the value from which the first colour holds."""


def _fresh(reading: Reading) -> str:
    seconds = f"{FRESH.total_seconds():g}s"
    window = QUANTILE_WINDOW if isinstance(reading, Quantile) else seconds
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

LINES = {"#31c0f6": 0, "#a500a5": 1, "#ff7e27": 2}
"""Chronograf's own scale of colours for lines, "Nineteen Eighty Four"."""


def render_cells(panel: Panel, board: Board, at: Place) -> Iterator[Cell]:
    """Yield the cells of a panel, without ids.

    Notes
    -----
    Chronograf draws no states. What is true now is a table, and how it went
    a line, side by side; both have the words of the values in their name.
    """
    match panel.picture:
        case Picture.STATES:
            half = at.width // 2
            left = replace(at, width=half)
            right = replace(at, width=at.width - half, x=at.x + half)
            queries = _queries(panel, board, now=True)
            yield _cell(panel, left, "table", queries)
            queries = _queries(panel, board, now=False)
            yield _cell(panel, right, "line-stepplot", queries)
        case Picture.TABLE:
            text = influxql.table(panel.queries, board, DIALECT)
            yield _cell(panel, at, "table", (Query(query=text),))
        case Picture.NUMBER:
            queries = _queries(_as_one(panel), board, now=True)
            yield _cell(panel, at, "single-stat", queries)
        case Picture.LINES:
            queries = _queries(panel, board, now=False)
            yield _cell(panel, at, "line", queries)
        case Picture.BARS:
            queries = _queries(panel, board, now=False)
            yield _cell(panel, at, "bar", queries)


def _as_one(panel: Panel) -> Panel:
    """Return a panel of all flows together: Chronograf shows one number."""
    queries = (
        replace(query, reading=replace(query.reading, by=()))
        for query in panel.queries
    )
    return replace(panel, queries=tuple(queries))


def _queries(panel: Panel, board: Board, *, now: bool) -> tuple[Query, ...]:
    ask = influxql.now if now else influxql.over_time
    return tuple(
        Query(
            query=ask(
                query.reading,
                board,
                DIALECT,
                query.label or query.reading.metric.field,
            )
        )
        for query in panel.queries
    )


def _cell(
    panel: Panel,
    at: Place,
    kind: Literal["bar", "line", "line-stepplot", "single-stat", "table"],
    queries: tuple[Query, ...],
) -> Cell:
    suffix = f" {panel.unit}" if panel.unit in SUFFIXES else ""
    sort = FieldOption(internal_name=panel.queries[0].label or "time")
    return Cell(
        i="",
        x=at.x,
        y=at.y,
        w=at.width,
        h=at.height,
        name=panel.title + WORDS.get(panel.unit, ""),
        type=kind,
        queries=queries,
        axes={"x": Axis(), "y": Axis(suffix=suffix), "y2": Axis()},
        colors=tuple(_colours(panel, kind)),
        table_options=TableOptions(sort_by=sort),
        note=plain(panel.description),
        note_visibility="default",
    )


SUFFIXES = {Unit.BYTES, Unit.BYTES_PER_SECOND, Unit.SECONDS}

WORDS = {
    Unit.HEALTH: (
        " ("
        + ", ".join(
            f"{h.value} {h.label}" for h in Health if h is not Health.OFF
        )
        + ")"
    ),
    Unit.FLAG: " (0 no, 1 yes)",
}
"""What values mean: Chronograf has numbers only."""


def _colours(panel: Panel, kind: str) -> Iterator[Colour]:
    if kind not in ("single-stat", "table"):
        for hexadecimal, n in LINES.items():
            yield Colour(
                id=str(n),
                type="scale",
                hex=hexadecimal,
                name="Nineteen Eighty Four",
                value="0",
            )
        return
    paint: Literal["background", "text"] = "background"
    steps: tuple[tuple[float | None, Health], ...]
    if panel.unit is Unit.HEALTH:
        steps = tuple((health.value, health) for health in Health)
        steps = ((None, Health.OFF), *steps[1:])
    elif panel.limits is not None and kind == "single-stat":
        steps = panel.steps
    else:
        yield Colour(
            id="base",
            type="text",
            hex="#ffffff",
            name="white",
            value=BEGINNING,
        )
        return
    for at, health in steps:
        yield Colour(
            id="base" if at is None else f"from-{at:g}",
            type=paint,
            hex=COLOURS[health],
            name=health.label,
            value=BEGINNING if at is None else f"{at:g}",
        )
