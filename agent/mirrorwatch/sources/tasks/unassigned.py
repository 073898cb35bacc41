"""Partitions that the mirror's filter takes and no task was given."""

from datetime import datetime

from ...domain.view import FlowView
from ..positions import Positions
from .board import TasksBoard

__all__ = ["Unassigned"]

LOOKS = 2
"""Refresh intervals after which a partition should have been found: one may
just have been missed."""


class Unassigned:
    """Learns from each survey which partitions belong to no task.

    Parameters
    ----------
    positions
        What the mirror's internal topics said.
    board
        Where the partitions go that have waited for too long.
    """

    def __init__(self, positions: Positions, board: TasksBoard) -> None:
        self._positions = positions
        self._board = board
        self._missed_since: dict[tuple[str, int], datetime] = {}

    def take(self, view: FlowView) -> None:
        connectors = self._positions.connectors()
        assignments = self._positions.assignments()
        if view.source is None or not view.caught_up:
            return
        if not connectors or not assignments:
            # Then the tasks themselves are missing.
            self._missed_since.clear()
            self._board.note_unassigned(frozenset())
            return
        given = frozenset().union(*(a.partitions for a in assignments))
        # Nearly all are given, so the patterns are asked about few.
        self._missed_since = {
            place: self._missed_since.get(place, view.at)
            for place in view.partitions()
            if place not in given
            and any(c.selection.matches(place[0]) for c in connectors)
        }
        patience = LOOKS * max(c.refresh for c in connectors)
        self._board.note_unassigned(
            frozenset(
                place
                for place, since in self._missed_since.items()
                if view.at - since > patience
            )
        )
