"""Ranges of offsets, and sets of them that cost as much as they have gaps."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

__all__ = [
    "OffsetRange",
    "RangeSet",
    "discard",
    "newest",
    "to_ranges",
    "unite",
]


class RangeSet:
    """Whole numbers, kept as inclusive ranges.

    Parameters
    ----------
    ranges
        ``(first, last)`` pairs, inclusive, in any order.

    Notes
    -----
    Millions of probes in a row are one range, so remembering every one that
    ever arrived costs nothing, and a second arrival is recognised however
    late it comes.
    """

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for first, last in ranges:
            self.add(first, last)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._firsts, number) - 1
        return at >= 0 and number <= self._lasts[at]

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._firsts, self._lasts, strict=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RangeSet) and list(self) == list(other)

    def __hash__(self) -> int:
        raise TypeError("a RangeSet is mutable")

    def __repr__(self) -> str:
        return f"RangeSet({list(self)})"

    def count(self, first: int, last: int) -> int:
        """Return how many numbers it has from first to last."""
        low = max(0, bisect_right(self._firsts, first) - 1)
        high = bisect_right(self._firsts, last)
        return sum(
            max(0, min(b, last) - max(a, first) + 1)
            for a, b in zip(
                self._firsts[low:high], self._lasts[low:high], strict=True
            )
        )

    def add(self, first: int, last: int | None = None) -> None:
        """Add one number, or every number from first to last."""
        last = first if last is None else last
        low = bisect_right(self._firsts, first) - 1
        if low < 0 or self._lasts[low] < first - 1:
            low += 1
        high = bisect_right(self._firsts, last + 1)
        if low < high:
            first = min(first, self._firsts[low])
            last = max(last, self._lasts[high - 1])
        self._firsts[low:high] = [first]
        self._lasts[low:high] = [last]

    def remove(self, number: int) -> None:
        """Remove one number.

        Raises
        ------
        KeyError
            Raised if the number is not in the set.
        """
        if number not in self:
            raise KeyError(number)
        at = bisect_right(self._firsts, number) - 1
        first, last = self._firsts[at], self._lasts[at]
        parts = [(first, number - 1), (number + 1, last)]
        kept = [(a, b) for a, b in parts if a <= b]
        self._firsts[at : at + 1] = [a for a, _ in kept]
        self._lasts[at : at + 1] = [b for _, b in kept]


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


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets of one partition, the end excluded."""

    first: int
    end: int

    def __len__(self) -> int:
        return max(0, self.end - self.first)


def unite(spans: Iterable[OffsetRange]) -> tuple[OffsetRange, ...]:
    """Return the same offsets as few ranges in order, without empty ones."""
    found = RangeSet((span.first, span.end - 1) for span in spans if len(span))
    return tuple(OffsetRange(first, last + 1) for first, last in found)
