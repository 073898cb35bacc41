"""Offsets that a mirror passed over, until the log's start tells why."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..view import ClusterView, TopicPartition
from .books import ResetBooks
from .event import Kind

__all__ = ["Gaps"]

KEPT = timedelta(minutes=2)
"""How long a gap waits for the log's start: that is read every 30 s, and one
that moves later has passed records that were there to be read."""


@dataclass(frozen=True, slots=True)
class _Gap:
    place: TopicPartition
    first: int
    end: int
    at: datetime


@dataclass(slots=True)
class Gaps:
    """What was passed over and had not been seen to expire.

    A mirror that is started, or that is overrun while it works, goes on at
    the log's start before two surveys have seen that it lies beyond the
    position; and nobody looks while the agent is away.

    Notes
    -----
    A log that now begins within a gap, or where it ends, is what the mirror
    met. Anything else that it passed over, markers and what was dropped, is
    told by the skips.
    """

    _gaps: list[_Gap] = field(default_factory=list)

    def note(
        self, place: TopicPartition, first: int, end: int, at: datetime
    ) -> None:
        """Take the source offsets between two copies."""
        self._gaps.append(_Gap(place, first, end, at))

    def look(
        self, books: ResetBooks, source: ClusterView, at: datetime
    ) -> None:
        """Find those at which the log began when they were passed."""
        kept = []
        for gap in self._gaps:
            start = source.starts.get(gap.place, 0)
            if gap.first < start <= gap.end:
                found = books.begin(
                    Kind.EXPIRED,
                    gap.place[0],
                    at,
                    partition=gap.place[1],
                    first=gap.first,
                    end=gap.end,
                )
                books.change(found, settled=at)
            elif start <= gap.first and at - gap.at <= KEPT:
                kept.append(gap)
        self._gaps = kept
