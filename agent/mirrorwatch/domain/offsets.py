"""Offsets: what a number may be, ranges of them, and which target offsets hold
which source offsets.

Ranges cost as much as they have gaps.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

__all__ = [
    "LARGEST",
    "LARGEST_INT",
    "UNKNOWN",
    "OffsetMap",
    "OffsetRange",
    "OffsetRun",
    "RangeSet",
    "SafeStart",
    "discard",
    "name_ranges",
    "newest",
    "to_number",
    "to_ranges",
    "to_record_offset",
    "unite",
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


def unite(spans: Iterable[OffsetRange]) -> tuple[OffsetRange, ...]:
    """Return the same offsets as few ranges in order, without empty ones."""
    found = RangeSet((span.first, span.end - 1) for span in spans if len(span))
    return tuple(OffsetRange(first, last + 1) for first, last in found)


RUNS_KEPT = 64
"""Runs of one partition. A mirror that leaves nothing out has a single one;
each transaction marker, drop or rewind begins another."""

UNKNOWN = 1 << 62


@dataclass(frozen=True, slots=True)
class OffsetRun:
    """Source offsets that were copied one after the other."""

    upstream: int
    """Source offset of the first record."""

    downstream: int
    """Target offset of the first record."""

    length: int = 1

    @property
    def last_upstream(self) -> int:
        """Source offset of the last record."""
        return self.upstream + self.length - 1

    @property
    def last_downstream(self) -> int:
        """Target offset of the last record."""
        return self.downstream + self.length - 1

    def until(self, downstream: int) -> "OffsetRun":
        """Return the same run up to a target offset."""
        length = max(self.length, downstream - self.downstream + 1)
        return OffsetRun(self.upstream, self.downstream, length)


@dataclass(frozen=True, slots=True)
class SafeStart:
    """The last target offset from which a consumer surely misses nothing."""

    offset: int
    repeated: int
    """Records at most that it reads twice from there: those that it had read
    at the source, and those that the mirror wrote more than once. `UNKNOWN`
    where only the target's end would show it."""

    exact: bool


class OffsetMap:
    """Runs of records of one partition, in the order of the target.

    Parameters
    ----------
    runs
        The runs, as ``(upstream, downstream, length)``.

    Notes
    -----
    What lies between two runs is not known, except that it was copied after
    the one and before the other. It is made from offset syncs: between two
    by which both sides went on by the same number of offsets, every source
    offset is a record that was copied.
    """

    __slots__ = ("_paired", "_runs", "_taken")

    def __init__(self, runs: Iterable[tuple[int, int, int]] = ()) -> None:
        self._runs = [OffsetRun(*run) for run in runs]
        self._paired: int | None = None
        """Last target offset of the newest run that is known by a pair, where
        the ends say more; `None` if they do not."""
        self._taken = -1
        """Target offset of the pair that was taken last."""

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        return ((r.upstream, r.downstream, r.length) for r in self._runs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OffsetMap) and self._runs == other._runs

    def __hash__(self) -> int:
        raise TypeError("an OffsetMap is mutable")

    def __repr__(self) -> str:
        return f"OffsetMap({list(self)})"

    def copy(self) -> "OffsetMap":
        """Return a map that does not change with this one.

        Another thread may add to this one meanwhile: every step of that
        leaves runs that hold.
        """
        found = OffsetMap()
        found._runs, found._paired = list(self._runs), self._paired
        return found

    @property
    def last(self) -> OffsetRun | None:
        """The newest run."""
        return self._runs[-1] if self._runs else None

    def add(
        self, upstream: int, downstream: int, *, alone: bool = False
    ) -> None:
        """Take a pair of offsets of one record.

        One that comes late goes where it belongs in the target's order.

        Parameters
        ----------
        upstream, downstream
            The pair.
        alone
            Whether it says nothing of what lies before it: others wrote there.
        """
        at = len(self._runs)
        while at and self._runs[at - 1].downstream > downstream:
            at -= 1
        before = self._runs[at - 1] if at else None
        distance = upstream - downstream
        taken, self._taken = self._taken, downstream
        paired = None
        if at == len(self._runs):
            paired, self._paired = self._paired, None
        if before is not None and downstream <= before.last_downstream:
            if before.upstream - before.downstream != distance:
                # The run was none: only where it began is certain. Or the
                # ends did not say how far it goes, and pairs do.
                length = 1
                if paired is not None and paired < downstream:
                    length += paired - before.downstream
                self._runs[at - 1] = OffsetRun(
                    before.upstream, before.downstream, length
                )
                if before.downstream == downstream:
                    self._runs[at - 1] = OffsetRun(upstream, downstream)
                else:
                    self._runs.insert(at, OffsetRun(upstream, downstream))
            elif paired is not None:
                self._paired = max(paired, downstream)
        elif (
            before is not None
            and before.upstream - before.downstream == distance
            and (
                downstream == before.last_downstream + 1
                or (not alone and self._goes_on(at, taken))
            )
        ):
            self._runs[at - 1] = before.until(downstream)
            self._join(at - 1)
        else:
            self._runs.insert(at, OffsetRun(upstream, downstream))
        if len(self._runs) > RUNS_KEPT:
            self._thin_out()

    def _goes_on(self, at: int, taken: int) -> bool:
        """Return whether no run is forgotten between the one before a place
        and a pair that is taken there.

        In a full map it may be, and what lies between two that are as far
        apart may have been nearer and further again. Of a pair that is read
        again, the one that was taken before it shows that there was none.
        """
        run = self._runs[at - 1]
        return (
            at == len(self._runs)
            or len(self._runs) < RUNS_KEPT
            or run.downstream <= taken <= run.last_downstream
        )

    def split(
        self,
        strangers: Sequence[int],
        copies: Mapping[int, int],
        start: tuple[int, int],
    ) -> None:
        """Take target offsets that hold no copies, but records of others.

        A run over one has room for one record less, which may be any of it,
        as far as none was read that is as far apart.

        Parameters
        ----------
        strangers
            These target offsets, in order.
        copies
            Source offset of each copy that was read with them, by its target
            offset.
        start
            The pair behind which these were read.
        """
        if self._paired is not None:
            # The ends count the records of others, too.
            self.cut(self._paired + 1)
            self._paired = None
        upstream, downstream = start
        known = {downstream: upstream} | dict(copies)
        for at in reversed(range(len(self._runs))):
            run = self._runs[at]
            first = bisect_right(strangers, run.downstream)
            inside = strangers[
                first : bisect_right(strangers, run.last_downstream)
            ]
            if inside:
                self._runs[at : at + 1] = _pieces(run, inside, known)
        # What is taken next is not as far as from a run before the strangers.
        self.add_all(copies)

    def add_all(self, copies: Mapping[int, int]) -> None:
        """Take copies that were read.

        Parameters
        ----------
        copies
            Source offset of each, by its target offset.
        """
        for run in _finest_at_the_end(_to_runs(copies)):
            self.add(run.upstream, run.downstream, alone=True)
            if run.length > 1:
                self.add(run.last_upstream, run.last_downstream)
        while len(self._runs) > RUNS_KEPT:
            self._thin_out()

    def _join(self, at: int) -> None:
        """Join a run with the next one, if that goes on with it.

        Not in a full map: it would not be known to be one any more.
        """
        if at + 1 == len(self._runs) or len(self._runs) >= RUNS_KEPT:
            return
        run, after = self._runs[at], self._runs[at + 1]
        if (after.upstream, after.downstream) == (
            run.last_upstream + 1,
            run.last_downstream + 1,
        ):
            self._runs[at : at + 2] = [run.until(after.last_downstream)]

    def upstream_at(self, end: int) -> int | None:
        """Return the first source offset whose copy is at or above a target
        offset, as far as that is known; `None` of an empty map.
        """
        at = bisect_right(self._runs, end - 1, key=lambda r: r.downstream)
        if at:
            run = self._runs[at - 1]
            return run.upstream + min(run.length, end - run.downstream)
        if not self._runs:
            return None
        # By the first one, what is below it is as far apart.
        return self._runs[0].upstream - (self._runs[0].downstream - end)

    def cut(self, end: int) -> None:
        """Forget what is at and above a target offset."""
        self._runs = [
            OffsetRun(
                run.upstream, run.downstream, min(run.length, end - first)
            )
            for run in self._runs
            if (first := run.downstream) < end
        ]
        if self._paired is not None and self._paired >= end:
            self._paired = None

    def reaches(self, source_end: int, target_end: int) -> bool:
        """Take both ends, the target's read before the source's; return
        whether that says more than was known.

        If both are as far from the newest pair, then all that the source
        holds after it was copied once: the target has no room for more.
        """
        last = self.last
        if (
            last is None
            or target_end - 1 <= last.last_downstream
            or source_end - target_end != last.upstream - last.downstream
        ):
            return False
        if self._paired is None:
            self._paired = last.last_downstream
        self._runs[-1] = last.until(target_end - 1)
        return True

    def _thin_out(self) -> None:
        """Forget a run between two, so that the map stays fine at its end
        and becomes coarse after it.

        Where the mirror rewound the runs are needed; without any other the
        oldest one goes.
        """
        runs = self._runs
        end = runs[-1].last_downstream
        costs = [
            (
                (after.downstream - before.last_downstream)
                / (end - after.downstream + 1),
                at,
            )
            for at, (before, run, after) in enumerate(
                zip(runs, runs[1:], runs[2:], strict=False), start=1
            )
            if before.last_upstream < run.upstream
            and run.last_upstream < after.upstream
        ]
        del runs[min(costs)[1] if costs else 0]

    def start(
        self,
        committed: int,
        end: int | None = None,
        *,
        marked: bool = False,
        shared: bool = False,
    ) -> SafeStart | None:
        """Return where a consumer has to start.

        Parameters
        ----------
        committed
            Source offset of the next record that it has to read.
        end
            End of the target, if it is known.
        marked
            Whether the mirror writes in transactions: then its markers take
            room at the target, and it writes nothing twice.
        shared
            Whether two tasks of the mirror may write at once: then anything
            may lie between two runs, also what was copied before.

        Returns
        -------
        SafeStart or None
            `None` if the consumer is before all that is known.
        """
        found = _start(self._runs, committed, end, marked=marked)
        if found is None or not (
            shared or (not marked and self._is_mixed(found.offset))
        ):
            return found
        offset = min(found.offset, _first_of(self._runs, committed))
        repeated = self._most_repeated(offset, committed, end)
        return SafeStart(offset, repeated, exact=False)

    def _is_mixed(self, offset: int) -> bool:
        """Return whether from a target offset on anything may lie between two
        runs: where the mirror began before what it had copied, or the target
        grew by more than there was to copy.
        """
        highest, went_back = -1, False
        for run, after in pairwise(self._runs):
            highest = max(highest, run.last_upstream)
            if after.downstream <= offset:
                continue
            room = after.downstream - run.last_downstream - 1
            went_back |= after.upstream <= highest
            left = max(0, after.upstream - run.last_upstream - 1)
            if room > left or (went_back and room):
                return True
        return False

    def _most_repeated(
        self, offset: int, committed: int, end: int | None
    ) -> int:
        """Return how many records from a target offset on are repeated at
        most: all but those that are known to be new to a consumer.
        """
        if end is None:
            return UNKNOWN
        new = RangeSet()
        for run in self._runs:
            first = run.upstream + max(0, offset - run.downstream)
            if max(first, committed) <= run.last_upstream:
                new.add(max(first, committed), run.last_upstream)
        return max(0, end - offset - len(new))

    def is_solid(self, first: int, end: int) -> bool:
        """Return whether each of these target offsets is known to hold a
        record.
        """
        for run in self._runs:
            if run.downstream <= first <= run.last_downstream:
                first = run.last_downstream + 1
        return first >= end


def _to_runs(copies: Mapping[int, int]) -> list[OffsetRun]:
    runs: list[OffsetRun] = []
    for downstream, upstream in sorted(copies.items()):
        last = runs[-1] if runs else None
        if last is not None and (upstream, downstream) == (
            last.last_upstream + 1,
            last.last_downstream + 1,
        ):
            runs[-1] = last.until(downstream)
        else:
            runs.append(OffsetRun(upstream, downstream))
    return runs


def _finest_at_the_end(runs: Sequence[OffsetRun]) -> list[OffsetRun]:
    """Return some of many runs: a map does not keep more, and each that it
    takes and forgets costs as much as all that it keeps.
    """
    found, back = [], 1
    while back <= len(runs):
        found.append(runs[-back])
        back += 1 + back // 8
    return found[::-1]


def _pieces(
    run: OffsetRun, strangers: Sequence[int], known: Mapping[int, int]
) -> list[OffsetRun]:
    alike = [
        downstream
        for downstream, upstream in known.items()
        if upstream - downstream == run.upstream - run.downstream
        and run.downstream <= downstream <= run.last_downstream
    ]
    low = max((d for d in alike if d < strangers[0]), default=run.downstream)
    found = [OffsetRun(run.upstream, run.downstream).until(low)]
    if strangers[-1] < run.last_downstream:
        behind = (d for d in alike if d > strangers[-1])
        high = min(behind, default=run.last_downstream)
        upstream = run.upstream + high - run.downstream
        found.append(OffsetRun(upstream, high).until(run.last_downstream))
    return found


def _start(
    runs: Sequence[OffsetRun], committed: int, end: int | None, *, marked: bool
) -> SafeStart | None:
    at = len(runs) - 1
    while at >= 0 and runs[at].upstream > committed:
        at -= 1
    if at < 0:
        return None
    run = runs[at]
    unread = max(0, committed - run.last_upstream - 1)
    offset = run.downstream + committed - run.upstream - unread
    following = runs[at + 1].downstream if at + 1 < len(runs) else end
    room = unread if following is None else max(0, following - offset)
    tops = _tops(runs, end, marked=marked)
    again, is_known = _written_again(runs[at:], tops[at:], committed)
    repeated = min(unread, room) + again
    highest = max(tops[:at], default=-1)
    if max(committed, run.last_upstream + 1) <= highest:
        # The mirror rewound, and may have dropped when it read again what
        # it had copied before: then that copy is the only one.
        earlier = _start(runs[:at], committed, run.downstream, marked=marked)
        if earlier is None:
            return None
        return SafeStart(
            min(earlier.offset, offset),
            repeated + max(0, offset - earlier.offset),
            exact=False,
        )
    return SafeStart(
        offset, repeated, exact=is_known and min(unread, room) == 0
    )


def _first_of(runs: Sequence[OffsetRun], committed: int) -> int:
    """Return the first target offset that may hold what a consumer has to
    read, whichever of two tasks wrote between the runs.
    """
    top = -1
    for at, run in enumerate(runs):
        if run.last_upstream >= committed:
            return run.downstream + max(0, committed - run.upstream)
        # Whoever is ahead may have gone on.
        top = max(top, run.last_upstream)
        first = run.last_downstream + 1
        found = first + committed - top - 1
        if at + 1 == len(runs) or found < runs[at + 1].downstream:
            return found
        top += runs[at + 1].downstream - first
    return 0


def _tops(
    runs: Sequence[OffsetRun], end: int | None, *, marked: bool
) -> list[int]:
    """Return for each run the highest source offset that may have been copied
    in it, or before the next one.
    """
    found = []
    for run, after in pairwise(runs):
        room = after.downstream - run.last_downstream - 1
        left = after.upstream - run.last_upstream - 1
        # Where the target grew by more, it rewound in between.
        went_on = left >= 0 and (marked or room <= left)
        top = min(room, left) if went_on else room
        found.append(run.last_upstream + top)
    last = runs[-1]
    room = UNKNOWN if end is None else end - last.last_downstream - 1
    return [*found, last.last_upstream + max(0, room)]


def _written_again(
    runs: Sequence[OffsetRun], tops: Sequence[int], committed: int
) -> tuple[int, bool]:
    """Return how many records that a consumer has yet to read some runs hold
    more than once at most, and whether that is their number.
    """
    found, highest, is_known = 0, -1, True
    for at in range(1, len(runs)):
        run, before = runs[at], runs[at - 1]
        highest = max(highest, tops[at - 1])
        first = max(run.upstream, committed)
        found += max(0, min(highest, tops[at]) - first + 1)
        is_known &= before.last_downstream + 1 == run.downstream
    is_known &= highest <= runs[-1].last_upstream
    if not found or not is_known:
        return found, not found
    spans = [
        (max(run.upstream, committed), run.last_upstream)
        for run in runs
        if run.last_upstream >= committed
    ]
    records = sum(last - first + 1 for first, last in spans)
    return records - len(RangeSet(spans)), True
