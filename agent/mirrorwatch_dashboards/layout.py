"""Where the panels of a dashboard stand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from .panels import Panel

__all__ = ["COLUMNS", "PanelPlace", "arrange"]


COLUMNS = 24
"""Of a row, as in Grafana."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PanelPlace:
    """Where one panel stands, in cells of the grid."""

    x: int
    y: int
    width: int
    height: int


def arrange(
    panels: Sequence[Panel], *, cell: int = 1
) -> Iterator[tuple[Panel, PanelPlace]]:
    """Yield panels with their places: rows from left to right, as written.

    Parameters
    ----------
    panels
        In the order in which they are read.
    cell
        How many columns, and rows, one of the grid's cells is large.
    """
    x = y = tallest = 0
    for panel in panels:
        width, height = panel.width // cell, ceil(panel.height / cell)
        if x + width > COLUMNS // cell:
            x, y, tallest = 0, y + tallest, 0
        yield panel, PanelPlace(x=x, y=y, width=width, height=height)
        x += width
        tallest = max(tallest, height)
