"""What was read of a stretch, and which record is a copy of which."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .model import OffsetPair, RangeRequest

__all__ = ["RangeContent", "Trace", "has_marks", "has_strangers", "trace"]


Fingerprint = int
"""What a mirror leaves alone of a record, as one number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RangeContent:
    """The records of a stretch on both sides, without control records."""

    source: Mapping[int, Fingerprint] = field(default_factory=dict)
    """By offset, ascending; what the mirror would read now."""

    target: Mapping[int, Fingerprint] = field(default_factory=dict)
    """By offset, ascending."""

    source_start: int = 0
    """Lowest offset that the source still had."""

    target_start: int = 0
    """Lowest offset that the target still had."""

    source_compacted: bool = False
    """Whether the source removes records before their time."""

    target_compacted: bool = False
    """Whether the target does."""


@dataclass(slots=True)
class Trace:
    """The stretch of the target, record by record."""

    copied: list[int] = field(default_factory=list)
    """Source offsets, in the order of the target."""

    strangers: int = 0
    """Target records that are no copy of anything that was read."""

    holes: int = 0
    """Target offsets without a record, where these may have been records:
    removed by compaction or expired. Control records are none of them."""

    highest: int = -1
    """Highest source offset that was copied for sure: others look alike."""

    last: OffsetPair | None = None
    """The last copy that is sure."""


def trace(inquiry: RangeRequest, reading: RangeContent) -> Trace:
    """Say of every target offset of a stretch what it is a copy of.

    Notes
    -----
    A mirror goes on where it was, so of several records that look alike the
    next one after the last copy is taken; only if there is none behind, the
    mirror went back. Where many look alike it may have gone back all the
    same: such copies do not tell how far it came.

    A mirror that alters what it copies has nothing that looks alike: known
    pairs tell. Then its records are taken in the order of the source.

    A pair is not believed where the target has a copy of another record: it
    speaks of another topic, to which a transform sent that one.
    """
    places: dict[int, list[int]] = {}
    for offset, look in reading.source.items():
        places.setdefault(look, []).append(offset)
    found = Trace()
    alike = _are_alike(reading)
    known = {
        p.downstream: p.upstream
        for p in inquiry.points
        if reading.target.get(p.downstream) not in places
        or p.upstream not in reading.source
        or reading.target[p.downstream] == reading.source[p.upstream]
    }
    offsets = sorted(reading.source)
    at = inquiry.start.upstream
    for down in range(inquiry.target.first, inquiry.target.end):
        is_sure = down in known
        if is_sure:
            at = known[down]
        elif down not in reading.target:
            is_gone = down < reading.target_start
            found.holes += is_gone or reading.target_compacted
            continue
        else:
            look = reading.target[down]
            after = _next(places.get(look, ()), at, alike=alike)
            if after is None and not alike:
                after = _next(offsets, at, alike=False)
            if after is None:
                found.strangers += 1
                continue
            at = after
            is_sure = alike and len(places[look]) == 1
        found.copied.append(at)
        if is_sure:
            found.highest = max(found.highest, at)
            found.last = OffsetPair(at, down)
    return found


def has_marks(inquiry: RangeRequest, reading: RangeContent) -> bool:
    """Tell whether the target holds control records: it is longer than its
    records, and nothing removed any.
    """
    first = max(inquiry.target.first, reading.target_start)
    inside = range(first, inquiry.target.end)
    return not reading.target_compacted and len(inside) > len(reading.target)


def has_strangers(inquiry: RangeRequest, reading: RangeContent) -> bool:
    """Tell whether the target holds records that are no copy of those read."""
    return trace(inquiry, reading).strangers > 0


def _next(places: Sequence[int], at: int, *, alike: bool) -> int | None:
    """Return the first place behind one, or if there is none the first."""
    behind = bisect_right(places, at)
    if behind < len(places):
        return places[behind]
    return places[0] if places and alike else None


def _are_alike(reading: RangeContent) -> bool:
    """Tell whether a copy looks like its record."""
    if not reading.source or not reading.target:
        return True
    return not set(reading.source.values()).isdisjoint(reading.target.values())
