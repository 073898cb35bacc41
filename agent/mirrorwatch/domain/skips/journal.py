"""The journal of what was found: bounded by adding up, not by forgetting."""

from collections.abc import Hashable, Iterable
from dataclasses import replace
from datetime import timedelta

from ..offset_ranges import RangeSet, newest
from .model import SkipEvent, SkipKind

__all__ = ["LOSSES", "sum_up"]


LOSSES = frozenset(
    {SkipKind.SKIPPED, SkipKind.HEAD, SkipKind.TAIL, SkipKind.SAMPLED}
)
"""What proves that records are missing."""

_RANGES_KEPT = 20
"""Ranges that events added together name, the newest."""

_TOGETHER = timedelta(minutes=5)
"""Time within which events of a partition are added first: so they end at
most that much later than each would alone."""


def sum_up(events: Iterable[SkipEvent], most: int) -> list[SkipEvent]:
    """Return a journal in which nothing pushes another thing out.

    Parameters
    ----------
    events
        The journal, the newest last.
    most
        How many losses, how many of filtered topics, and how many other
        events stay as they are: the newest. Those before are added by kind
        and partition.
    """
    every = list(events)
    losses = [e for e in every if e.kind in LOSSES and not e.filtered]
    filtered = [e for e in every if e.kind in LOSSES and e.filtered]
    others = [e for e in every if e.kind not in LOSSES]
    parts = (losses, filtered, others)
    if all(len(part) <= most for part in parts):
        return every
    kept = [event for part in parts for event in _sum_up(part, most)]
    return sorted(kept, key=lambda e: e.at)


def _sum_up(events: list[SkipEvent], most: int) -> list[SkipEvent]:
    older, young = events[:-most], events[-most:]
    added = _add(older, _TOGETHER)
    return [*(added if len(added) <= most else _add(added)), *young]


def _add(
    events: Iterable[SkipEvent], span: timedelta | None = None
) -> list[SkipEvent]:
    """Add those of one kind and partition, and of one span of time."""
    found: dict[Hashable, SkipEvent] = {}
    for event in events:
        time = span and event.at.timestamp() // span.total_seconds()
        key = (event.kind, event.place, event.source_id, time)
        before = found.pop(key, None)
        found[key] = event if before is None else _join(before, event)
    return list(found.values())


def _join(before: SkipEvent, event: SkipEvent) -> SkipEvent:
    ranges = RangeSet([*before.ranges, *event.ranges])
    return replace(
        event,
        ranges=tuple(newest(ranges, _RANGES_KEPT)),
        count=before.count + event.count,
        at=max(before.at, event.at),
    )
