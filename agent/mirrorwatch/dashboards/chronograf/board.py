"""A dashboard of Chronograf: its cells and variables."""

from collections.abc import Iterator
from itertools import count

from ...domain.verdicts import Health
from .. import layout
from ..panels import Board, Variable
from ..readings import Age
from .cells import CELL, DATABASE, render_cells
from .models import (
    Axis,
    Cell,
    Dashboard,
    Template,
    TemplateQuery,
    TemplateValue,
    plain,
)

__all__ = ["NAME", "render"]

NAME = "chronograf"
"""Folder of its dashboards."""

FIRST_ID = 5_201
"""Of the first dashboard, where a file gives it one (a server numbers those
that are posted itself). Those are small numbers, so this is none of them."""

NOTE_HEIGHT = 2

PAGE = "http://127.0.0.1:8080"
"""Where the agent's page is, until a site's map says otherwise."""


def render(number: int, board: Board) -> Dashboard:
    """Return a dashboard; `number` is its place among ours."""
    return Dashboard(
        id=str(FIRST_ID + number),
        name=board.title,
        cells=tuple(_cells(board)),
        templates=tuple(_template(board, v) for v in board.variables),
    )


def _cells(board: Board) -> Iterator[Cell]:
    numbers = (f"mirrorwatch-{board.name}-{n}" for n in count(1))
    yield _note(board, next(numbers))
    panels = [
        panel
        for panel in board.panels
        # InfluxQL cannot reckon with the present moment.
        if not any(isinstance(q.reading, Age) for q in panel.queries)
    ]
    for panel, at in layout.arrange(panels, cell=CELL):
        for cell in render_cells(panel, board, at):
            yield cell.model_copy(
                update={"i": next(numbers), "y": cell.y + NOTE_HEIGHT}
            )


def _note(board: Board, number: str) -> Cell:
    values = ", ".join(f"{h.value} {h.label}" for h in Health)
    return Cell(
        i=number,
        x=0,
        y=0,
        w=layout.COLUMNS // CELL,
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
