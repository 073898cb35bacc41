"""Copies of which it is not known what they are of, and skipped records of
which only the number is known.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..offsets import RangeSet, discard, newest, to_ranges

__all__ = [
    "Gaps",
    "UnknownCopy",
    "UnnamedSkips",
    "explain",
    "explain_instead",
    "part_expired",
    "without_compacted",
]


@dataclass(slots=True)
class UnnamedSkips:
    """Source records of which some were skipped, and it is not known which.

    Notes
    -----
    A record that is copied again is taken for one of those that had a copy, as
    long as there may be one: what was proved is not taken back before.
    """

    among: RangeSet = field(default_factory=RangeSet)
    copied: int = 0

    @property
    def count(self) -> int:
        """How many of them were skipped."""
        return len(self.among) - self.copied

    def add(self, among: RangeSet, count: int, most: int) -> None:
        """Record that so many of some records were skipped.

        Parameters
        ----------
        among
            Their source offsets.
        count
            How many of them.
        most
            How many ranges to keep, the newest.
        """
        count += self.count
        self.among = newest(RangeSet([*self.among, *among]), most)
        self.copied = max(0, len(self.among) - count)

    def copy_again(self, first: int, last: int) -> tuple[int, int]:
        """Record that each offset from first to last was copied.

        Returns
        -------
        tuple
            How many of these records that are, and how many of them are no
            longer skipped.
        """
        self.among, found = discard(self.among, first, last)
        copied = min(found, self.copied)
        self.copied -= copied
        return found, found - copied


class Gaps:
    """Where it is not known which records have a copy that is gone.

    Parameters
    ----------
    copied
        Source offsets of all copies, ascending; none where the mirror did not
        go on in order.
    gone
        Source offset before each copy that is gone from the target.
    doubtful
        Source offsets of records that may have such a copy: as many as do.

    Notes
    -----
    A mirror goes on where it was: a copy that is gone may be of any record
    between the same two copies, not only of the next one.
    """

    def __init__(
        self, copied: Sequence[int], gone: Iterable[int], doubtful: set[int]
    ) -> None:
        self._copied = copied
        self._doubtful = doubtful
        self._gaps = {bisect_right(copied, at) for at in gone} & {
            self._gap(offset) for offset in doubtful
        }

    def find(self, skipped: Iterable[int]) -> list[int]:
        """Return those of some skipped records that cannot be named."""
        return [o for o in skipped if self._gap(o) in self._gaps]

    def split(self, skipped: Sequence[int]) -> Iterator[tuple[RangeSet, int]]:
        """Yield offsets, and how many of them were skipped: all, or fewer
        where it is not known which.
        """
        unnamed = set(self.find(skipped))
        if named := [o for o in skipped if o not in unnamed]:
            yield to_ranges(named), len(named)
        if unnamed:
            gaps = {self._gap(o) for o in unnamed}
            doubtful = {o for o in self._doubtful if self._gap(o) in gaps}
            yield to_ranges(sorted(unnamed | doubtful)), len(unnamed)

    def _gap(self, offset: int) -> int:
        return bisect_left(self._copied, offset)


class UnknownCopy(NamedTuple):
    """A target offset of which it is not known what it is a copy of."""

    at: int
    """Source offset that the mirror was at before."""

    until: int
    """Source offset that was copied next, -1 if nothing was."""

    is_gone: bool
    """Whether compaction or retention has removed it. Else it is no copy of
    anything that was read."""


def without_compacted(
    unknown: Iterable[UnknownCopy],
    source: Sequence[int],
    start: int,
    present: Sequence[int],
) -> list[UnknownCopy]:
    """Return the copies that are not recognised, but those of records that
    compaction took at the source.

    Parameters
    ----------
    unknown
        All of them.
    source
        Source offsets of the records that are left, ascending.
    start
        Log start at the source.
    present
        Those of them that have no copy which is recognised.

    Notes
    -----
    A mirror goes on where it was: what it copied between two records is of
    those that lie between them. Where one of these has no copy, any of the
    copies may be its.
    """
    explained = Counter[tuple[int, int]]()
    left = list[UnknownCopy]()
    for each in unknown:
        at, until, _ = each
        room = max(0, until - max(at, start - 1) - 1)
        room -= bisect_left(source, until) - bisect_right(source, at)
        is_back = until <= at  # then it may be of what lies elsewhere
        is_doubted = bisect_left(present, until) > bisect_right(present, at)
        if is_back or is_doubted or explained[at, until] >= room:
            left.append(each)
        else:
            explained[at, until] += 1
    return left


def part_expired(
    unknown: Sequence[UnknownCopy], gone: range, copied: Sequence[int]
) -> tuple[list[UnknownCopy], list[UnknownCopy]]:
    """Return the copies that are not recognised and may be of records that
    are still there, and others.

    Those are of records that are gone, behind where the mirror was. If it
    was behind all of these, they are more likely of what it read next.
    """
    left, expired = list[UnknownCopy](), list[UnknownCopy]()
    for each in unknown:
        behind = len(range(max(gone.start, each.at + 1), gone.stop))
        behind -= len(copied) - bisect_right(copied, each.at)
        (expired if len(expired) < behind else left).append(each)
    return left, expired


def explain(
    present: Sequence[int], unknown: Sequence[UnknownCopy]
) -> set[int]:
    """Return which records may have a copy that is not recognised.

    As many as there are such copies; the mirror goes on where it was, so the
    next one that lacks a copy.
    """
    found, left = set(), list(present)
    for each in unknown[: len(left)]:
        behind = bisect_right(left, each.at)
        found.add(left.pop(behind if behind < len(left) else 0))
    return found


def explain_instead(
    present: Sequence[int],
    expired: Sequence[UnknownCopy],
    *,
    is_ordered: bool,
) -> set[int]:
    """Return which records may have a copy that is gone and was taken for one
    of what has expired at the source.
    """
    found, left = set(), list(present)
    for each in expired:
        first = bisect_right(left, each.at) if is_ordered else 0
        is_before = is_ordered and each.until >= 0
        if (
            each.is_gone
            and first < len(left)
            and not (is_before and left[first] > each.until)
        ):
            found.add(left.pop(first))
    return found
