"""Where the panels of a dashboard stand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .panels import Panel

__all__ = ["COLUMNS", "Place", "arrange"]

COLUMNS = 24
"""Of a row, as in Grafana."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where one panel stands, in cells of the grid."""

    x: int
    y: int
    width: int
    height: int


def arrange(panels: Sequence[Panel]) -> Iterator[tuple[Panel, Place]]:
    """Yield panels with their places: rows from left to right, as written."""
    x = y = tallest = 0
    for panel in panels:
        if x + panel.width > COLUMNS:
            x, y, tallest = 0, y + tallest, 0
        place = Place(x=x, y=y, width=panel.width, height=panel.height)
        yield panel, place
        x += panel.width
        tallest = max(tallest, panel.height)
