"""State of a partition and its copy, as long as both topics keep their ids.

Evidence goes in: offset syncs, commits, log ends, and what was read of both
logs. Where both sides advanced alike, all between was copied once. Anything
else has one answer: read that range on both sides and match its records. What
that does not show is unverifiable, and the audit's to settle.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from ..cluster_view import PartitionView, TopicPartition
from .coverage import Coverage, OffsetPair, Span, State
from .ranges import (
    MatchedRange,
    RangeContent,
    RangeRequest,
    leave_out_alike,
    match,
    to_ranges,
)

__all__ = ["LOSSES", "Beginning", "EventKind", "LogPair", "RangeEvent"]


class EventKind(StrEnum):
    """Outcome for some source offsets."""

    SKIPPED = "skipped"
    """Lost: the mirror's position is beyond them, and no copy exists."""

    HEAD = "head"
    """The same, before the first copy of the partition."""

    TAIL = "tail"
    """The same, below a committed position and after the last copy."""

    TRUNCATED = "truncated"
    """Lost with the end of the target's log."""

    REPEATED = "repeated"
    """Copied again."""

    RECOVERED = "recovered"
    """Copied after they had been lost."""

    EXPIRED = "expired"
    """Lost: deleted at the source before they were copied."""

    SOURCE_TRUNCATED = "source_truncated"
    """Below the mirror's position when the source's log was truncated."""

    UNVERIFIABLE = "unverifiable"
    """The mirror's position is beyond them, and no copy is proved."""


LOSSES = frozenset(
    {
        EventKind.SKIPPED,
        EventKind.HEAD,
        EventKind.TAIL,
        EventKind.TRUNCATED,
    }
)


@dataclass(frozen=True, slots=True)
class Beginning:
    """First copied record of a recreated topic."""

    source_id: str
    first: int
    is_exact: bool
    """Else it is that of the first sync: records before may be copied."""


@dataclass(frozen=True, slots=True)
class RangeEvent:
    """Outcome of one range."""

    kind: EventKind
    ranges: tuple[range, ...]
    """Source offsets: more than `count` where it is not known which."""

    count: int
    """Records."""


CADENCE = 101
"""Target offsets after which MirrorMaker 2 writes a sync without another
reason (``offset.lag.max`` is 100): an earlier one shows that a record was left
out, or that others write."""

TOGETHER = 5_000
"""Target offsets of consecutive pairs that are read at once."""

WAITING_KEPT = 2_000
"""Syncs of one partition that wait for a range to be read."""

WIDER = 10
"""Factor by which more is read around a range with unmatched records."""

BACK = 1_000
"""Target offsets before a truncation that are compared again: the log may have
grown by as many before it was noticed."""


@dataclass(kw_only=True, slots=True)
class LogPair:
    """State of one partition and its copy."""

    source_id: str
    target_id: str | None = None
    """`None` until the mirror has created the topic."""

    target_end: int = 0
    """Log end of the target, as last believed."""

    counted_end: int = 0
    """The same while the mirror had committed, or written a sync, within its
    flush interval: what comes later is not known to be its copies."""

    source_end: int = 0
    """Log end of the source when it was last seen to hold anything."""

    since: datetime | None = None
    """First sight of these ids, where others were before: syncs that were
    written earlier are of those."""

    cursor: OffsetPair | None = None
    """All up to it is accounted for; `None` until a first pair is known."""

    judged: int = 0
    """First source offset whose outcome was not told yet."""

    passed: int = 0
    """First source offset that the mirror may not have passed, as proved."""

    expired: int = 0
    """Log start of the source as seen above the mirror's position."""

    empty_until: int = 0
    """Source offset up to which no data follows a position that was proved:
    transaction markers, or records that a transform drops on purpose."""

    has_markers: bool = False
    """Source offsets without a record were found: transaction markers."""

    truncated_until: int = 0
    """Position of the mirror when the target was truncated: what lacks a copy
    below had one. 0 if it was not."""

    even_ends: OffsetPair | None = None
    """Log ends when both sides had last advanced alike since the cursor."""

    guessed_until: int = 0
    """First source offset whose copy is where the coverage says: others were
    altered, or alike, or deleted on one side before both were read."""

    beyond: int = 0
    """Position of the mirror when the source's log was truncated below it;
    0 once a sync shows where it resumed."""

    is_shared: bool = False
    """Transaction markers, or records of other producers, at the target."""

    is_mixed: bool = False
    """Rewind of the mirror, or two tasks, just before the cursor: both sides
    may advance alike though a record was left out."""

    is_wide: bool = False
    """Next range read with more around it: records of the target had no like
    one in it."""

    awaits_first: bool = False
    """First copy of a recreated topic not found yet. What the mirror left out
    before it is told by the check `position`."""

    first_copy: int | None = None
    """Source offset of that copy."""

    coverage: Coverage = field(default_factory=Coverage)
    waiting: list[OffsetPair] = field(default_factory=list)
    """Syncs that are not accounted for, in the order of the target."""

    def begin(self, source: int, target: int, *, is_copy: bool = True) -> None:
        """Begin after a pair; nothing before it is judged.

        Parameters
        ----------
        source, target
            The pair.
        is_copy
            The offsets hold a record and its copy; otherwise both logs begin
            after them.
        """
        self.cursor = OffsetPair(target, source)
        self.judged = self.passed = source + 1
        self.coverage = Coverage()
        if is_copy:
            self.coverage.put(source, source + 1, State.COPIED, target)

    def take(self, pair: OffsetPair, written_at: datetime) -> list[RangeEvent]:
        """Take a sync; a late one is passed over: its range was read."""
        if self.since is not None and written_at <= self.since:
            return []
        if self.cursor is None:
            return self._begin_at(pair)
        if pair.target > self.cursor.target and pair not in self.waiting:
            self.waiting = sorted([*self.waiting, pair])
            if len(self.waiting) > WAITING_KEPT:
                del self.waiting[1:-1:2]
        return []

    def _begin_at(self, pair: OffsetPair) -> list[RangeEvent]:
        """Begin at a sync: after a truncation of the source, what lies between
        is unverifiable.
        """
        if not (self.judged or self.awaits_first):
            self.begin(pair.source, pair.target)
            return []
        between = range(self.judged, pair.source)
        self.awaits_first, self.beyond, self.cursor = False, 0, pair
        found = self._copy(range(pair.source, pair.source + 1), pair.target)
        self.passed = max(self.passed, pair.source + 1)
        self.judged = max(self.judged, self.passed)
        if between:
            self.coverage.put(between.start, between.stop, State.UNKNOWN, 0)
            found.append(
                RangeEvent(EventKind.UNVERIFIABLE, (between,), len(between))
            )
        return found

    @property
    def reached(self) -> int:
        """First source offset that is not known to be copied or passed."""
        return max(self.passed, self.even_ends.source if self.even_ends else 0)

    def truncate_source(self, end: int) -> list[RangeEvent]:
        """Forget what is at and above an offset of the source.

        Other records may come there, and the next sync shows where the mirror
        resumes.
        """
        reached, self.even_ends = self.reached, None
        self.coverage.truncate_source(end)
        self.judged = min(self.judged, end)
        self.empty_until = min(self.empty_until, end)
        self.source_end = min(self.source_end, end)
        self.truncated_until = min(self.truncated_until, end)
        if self.cursor is not None and self.cursor.source >= end:
            self.cursor, self.waiting = None, []
        if reached <= end:
            return []
        self.passed, self.beyond = self.judged, reached
        gone = range(end, reached)
        kind = EventKind.SOURCE_TRUNCATED
        return [RangeEvent(kind, (gone,), len(gone))]

    def truncate_target(self, end: int) -> None:
        """Go back to a copy that the target still has after its log was
        truncated at an offset or somewhat above it.

        The copies above it are read again: what is not found was lost.
        """
        passed, self.even_ends = self.passed, None
        cursor = self.coverage.last_copy_before(end - BACK)
        gone = self.coverage.truncate_target(
            end, cursor.target + 1 if cursor else 0
        )
        first = min((span.first for span in gone), default=self.judged)
        if cursor is None and gone:
            lowest = min(span.target for span in gone)
            if lowest > end and not self.is_shared:
                # What was copied before it was watched was so one by one.
                first, lowest = max(0, first - (lowest - end)), end
            cursor = OffsetPair(lowest - 1, first - 1)
        elif cursor is None and self.cursor is not None:
            # Nothing was copied yet that is known.
            lowest = min(self.cursor.target, end - 1)
            cursor = OffsetPair(lowest, self.cursor.source)
        self.cursor = cursor
        self.judged = min(self.judged, first)
        self.truncated_until = max(self.truncated_until, passed)
        self.waiting = [p for p in self.waiting if p.target < end]

    def advance(self) -> list[RangeEvent]:
        """Account for the syncs up to which both sides advanced alike."""
        found: list[RangeEvent] = []
        while self.waiting and self.cursor is not None:
            before, after = self.cursor, self.waiting[0]
            length = after.target - before.target
            may_hide = self.is_shared or self.is_mixed
            if (
                self.awaits_first
                or self.judged < max(self.truncated_until, self.expired)
                or after.source - before.source != length
                or (may_hide and 1 < length < CADENCE)
            ):
                break
            first = before.source + 1
            found += self._copy(
                range(first, first + length), before.target + 1
            )
            self._move(after)
            self.judged = max(self.judged, self.passed)
            self.is_mixed &= length < CADENCE
        return found

    def lose_expired(self, first: int, end: int) -> list[RangeEvent]:
        """Call source offsets lost that expired unread, before copies show
        it: the topic is gone.
        """
        first = max(first, self.judged)
        if first >= end:
            return []
        self.coverage.put(first, end, State.ABSENT)
        self.judged = end
        gone = range(first, end)
        return [RangeEvent(EventKind.EXPIRED, (gone,), len(gone))]

    def count_copies(self, source_end: int, target_end: int) -> None:
        """Take that what the target holds are copies: not if there are more
        than the source has records.
        """
        if self.cursor is None:
            return
        if self.cursor.source + target_end - self.cursor.target <= source_end:
            self.counted_end = target_end

    def note_ends(self, source_end: int, target_end: int) -> None:
        """Note both log ends, the target's read first, if they are alike."""
        if self.cursor is None or self.waiting or self.is_mixed:
            return
        room = target_end - self.cursor.target - 1
        if not self.is_shared and room == source_end - self._next > 0:
            self.even_ends = OffsetPair(target_end, source_end)

    def request(
        self, place: TopicPartition, seen: PartitionView, committed: int = 0
    ) -> RangeRequest | None:
        """Return the range to read before more is known, `None` if there is
        none.

        Parameters
        ----------
        place
            The partition.
        seen
            Both its logs.
        committed
            Committed position that is believed.
        """
        start, pairs = self.cursor, self._next_pairs()
        if start is None:
            return None
        passed = max(self.passed, *(p.source + 1 for p in pairs), 0)
        end = pairs[-1].target + 1 if pairs else seen.copies_end
        source = range(seen.log_start, seen.source_end)
        if not pairs:
            if self.beyond:
                return None
            passed = max(passed, committed)
            room = 0 if self.is_shared else end - start.target - 1
            is_due = self.judged < self.truncated_until or (
                self.awaits_first and end > start.target + 1
            )
            if not is_due and passed <= max(
                self.judged, start.source + 1 + room
            ):
                return None
        spare = max(0, end - start.target - 1)
        if self.is_wide:
            spare = WIDER * spare + BACK
        tips = [start.source, *(p.source for p in pairs)]
        spans = [
            source
            if self.awaits_first
            else range(self.judged, passed + spare),
            *(range(tip - spare, tip + spare + 1) for tip in tips),
        ]
        return RangeRequest(
            place=place,
            remote=seen.remote,
            target_id=seen.target_id,
            start=start,
            pairs=pairs,
            source=_unite(_clip(spans, source.start, source.stop)),
            target=range(max(0, start.target), end),
            passed=passed,
            by_end=not (pairs or self.awaits_first),
            is_wide=self.is_wide,
        )

    def _next_pairs(self) -> tuple[OffsetPair, ...]:
        if not self.waiting or self.cursor is None:
            return ()
        most = self.cursor.target + TOGETHER
        near = [p for p in self.waiting if p.target <= most]
        return tuple(near or self.waiting[:1])

    def answer(
        self, request: RangeRequest, content: RangeContent | None
    ) -> list[RangeEvent]:
        """Account for a range by the records of both sides.

        Parameters
        ----------
        request
            The range.
        content
            Its records; `None` if it cannot or must not be read.
        """
        if request.start != self.cursor:
            return []
        if content is None:
            return self._give_up(request)
        matched = match(request, content)
        if self.awaits_first:
            return self._find_first(request, matched)
        if self._must_read_again(request, content, matched):
            return []
        judged = self.judged
        is_head = not self.coverage.of(State.COPIED)
        repeated, found = False, list[RangeEvent]()
        for source, target in matched.runs():
            events = self._copy(source, target)
            repeated |= any(e.kind is EventKind.REPEATED for e in events)
            found += events
        self.passed = max(self.passed, request.passed, matched.passed)
        found += self._judge(request, content, matched, is_head=is_head)
        self.judged = max(self.judged, self.passed)
        foreign = matched.unmatched and not matched.is_altered
        self.is_shared |= bool(foreign or matched.holes)
        self.is_mixed, self.is_wide = repeated, False
        if self.judged >= self.truncated_until:
            self.truncated_until = 0
        last = request.pairs[-1] if request.pairs else matched.last
        if last is not None:
            self._move(last)
        self._note_guesses(content, matched, judged, is_even=not found)
        return found

    def _must_read_again(
        self,
        request: RangeRequest,
        content: RangeContent,
        matched: MatchedRange,
    ) -> bool:
        """Return whether a range shows that another one must be read."""
        start = request.start
        if self._is_copy(start) and content.is_truncated(start):
            self.truncate_target(start.target)
        elif matched.wrong:
            self.waiting = [p for p in self.waiting if p not in matched.wrong]
        elif matched.unmatched and not (request.is_wide or matched.is_altered):
            self.is_wide = True  # copies of records that were not read
        else:
            return False
        return True

    def _is_copy(self, pair: OffsetPair) -> bool:
        return any(
            span.is_exact and span.target == pair.target
            for span in self.coverage.within(pair.source, pair.source + 1)
        )

    def _find_first(
        self, request: RangeRequest, matched: MatchedRange
    ) -> list[RangeEvent]:
        """Begin a recreated topic at its first copy, else at its first sync;
        copies before it are of the former topic.
        """
        if matched.copies:
            target = min(matched.copies)
            self.first_copy = source = matched.copies[target]
            self.begin(source - 1, target - 1, is_copy=False)
            self.awaits_first = False
            self.waiting = [p for p in self.waiting if p.target >= target]
            return []
        return self._begin_at(request.pairs[0]) if request.pairs else []

    def _note_guesses(
        self,
        content: RangeContent,
        matched: MatchedRange,
        judged: int,
        *,
        is_even: bool,
    ) -> None:
        """Note that copies may be elsewhere than they seem to be."""
        is_compacted = content.source_compacted or content.target_compacted
        unknown = self.coverage.count(State.UNKNOWN, judged, self.judged)
        if (
            matched.is_altered
            or matched.gone
            or (matched.is_guessed and not is_even)
            or (is_compacted and (matched.unmatched or unknown))
        ):
            self.guessed_until = self._next

    @property
    def _next(self) -> int:
        """First source offset above all that is accounted for."""
        return max(self.passed, self.cursor.source + 1 if self.cursor else 0)

    def _copy(self, source: range, target: int) -> list[RangeEvent]:
        """Put consecutive copies, the first one at a target offset."""
        old = len(range(source.start, min(source.stop, self.judged)))
        before = self.coverage.put(
            source.start, source.stop, State.COPIED, target
        )
        # Of what is forgotten there was a copy.
        forgotten = max(0, old - before.total())
        counts = {
            EventKind.RECOVERED: before[State.ABSENT],
            EventKind.REPEATED: before[State.COPIED] + forgotten,
        }
        return [
            RangeEvent(kind, (source,), count)
            for kind, count in counts.items()
            if count
        ]

    def _move(self, to: OffsetPair) -> None:
        self.cursor, self.beyond = to, 0
        self.passed = max(self.passed, to.source + 1)
        self.waiting = [p for p in self.waiting if p.target > to.target]

    def _judge(
        self,
        request: RangeRequest,
        content: RangeContent,
        matched: MatchedRange,
        *,
        is_head: bool,
    ) -> Iterator[RangeEvent]:
        """Judge the offsets that the mirror has passed and that have no copy
        which is recognised.

        Any record of the target that is not recognised, or is gone, may be a
        copy of one of them.
        """
        judged = range(self.judged, self.passed)
        lowest = request.start.target + 1
        gaps = self.coverage.gaps(judged.start, judged.stop)
        expired = _clip(gaps, 0, content.source_start)
        lacking = [
            offset
            for span in _clip(gaps, content.source_start, judged.stop)
            for offset in span
        ]
        present = [offset for offset in lacking if offset in content.source]
        # What was compacted since may have had a copy.
        empty = State.UNKNOWN if content.source_compacted else State.EMPTY
        for span in to_ranges(o for o in lacking if o not in content.source):
            self._put(span, empty, lowest)
            self.has_markers |= empty is State.EMPTY
        present = leave_out_alike(present, judged, request, content)
        hidden = matched.hidden
        lost = [o for o in present if o < self.truncated_until]
        rest = present[len(lost) :]
        # Which of those were copied again cannot be told.
        yield from self._count(lost, EventKind.TRUNCATED, hidden, lowest)
        hidden = max(0, hidden - len(lost))
        if matched.is_altered:
            # No proof: only the net is known.
            net = EventKind.UNVERIFIABLE
            yield from self._count(rest, net, hidden, lowest)
        elif hidden:
            yield from self._count(rest, EventKind.SKIPPED, hidden, lowest)
        else:
            head = min(matched.copies.values(), default=0) if is_head else 0
            tail = self.passed if request.pairs else matched.passed
            yield from self._name(rest, head, tail)
        hidden = max(0, hidden - len(rest))
        yield from self._expire(expired, content, matched, hidden, lowest)

    def _expire(
        self,
        spans: Sequence[range],
        content: RangeContent,
        matched: MatchedRange,
        hidden: int,
        lowest: int,
    ) -> Iterator[RangeEvent]:
        """Judge offsets without a copy that are gone at the source.

        Transaction markers are gone, too, and look like records.
        """
        # What was taken for copies of these may be duplicates, or others.
        is_counted = not (self.is_mixed or self.is_shared)
        guessed = {
            offset
            for target, offset in matched.copies.items()
            if self.judged <= offset < content.source_start
            and not (is_counted and target < self.counted_end)
        }
        if guessed:
            ranges = tuple(to_ranges(sorted(guessed)))
            yield RangeEvent(EventKind.UNVERIFIABLE, ranges, len(guessed))
        gone = sum(map(len, spans))
        count = max(0, gone - hidden)
        is_marker = count == 1 and spans[0].start >= self.expired
        is_proved = not (
            content.source_compacted
            or matched.is_altered
            or self.has_markers
            or is_marker
        )
        kind = EventKind.EXPIRED if is_proved else EventKind.UNVERIFIABLE
        state = State.UNKNOWN if hidden or not is_proved else State.ABSENT
        for span in spans:
            self._put(span, state, lowest)
        # Of copies that are gone, too, there is no doubt.
        rest = min(gone - count, matched.unmatched) if is_proved else 0
        counts = {EventKind.UNVERIFIABLE: rest}
        for which, records in (counts | {kind: count}).items():
            if records:
                yield RangeEvent(which, tuple(spans), records)

    def _name(
        self, offsets: Sequence[int], head: int, tail: int
    ) -> Iterator[RangeEvent]:
        """Call records lost by name: those before the first copy, those after
        the last one, and those between.
        """
        for kind, those in (
            (EventKind.HEAD, [o for o in offsets if o < head]),
            (EventKind.SKIPPED, [o for o in offsets if head <= o < tail]),
            (EventKind.TAIL, [o for o in offsets if o >= max(head, tail)]),
        ):
            ranges = tuple(to_ranges(those))
            for span in ranges:
                self._put(span, State.ABSENT, -1)
            if ranges:
                yield RangeEvent(kind, ranges, len(those))

    def _count(
        self, offsets: Sequence[int], kind: EventKind, hidden: int, lowest: int
    ) -> Iterator[RangeEvent]:
        """Count records as lost, less the target offsets that may hold a copy
        of any of them.
        """
        ranges = tuple(to_ranges(offsets))
        for span in ranges:
            self._put(span, State.UNKNOWN, lowest)
        lost = max(0, len(offsets) - hidden)
        # Of what is unverifiable as a whole the net is told.
        counts = {EventKind.UNVERIFIABLE: len(offsets) - lost} | {kind: lost}
        for which, count in counts.items():
            if count:
                yield RangeEvent(which, ranges, count)

    def _put(self, span: range, state: State, lowest: int) -> None:
        target = lowest if state is State.UNKNOWN else -1
        self.coverage.put(span.start, span.stop, state, target)

    def _give_up(self, request: RangeRequest) -> list[RangeEvent]:
        """Call a range unverifiable that is not read: only the net of its
        records and copies is known.
        """
        start, to = request.start, None
        for pair in request.pairs:
            to = pair
            self._copy(range(pair.source, pair.source + 1), pair.target)
        if to is None:
            to = OffsetPair(request.target.stop - 1, request.passed - 1)
        ends = sorted((start.source + 1, to.source + 1))
        first, end = max(ends[0], self.judged), max(ends[1], request.passed)
        for gap in self.coverage.gaps(first, end):
            self._put(gap, State.UNKNOWN, start.target + 1)
        net = abs(to.source - start.source - (to.target - start.target))
        self.awaits_first = self.is_wide = False
        self._move(to)
        self.guessed_until = self._next
        self.judged = max(self.judged, self.passed)
        if self.judged >= self.truncated_until:
            self.truncated_until = 0
        between = range(first, end)
        if not (net and between):
            return []
        return [
            RangeEvent(
                EventKind.UNVERIFIABLE, (between,), min(net, len(between))
            )
        ]

    def position(self, source_end: int, target_end: int) -> int:
        """Return the next source offset to copy: as proved, or by both log
        ends where one writer alone copies in order.
        """
        if (
            self.cursor is None
            or self.waiting
            or self.is_shared
            or self.is_mixed
        ):
            return self.passed
        reached = self.cursor.source + target_end - self.cursor.target
        return max(self.passed, min(reached, source_end))

    @property
    def absent(self) -> list[Span]:
        """Spans of source offsets that are proved to have no copy."""
        return self.coverage.of(State.ABSENT)


def _clip(spans: Sequence[range], first: int, end: int) -> list[range]:
    found = [range(max(s.start, first), min(s.stop, end)) for s in spans]
    return [span for span in found if span]


def _unite(spans: Sequence[range]) -> tuple[range, ...]:
    found: list[range] = []
    for span in sorted(spans, key=lambda s: s.start):
        if found and span.start <= found[-1].stop:
            found[-1] = range(found[-1].start, max(found[-1].stop, span.stop))
        else:
            found.append(span)
    return tuple(found)
