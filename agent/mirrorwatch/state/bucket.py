"""What is kept of one flow for one stretch of time."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Self, TypeVar

from ..domain.verdicts import Health
from .sketch import LatencySketch

__all__ = ["COLUMNS", "Bucket"]

COLUMNS = (
    "latencies",
    "worst_us",
    "delivered",
    "late",
    "lost",
    "duplicates",
    "outstanding",
    "health",
)
"""Columns of a stored bucket, in the order of `Bucket.row`."""

_Ordered = TypeVar("_Ordered", timedelta, int, Health)

MICROSECOND = timedelta(microseconds=1)


@dataclass(kw_only=True, slots=True)
class Bucket:
    """What happened on one flow in one stretch of time.

    Notes
    -----
    Adding two gives the bucket of both stretches together, in any order: the
    durations are counted, not averaged; counters add up; of `outstanding`,
    `worst` and `health` the highest stays. So a roll-up of any width says
    the same as the ticks that it was made of.
    """

    latencies: LatencySketch = field(default_factory=LatencySketch)
    """Durations from send to arrival, by the time of the tick that saw the
    arrival."""

    worst: timedelta | None = None
    """Longest of them, exactly."""

    delivered: int = 0
    """Probes that arrived in time."""

    late: int = 0
    """Probes that arrived after the deadline."""

    lost: int = 0
    """Probes proved lost."""

    duplicates: int = 0
    """Further arrivals."""

    outstanding: int | None = None
    """Most probes that were on their way at once, `None` if not seen."""

    health: Health | None = None
    """Worst health of the flow, `None` if there was no tick."""

    def add(self, other: "Bucket") -> None:
        """Take in another stretch of time."""
        self.latencies.add(other.latencies)
        self.worst = _highest(self.worst, other.worst)
        self.delivered += other.delivered
        self.late += other.late
        self.lost += other.lost
        self.duplicates += other.duplicates
        self.outstanding = _highest(self.outstanding, other.outstanding)
        self.health = _highest(self.health, other.health)

    def quantile(self, share: float) -> timedelta | None:
        """Return the duration that a share of all stay at or below.

        Within 1 %, and never above the longest, which is known exactly.
        """
        near = self.latencies.quantile(share)
        if near is None or self.worst is None:
            return near
        return min(near, self.worst)

    def row(self) -> tuple[Any, ...]:
        """Return the values to store."""
        return (
            self.latencies.encode(),
            None if self.worst is None else self.worst // MICROSECOND,
            self.delivered,
            self.late,
            self.lost,
            self.duplicates,
            self.outstanding,
            None if self.health is None else int(self.health),
        )

    @classmethod
    def of_row(cls, row: Sequence[Any]) -> Self:
        """Restore what `row` returned."""
        latencies, worst, delivered, late, lost, duplicates, most, health = row
        return cls(
            latencies=LatencySketch.decode(latencies),
            worst=None if worst is None else worst * MICROSECOND,
            delivered=delivered,
            late=late,
            lost=lost,
            duplicates=duplicates,
            outstanding=most,
            health=None if health is None else Health(health),
        )


def _highest(a: _Ordered | None, b: _Ordered | None) -> _Ordered | None:
    """Return the higher of two, of which either may be missing."""
    return a if b is None else b if a is None else max(a, b)
