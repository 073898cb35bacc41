"""Durations counted finely enough to merge and still tell percentiles."""

import math
import struct
from collections.abc import Iterable, Mapping
from datetime import timedelta

__all__ = ["LatencySketch"]

RATIO = 1.02
"""Width of a cell: an answer is within 1 % of the true duration, well below
what a person or a limit can tell apart, at six bytes for each cell in use."""

UNIT_SECONDS = 1e-6
"""Durations below this are counted as zero: clocks are not finer."""

CELL = struct.Struct("<hI")
"""One stored cell: its index and its count."""


class LatencySketch:
    """Counts of durations by logarithmic cell, negative ones too.

    Parameters
    ----------
    cells
        Counts by index of the cell.

    Notes
    -----
    Adding up the sketches of several stretches of time gives the sketch of
    the whole, so that a percentile of a day is that of all its probes and not
    an average of percentiles. Indices grow with the duration; negative
    durations have negative indices, because they are shown, never clamped.
    """

    def __init__(self, cells: Mapping[int, int] | None = None) -> None:
        self._cells = dict(cells or {})

    @classmethod
    def of(cls, durations: Iterable[timedelta]) -> "LatencySketch":
        """Count durations."""
        sketch = cls()
        for duration in durations:
            index = _index(duration.total_seconds())
            sketch._cells[index] = sketch._cells.get(index, 0) + 1
        return sketch

    @classmethod
    def decode(cls, stored: bytes) -> "LatencySketch":
        """Restore what `encode` returned."""
        return cls(dict(CELL.iter_unpack(stored)))

    def encode(self) -> bytes:
        """Return the sketch as bytes."""
        return b"".join(CELL.pack(*cell) for cell in self._cells.items())

    @property
    def cells(self) -> Mapping[int, int]:
        """Counts by index of the cell."""
        return self._cells

    @property
    def count(self) -> int:
        """How many durations were counted."""
        return sum(self._cells.values())

    def add(self, other: "LatencySketch") -> None:
        """Take in everything that another sketch has counted."""
        for index, count in other.cells.items():
            self._cells[index] = self._cells.get(index, 0) + count

    def quantile(self, share: float) -> timedelta | None:
        """Return the duration that a share of all stay at or below.

        Parameters
        ----------
        share
            Between 0 and 1: 0.5 is the median.

        Returns
        -------
        datetime.timedelta or None
            Nearest rank, within 1 % (or 1 µs), `None` if nothing was counted.
        """
        rank = max(1, math.ceil(share * self.count))
        for index in sorted(self._cells):
            rank -= self._cells[index]
            if rank <= 0:
                return timedelta(seconds=_middle(index))
        return None


def _index(seconds: float) -> int:
    size = abs(seconds) / UNIT_SECONDS
    if size < 1:
        return 0
    cell = 1 + math.floor(math.log(size, RATIO))
    return cell if seconds > 0 else -cell


def _middle(index: int) -> float:
    if index == 0:
        return 0.0
    low = UNIT_SECONDS * RATIO ** (abs(index) - 1)
    return math.copysign(low * (1 + RATIO) / 2, index)
