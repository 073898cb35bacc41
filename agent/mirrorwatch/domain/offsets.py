"""Offsets, and ranges of them, which cost as much as they have gaps."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

__all__ = [
    "LARGEST",
    "LARGEST_INT",
    "OffsetRange",
    "RangeSet",
    "name_ranges",
    "newest",
    "to_number",
    "to_record_offset",
]

LARGEST = 2**63 - 1
"""Largest offset: a ``long`` of Java, and an integer of SQLite."""

LARGEST_INT = 2**31 - 1
"""Largest number of a partition, or of anything else that is an ``int``."""


def to_number(value: Any, most: int = LARGEST) -> int:
    """Return a whole number from 0 on, given as such or as text.

    Raises
    ------
    TypeError
        Raised if it is neither.
    ValueError
        Raised if it is no such number, or a larger one.
    """
    if not isinstance(value, int | str):
        raise TypeError(f"{type(value).__name__} where a number belongs")
    number = int(value)
    if not 0 <= number <= most:
        raise ValueError(f"a number that is not from 0 to {most}")
    return number


def to_record_offset(value: Any) -> int:
    """Return the offset of a record, which is below the largest position.

    Raises
    ------
    TypeError
        Raised if it is no number.
    ValueError
        Raised if it is no such number, or a larger one.
    """
    return to_number(value, LARGEST - 1)


_NOTHING: list[int] = []
"""Of sets that are empty; never changed."""


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

    Each partition has some, nearly all of them empty: these share one list.
    """

    __slots__ = ("_firsts", "_lasts")

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        self._firsts = self._lasts = _NOTHING
        for first, last in ranges:
            self.add(first, last)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._firsts, number) - 1
        return at >= 0 and number <= self._lasts[at]

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self)

    def __bool__(self) -> bool:
        return bool(self._firsts)  # asked of each partition at each tick

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
        if not self._firsts:
            self._firsts, self._lasts = [first], [last]
            return
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


def newest(ranges: RangeSet, most: int) -> RangeSet:
    """Return the highest ranges of a set, at most so many."""
    return RangeSet(list(ranges)[-most:])


_RANGES_NAMED = 10


def name_ranges(ranges: Iterable[tuple[int, int, int]]) -> str | None:
    """Return the first ranges by partition: ``partition 1: 219-223, 230``.

    Parameters
    ----------
    ranges
        Partition, first and last offset of each.

    Returns
    -------
    str
        Ten ranges at most; `None` without any.
    """
    left = iter(ranges)
    named: dict[int, list[str]] = {}
    for partition, first, last in islice(left, _RANGES_NAMED):
        offsets = f"{first}-{last}" if first != last else f"{first}"
        named.setdefault(partition, []).append(offsets)
    parts = [f"partition {p}: {', '.join(of)}" for p, of in named.items()]
    return "; ".join(parts + ["..."] * any(True for _ in left)) or None


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets of one partition, the end excluded."""

    first: int
    end: int

    def __len__(self) -> int:
        return max(0, self.end - self.first)
