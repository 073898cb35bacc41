"""The books of one partition, for one incarnation of both topics."""

from dataclasses import dataclass, field
from datetime import datetime

from ..ranges import RangeSet
from .inquiry import Point, is_clean
from .offsets import discard, newest
from .tally import Tally

__all__ = ["Epoch"]

_RANGES_KEPT = 200
"""Skipped ranges kept by offset for each partition, the newest: a person
reads a few, and a filter that drops every other record must not fill the
disk. Those forgotten stay counted, and are never taken back."""

_AHEAD_KEPT = 2000
"""Pairs that wait while a stretch is read. Beyond, every other one is let go,
as if the mirror had not written it: the same in total, less in detail."""

_CADENCE = 101
"""Target offsets after which MirrorMaker 2 writes a pair if nothing else
makes it (``offset.lag.max`` is 100)."""

_HEADS_KEPT = 3
"""Places where a writer was when another one took over. Two write at once
when a frozen mirror thaws; more than three never were seen."""


@dataclass(kw_only=True)
class Epoch:
    """The books of one partition, for one incarnation of both topics.

    Notes
    -----
    Everything up to the cursor is in the books. Every source record below
    `frontier` was copied at least once, unless it is in `skipped`. What is
    skipped is a set, so a record that is dropped again when a stretch is read
    again counts once, and a later copy takes it out.
    """

    topic: str
    partition: int
    source_id: str
    target_id: str | None = None
    """`None` until the mirror has made the topic."""

    since: datetime | None = None
    """When these ids were first seen in the place of others: what the mirror
    wrote before speaks of those. `None` if they were there first."""

    upstream: int | None = None
    """Cursor: source offset; `None` until a first pair is known."""

    downstream: int = -1
    """Cursor: target offset."""

    frontier: int = -1
    """Highest source offset that the mirror is known to have passed."""

    is_head: bool = False
    """Whether nothing has been copied yet, so that the first copy must be
    the first record."""

    widened: bool = False
    """Whether the next stretch is to be read with more around it."""

    start_before: int = 0
    """Log start of the source before the newest pairs were written."""

    noisy: bool = False
    """Whether the target was seen to hold what is no copy: marks of
    transactions or records of others, which could hide a drop."""

    skipped: RangeSet = field(default_factory=RangeSet)
    doubtful: RangeSet = field(default_factory=RangeSet)
    """Passed over, or copied in a way that cannot be recognised."""

    heads: list[int] = field(default_factory=list)
    """Where writers were when another one took over, until one alone has
    gone on."""

    ahead: list[Point] = field(default_factory=list)
    """Pairs not yet in the books, in the order of the target."""

    @property
    def cursor(self) -> Point | None:
        """Where the books end."""
        if self.upstream is None:
            return None
        return Point(self.upstream, self.downstream)

    def begin(self, upstream: int, downstream: int) -> None:
        """Begin the books at a pair; what was before is not judged."""
        self.upstream, self.downstream = upstream, downstream
        self.frontier = upstream

    def queue(self, point: Point) -> None:
        """Take a pair. One from behind the books' end is late: a stretch that
        was booked without it was read, or had no room for it.
        """
        places = [p.downstream for p in self.ahead]
        if point.downstream <= self.downstream or point.downstream in places:
            return
        self.ahead.append(point)
        if places and places[-1] > point.downstream:
            self.ahead.sort(key=lambda p: p.downstream)
        if len(self.ahead) > _AHEAD_KEPT:
            self.ahead = [*self.ahead[1:-1:2], self.ahead[-1]]

    def go_on(self, tally: Tally) -> bool:
        """Book what needs no reading; tell whether anything was."""
        went = False
        while self.ahead and self.upstream is not None:
            before = Point(self.upstream, self.downstream)
            after = self.ahead[0]
            if not self.explains(before, after):
                break
            if after.downstream - before.downstream >= _CADENCE:
                self.heads = []
            self.copy_run(self.upstream + 1, after.upstream, tally)
            self.move(after)
            went = True
        return went

    def explains(self, before: Point, after: Point) -> bool:
        """Tell whether two pairs need no reading.

        Notes
        -----
        A pair off the cadence is written where something was left out. If
        it did not change the difference, and others write to the target, or
        another task of the mirror did just now, one of theirs may stand in
        the place of what was dropped.
        """
        length = after.downstream - before.downstream
        has_others = self.noisy or bool(self.heads)
        hides = has_others and 1 < length < _CADENCE
        return is_clean(before, after) and not hides

    def move(self, to: Point) -> None:
        """Set the cursor, and let go of the pairs up to it."""
        self.upstream, self.downstream = to.upstream, to.downstream
        self.is_head = False
        self.ahead = [p for p in self.ahead if p.downstream > to.downstream]

    def copy_run(self, first: int, last: int, tally: Tally) -> None:
        """Book that each offset from first to last was copied once more."""
        again = min(last, self.frontier)
        if first <= again:
            tally.repeated += self.copy_again(first, again, tally)
        self.frontier = max(self.frontier, last)

    def copy_again(self, first: int, last: int, tally: Tally) -> int:
        """Book copies of offsets that were passed before; return how many of
        them are repeats.
        """
        repeats = last - first + 1
        if len(self.skipped):
            self.skipped, recovered = discard(self.skipped, first, last)
            tally.recovered += recovered
            repeats -= recovered
        if len(self.doubtful):
            self.doubtful, settled = discard(self.doubtful, first, last)
            repeats -= settled
        return repeats

    def doubt(self, ranges: RangeSet) -> None:
        """Remember offsets of which it is not known whether they were
        copied: a copy of them may be the first one.
        """
        for first, last in ranges:
            self.doubtful.add(first, last)
        self.doubtful = newest(self.doubtful, _RANGES_KEPT)

    def skip(self, ranges: RangeSet, tally: Tally) -> None:
        """Book offsets as passed over."""
        tally.skipped += len(ranges)
        for first, last in ranges:
            self.skipped.add(first, last)
        self.skipped = newest(self.skipped, _RANGES_KEPT)

    def leave_head(self, head: int) -> None:
        """Remember where a writer was when another one took over."""
        kept = [h for h in self.heads if h != head]
        self.heads = [*kept, head][-_HEADS_KEPT:]
