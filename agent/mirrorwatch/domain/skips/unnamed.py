"""Skipped records of which only the number is known."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..offsets import RangeSet, discard, newest, to_ranges

__all__ = ["Gaps", "UnnamedSkips"]


@dataclass(slots=True)
class UnnamedSkips:
    """Source records of which some were skipped, and it is not known which.

    Notes
    -----
    A record that is copied again is taken for one of those that had a copy, as
    long as there may be one: what was proved is not taken back before.
    """

    among: RangeSet = field(default_factory=RangeSet)
    """Their source offsets."""

    copied: int = 0
    """How many of them had a copy, which is gone."""

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
