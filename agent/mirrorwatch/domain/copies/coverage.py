"""Interval map of one partition: the state of each source offset.

Evidence only ever puts intervals into it; positions, losses, group starts and
failback are queries to it.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

__all__ = ["Coverage", "OffsetPair", "Span", "State"]


@dataclass(frozen=True, slots=True, order=True)
class OffsetPair:
    """Target and source offset of one record."""

    target: int
    source: int


class State(StrEnum):
    """State of some source offsets; those without one were never judged."""

    COPIED = "copied"
    """Consecutive records, copied to consecutive target offsets."""

    ABSENT = "absent"
    """Proved: the mirror's position is beyond them, and no copy exists."""

    EMPTY = "empty"
    """No record: transaction markers, or compacted."""

    UNKNOWN = "unknown"
    """Unverifiable: the position is beyond them, no copy is proved."""


@dataclass(frozen=True, slots=True)
class Span:
    """Source offsets of one state."""

    first: int
    end: int
    """First offset after it."""

    state: State
    target: int = -1
    """Target offset of the newest copy of the first record if they were
    copied. Of unverifiable ones the lowest offset at which a copy may be;
    else -1."""

    slack: int = 0
    """Of joined spans: offsets at most of which there is no copy, and by which
    copies are lower than consecutive ones. That of the n-th offset is at
    `target + n - slack` or above."""

    reach: int = -1
    """Of joined spans: target offset after all copies; else -1."""

    def __len__(self) -> int:
        return self.end - self.first

    @property
    def target_end(self) -> int:
        """Target offset after the copies."""
        return self.target + len(self) if self.reach < 0 else self.reach

    @property
    def is_exact(self) -> bool:
        """Target offset of each copy is known."""
        return self.state is State.COPIED and self.reach < 0

    def clip(self, first: int, end: int) -> "Span":
        """Return the part within some source offsets."""
        first, end = max(first, self.first), min(end, self.end)
        target, skipped = self.target, first - self.first - self.slack
        if self.state is State.COPIED:
            target += max(0, skipped)
        return Span(first, end, self.state, target, self.slack, self.reach)

    def continues(self, before: "Span") -> bool:
        """Return whether both are one span."""
        if before.end != self.first or self.state is not before.state:
            return False
        if self.state is State.COPIED:
            return (
                self.is_exact
                and before.is_exact
                and before.target_end == self.target
            )
        return before.target == self.target

    def join(self, after: "Span") -> "Span":
        """Return one span for this and the next one, none of them absent."""
        both = [s for s in (self, after) if s.state is not State.EMPTY]
        target = min((s.target for s in both), default=0)
        states = {self.state, after.state}
        if State.UNKNOWN in states or self.end != after.first:
            return Span(self.first, after.end, State.UNKNOWN, target)
        if not both:
            return replace(self, end=after.end)
        slack = sum(
            len(s) if s.state is State.EMPTY else s.slack
            for s in (self, after)
        )
        if after.state is State.COPIED:
            lower = target + len(self) - after.target
            slack = max(slack, lower + after.slack)
        reach = max(s.target_end for s in both)
        return Span(self.first, after.end, State.COPIED, target, slack, reach)


SPANS_KEPT = 64
"""Spans of one partition, those of absent records apart. A mirror that leaves
nothing out has one; each transaction marker, drop or rewind begins others."""

ABSENT_KEPT = 200
"""Spans of absent records of one partition, the newest."""


@dataclass(slots=True)
class Coverage:
    """Spans of one partition in the order of the source.

    Nothing is known of what lies before and between them. The map is bounded:
    old spans are joined, so that they become less exact.
    """

    spans: list[Span] = field(default_factory=list)
    absent_from: int = 0
    """Source offset below which absent records are forgotten, and in spans of
    others."""

    def copy(self) -> "Coverage":
        """Return a map that does not change with this one."""
        return Coverage(list(self.spans), self.absent_from)

    @property
    def end(self) -> int:
        """First source offset above all spans."""
        return self.spans[-1].end if self.spans else 0

    def put(
        self, first: int, end: int, state: State, target: int = -1
    ) -> Counter[State]:
        """Set the state of some offsets.

        Returns
        -------
        Counter
            Offsets of them by the state that they had.
        """
        if first >= end:
            return Counter()
        if state is State.UNKNOWN:
            target = max(0, target)
        spans = self.spans
        low = bisect_right(spans, first, key=lambda s: s.end)
        high = low
        before: Counter[State] = Counter()
        kept: list[Span] = []
        while high < len(spans) and spans[high].first < end:
            span = spans[high]
            before[span.state] += len(span.clip(first, end))
            if span.first < first:
                kept.append(span.clip(span.first, first))
            if span.end > end:
                kept.append(span.clip(end, span.end))
            high += 1
        low, high = max(0, low - 1), high + 1
        beside = [
            s for s in spans[low:high] if s.end <= first or s.first >= end
        ]
        new = Span(first, end, state, target)
        found: list[Span] = []
        for span in sorted([*beside, *kept, new], key=lambda s: s.first):
            if found and span.continues(found[-1]):
                found[-1] = replace(found[-1], end=span.end)
            else:
                found.append(span)
        spans[low:high] = found
        return before

    def within(self, first: int, end: int) -> Iterator[Span]:
        """Yield the parts of spans within some source offsets."""
        at = bisect_right(self.spans, first, key=lambda s: s.end)
        for span in self.spans[at:]:
            if span.first >= end:
                return
            is_whole = first <= span.first and span.end <= end
            yield span if is_whole else span.clip(first, end)

    def gaps(self, first: int, end: int) -> list[range]:
        """Return the source offsets of some that have no state."""
        found, at = [], first
        for span in self.within(first, end):
            if at < span.first:
                found.append(range(at, span.first))
            at = span.end
        if at < end:
            found.append(range(at, end))
        return found

    def count(self, state: State, first: int, end: int) -> int:
        """Return how many of some source offsets have a state."""
        return sum(
            len(span)
            for span in self.within(first, end)
            if span.state is state
        )

    def state(self, offset: int) -> State | None:
        """Return the state of an offset, `None` if none is known."""
        found = next(self.within(offset, offset + 1), None)
        return None if found is None else found.state

    def of(self, state: State, start: int = 0) -> list[Span]:
        """Return the spans of a state from a source offset on."""
        return [s for s in self.within(start, self.end) if s.state is state]

    def truncate_source(self, end: int) -> None:
        """Forget all from a source offset on: the source was truncated."""
        self.spans = list(self.within(0, end))

    def truncate_target(
        self, end: int, kept_to: int | None = None
    ) -> list[Span]:
        """Forget copies: the target was truncated.

        Parameters
        ----------
        end
            Log end of the target then: unverifiable records without room for
            a copy below are judged again.
        kept_to
            Target offset from which on copies are forgotten; by default the
            end.

        Returns
        -------
        list
            Spans of those records.
        """
        kept_to = end if kept_to is None else kept_to
        kept, gone = [], []
        for span in self.spans:
            may_be_gone = span.state is State.UNKNOWN and span.target >= end
            if not may_be_gone and (
                span.state is not State.COPIED or span.target_end <= kept_to
            ):
                kept.append(span)
                continue
            first = span.first
            if span.is_exact and span.target < kept_to:
                first += kept_to - span.target
                kept.append(span.clip(span.first, first))
            gone.append(span.clip(first, span.end))
        self.spans = kept
        return gone

    def last_copy_before(self, target: int) -> OffsetPair | None:
        """Return the last known copy below a target offset."""
        found = []
        for span in self.of(State.COPIED):
            last = min(span.target_end, target) - 1
            if span.is_exact and span.target <= last:
                found.append(OffsetPair(last, span.first + last - span.target))
        return max(found, default=None)

    def start(self, committed: int, end: int) -> int | None:
        """Return the last target offset from which a consumer misses nothing.

        Parameters
        ----------
        committed
            Source offset of the next record that it has to read.
        end
            Target offset from which on all copies are of records above the
            last span.

        Returns
        -------
        int or None
            `None` if a record that it has to read is before or between spans.
        """
        best, at = end, committed
        for span in self.within(committed, self.end):
            if span.first > at:
                return None
            if span.state in {State.COPIED, State.UNKNOWN}:
                best = min(best, span.target)
            at = span.end
        return best

    def count_unread(self, committed: int, start: int) -> int:
        """Return how many copies from a target offset on a consumer has not
        read at the source, at least: other records there are read twice.

        Parameters
        ----------
        committed
            Source offset of the next record that it has to read.
        start
            Target offset.
        """
        return sum(
            max(0, len(span) - span.slack - max(0, start - span.target))
            for span in self.within(committed, self.end)
            if span.state is State.COPIED
        )

    def count_below(self, span: range, target: int) -> tuple[int, int]:
        """Return how many records have their newest copy below a target
        offset: at least, and at most.

        Parameters
        ----------
        span
            Source offsets of the records.
        target
            The target offset.
        """
        least = most = 0
        for part in self.within(span.start, span.stop):
            if 0 <= part.target < target:
                below = min(len(part), target - part.target)
                least += below if part.is_exact else 0
                most += below
        return least, most

    def join_old(self, judged: int) -> None:
        """Join old spans if there are too many; the newest stay exact.

        Parameters
        ----------
        judged
            Source offset up to which all is judged: gaps above it are needed.
        """
        if len(self.spans) <= SPANS_KEPT:
            return
        absent = self.of(State.ABSENT)
        for oldest in absent[:-ABSENT_KEPT]:
            at = self.spans.index(oldest)
            self.spans[at] = replace(oldest, state=State.EMPTY)
            self.absent_from = oldest.end
        most = SPANS_KEPT + 2 * min(len(absent), ABSENT_KEPT)
        while len(self.spans) > most:
            old = [
                s for s in self.spans[: -SPANS_KEPT // 2] if s.end <= judged
            ]
            joined = _join_pairs(old)
            if len(joined) == len(old):
                return
            self.spans[: len(old)] = joined


def _join_pairs(spans: list[Span]) -> list[Span]:
    found: list[Span] = []
    is_joined = False
    for span in spans:
        is_joined = (
            bool(found)
            and not is_joined
            and State.ABSENT not in {found[-1].state, span.state}
        )
        if is_joined:
            found[-1] = found[-1].join(span)
        else:
            found.append(span)
    return found
