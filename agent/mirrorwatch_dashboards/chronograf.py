"""A dashboard of Chronograf: its cells and variables."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from mirrorwatch.domain.report import Health

from . import influxql
from .panels import (
    COLOURS,
    COLUMNS,
    FRESH,
    Age,
    Board,
    Panel,
    PanelPosition,
    Picture,
    Quantile,
    Reading,
    Share,
    Unit,
    Variable,
    arrange,
)
from .promql import QUANTILE_WINDOW

__all__ = [
    "CELL",
    "DATABASE",
    "DIALECT",
    "NAME",
    "POLICY",
    "Axis",
    "ChronografCell",
    "ChronografQuery",
    "Colour",
    "Dashboard",
    "DecimalPlaces",
    "FieldOption",
    "TableOptions",
    "Template",
    "TemplateQuery",
    "TemplateValue",
    "plain",
    "render",
    "render_cells",
]


# What Chronograf stores of a dashboard, in its own words.
#
# Notes
# -----
# There is no library for it. The source is the server's own (chronograf.go,
# server/cells.go and server/templates.go of 1.10), which refuses little: the
# types here are all that it, and its page, understand.


def plain(text: str) -> str:
    """Return a note without apostrophes: they would come back as HTML."""
    return text.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}")


class _Stored(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        populate_by_name=True,
    )


class Axis(_Stored):
    """Axis of a chart; that of `y` gives a single number its suffix."""

    bounds: tuple[str, str] = ("", "")
    label: str = ""
    prefix: str = ""
    suffix: str = ""
    base: Literal["10", "2", "raw"] = "10"
    scale: Literal["linear", "log"] = "linear"


class Colour(_Stored):
    """From which value on something has a colour."""

    id: str
    type: Literal["background", "scale", "text", "threshold"]
    hex: str = Field(pattern="^#[0-9a-f]{6}$")
    name: str
    value: str


class ChronografQuery(_Stored):
    """A query; without a source it goes to the one that is looked at."""

    query: str
    source: Literal[""] = ""
    type: Literal["influxql"] = "influxql"


class FieldOption(_Stored):
    """Display name and visibility of a table column."""

    internal_name: str
    display_name: str = ""
    visible: bool = True


class TableOptions(_Stored):
    """Layout options of a table."""

    vertical_time_axis: bool = True
    sort_by: FieldOption = FieldOption(internal_name="time")
    wrapping: Literal["truncate", "wrap"] = "truncate"
    fix_first_column: bool = False


class DecimalPlaces(_Stored):
    """Decimal places of a number."""

    is_enforced: bool = True
    digits: int = 2


class ChronografCell(_Stored):
    """A panel."""

    i: str
    x: int
    y: int
    w: int
    h: int
    name: str
    type: Literal[
        "bar", "line", "line-stepplot", "note", "single-stat", "table"
    ]
    queries: tuple[ChronografQuery, ...] = ()
    axes: dict[Literal["x", "y", "y2"], Axis]
    colors: tuple[Colour, ...] = ()
    legend: dict[str, str] = {}
    table_options: TableOptions = TableOptions()
    field_options: tuple[FieldOption, ...] = (
        FieldOption(internal_name="time", visible=False),
    )
    time_format: str = "YYYY-MM-DD HH:mm:ss"
    decimal_places: DecimalPlaces = DecimalPlaces()

    note: str = Field("", pattern="^[^<>&'\"]*$")
    note_visibility: Literal["default", "showWhenNoData"] = "default"


class TemplateValue(_Stored):
    """A value that a variable can have."""

    value: str
    type: Literal["constant", "tagValue"]
    selected: bool = True


class TemplateQuery(_Stored):
    """Query for the values of a variable."""

    influxql: str
    db: str
    measurement: str
    tag_key: str
    field_key: str = ""


class Template(_Stored):
    """A variable, chosen at the top."""

    id: str
    temp_var: str = Field(pattern="^:[a-z]+:$")
    type: Literal["tagValues", "text"]
    label: str = ""
    values: tuple[TemplateValue, ...] = ()
    query: TemplateQuery | None = None
    source_id: Literal["dynamic"] = Field("dynamic", alias="sourceID")


class Dashboard(_Stored):
    """A dashboard."""

    id: str = Field(pattern=r"^\d+$")
    name: str
    organization: Literal["default"] = "default"
    cells: tuple[ChronografCell, ...]
    templates: tuple[Template, ...]


CELL = 2
"""Chronograf's grid has half as many columns, and rows twice as high."""

DATABASE, POLICY = "mirrorwatch", "autogen"
"""Until a site's map says otherwise: Chronograf's queries name both."""

BEGINNING = "-1000000000000000000"
"""Lowest threshold in Chronograf, from which the first colour holds."""


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


def render_cells(
    panel: Panel, board: Board, at: PanelPosition
) -> Iterator[ChronografCell]:
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
            yield _cell(panel, at, "table", (ChronografQuery(query=text),))
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
    queries = (
        replace(query, reading=replace(query.reading, by=()))
        for query in panel.queries
    )
    return replace(panel, queries=tuple(queries))


def _queries(
    panel: Panel, board: Board, *, now: bool
) -> tuple[ChronografQuery, ...]:
    ask = influxql.now if now else influxql.over_time
    return tuple(
        ChronografQuery(
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
    at: PanelPosition,
    kind: Literal["bar", "line", "line-stepplot", "single-stat", "table"],
    queries: tuple[ChronografQuery, ...],
) -> ChronografCell:
    suffix = f" {panel.unit}" if panel.unit in SUFFIXES else ""
    sort = FieldOption(internal_name=panel.queries[0].label or "time")
    return ChronografCell(
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
        # Of a share of 0.9996 two digits would make 1.
        decimal_places=DecimalPlaces(
            digits=5 if panel.unit is Unit.RATIO else 2
        ),
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
    Unit.FAULT: " (0 not named, 2 warning, 3 critical)",
    Unit.FLAG: " (0 no, 1 yes)",
}
"""Legends of enumerated values: Chronograf has numbers only."""


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
    elif panel.unit is Unit.FAULT:
        steps = (
            (None, Health.OFF),
            *((h.value, h) for h in (Health.WARNING, Health.CRITICAL)),
        )
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


NAME = "chronograf"

FIRST_ID = 5_201
"""Of the first dashboard, where a file gives it one (a server numbers those
that are posted itself). Those are small numbers, so this is none of them."""

NOTE_HEIGHT = 2

PAGE = "http://127.0.0.1:8080"
"""Address of the agent's page, until a site's map says otherwise."""


def render(number: int, board: Board) -> Dashboard:
    """Return a dashboard; `number` is its index among ours."""
    return Dashboard(
        id=str(FIRST_ID + number),
        name=board.title,
        cells=tuple(_cells(board)),
        templates=tuple(_template(board, v) for v in board.variables),
    )


def _cells(board: Board) -> Iterator[ChronografCell]:
    numbers = (f"mirrorwatch-{board.name}-{n}" for n in count(1))
    yield _note(board, next(numbers))
    panels = [
        panel
        for panel in board.panels
        # InfluxQL cannot reckon with the present moment, and no cell has a
        # time of its own.
        if not any(isinstance(q.reading, Age | Share) for q in panel.queries)
    ]
    for panel, at in arrange(panels, cell=CELL):
        for cell in render_cells(panel, board, at):
            yield cell.model_copy(
                update={"i": next(numbers), "y": cell.y + NOTE_HEIGHT}
            )


def _note(board: Board, number: str) -> ChronografCell:
    values = ", ".join(f"{h.value} {h.label}" for h in Health)
    return ChronografCell(
        i=number,
        x=0,
        y=0,
        w=COLUMNS // CELL,
        h=NOTE_HEIGHT,
        name="",
        type="note",
        axes={"x": Axis(), "y": Axis(), "y2": Axis()},
        note=plain(
            f"{board.description} Health: {values}. [The agent]({PAGE}/) says"
            f" why, its [runbook]({PAGE}/runbook) what to do. Variables that"
            " begin as .* are regular expressions. Lines are drawn over"
            " stretches without data: only the numbers show that there is"
            " none now."
        ),
    )


def _template(board: Board, variable: Variable) -> Template:
    name = f":{variable.label}:"
    number = f"mirrorwatch-{board.name}-{variable.label}"
    if variable.all:
        return Template(
            id=number,
            temp_var=name,
            type="text",
            values=(TemplateValue(value=".*", type="constant"),),
        )
    return Template(
        id=number,
        temp_var=name,
        type="tagValues",
        query=TemplateQuery(
            influxql=(
                "SHOW TAG VALUES ON :database: FROM :measurement:"
                " WITH KEY=:tagKey:"
            ),
            db=DATABASE,
            measurement=variable.source.measurement,
            tag_key=variable.label,
        ),
    )
