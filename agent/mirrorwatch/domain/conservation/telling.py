"""Telling what a stretch held, and how much of it still holds."""

from datetime import datetime

from .epoch import Epoch
from .happening import Happening
from .offsets import newest
from .settle import Found

__all__ = ["still_missing", "tell"]

_RANGES_TOLD = 20
"""Ranges that one happening names."""


def tell(epoch: Epoch, found: Found, now: datetime) -> Happening:
    """Return what a stretch held as something that happened."""
    return Happening(
        kind=found.kind,
        topic=epoch.topic,
        partition=epoch.partition,
        source_id=epoch.source_id,
        ranges=tuple(newest(found.ranges, _RANGES_TOLD)),
        count=found.count,
        at=now,
    )


def still_missing(happening: Happening, epoch: Epoch | None) -> int:
    """Return how many of its records are in the books as skipped.

    All of them, if the topic has been made again: they will not come.
    """
    if epoch is None or epoch.source_id != happening.source_id:
        return happening.count
    named = sum(b - a + 1 for a, b in happening.ranges)
    still = sum(
        min(b, last) - max(a, first) + 1
        for a, b in happening.ranges
        for first, last in epoch.skipped
        if max(a, first) <= min(b, last)
    )
    return happening.count - named + still
