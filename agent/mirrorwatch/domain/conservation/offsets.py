"""Sets of offsets: what `RangeSet` has no method for."""

from collections.abc import Iterable

from ..ranges import RangeSet

__all__ = ["discard", "newest", "to_ranges"]


def discard(ranges: RangeSet, first: int, last: int) -> tuple[RangeSet, int]:
    """Return a set without the numbers from first to last, and how many of
    them it had.
    """
    kept = RangeSet()
    gone = 0
    for low, high in ranges:
        overlap = min(high, last) - max(low, first) + 1
        if overlap <= 0:
            kept.add(low, high)
            continue
        gone += overlap
        if low < first:
            kept.add(low, first - 1)
        if high > last:
            kept.add(last + 1, high)
    return kept, gone


def to_ranges(offsets: Iterable[int]) -> RangeSet:
    """Return a set of these numbers, given in order."""
    ranges: list[tuple[int, int]] = []
    for offset in offsets:
        if ranges and ranges[-1][1] == offset - 1:
            ranges[-1] = (ranges[-1][0], offset)
        else:
            ranges.append((offset, offset))
    found = RangeSet()
    for first, last in ranges:
        found.add(first, last)
    return found


def newest(ranges: RangeSet, most: int) -> RangeSet:
    """Return the highest ranges of a set, at most so many."""
    return RangeSet(list(ranges)[-most:])
