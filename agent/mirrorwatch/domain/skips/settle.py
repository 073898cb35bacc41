"""Accounting for a range that was read, or one that cannot be.

What was read of both sides is matched record by record first: which target
record is a copy of which source record.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ..offsets import RangeSet, discard, newest, to_ranges
from .model import (
    LOSSES,
    OffsetPair,
    RangeRequest,
    SkipCounters,
    SkipEvent,
    SkipKind,
)
from .partition import PartitionState
from .unnamed import (
    Gaps,
    UnknownCopy,
    explain,
    explain_instead,
    part_expired,
    without_compacted,
)

__all__ = [
    "RangeContent",
    "SettledRange",
    "Trace",
    "count_foreign",
    "count_settled",
    "count_strangers",
    "has_marks",
    "settle",
    "settle_unread",
    "still_missing",
    "to_event",
    "trace",
]


Fingerprint = int
"""What a mirror leaves alone of a record, as one number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RangeContent:
    """The records of a range on both sides, without control records."""

    source: Mapping[int, Fingerprint] = field(default_factory=dict)
    target: Mapping[int, Fingerprint] = field(default_factory=dict)
    source_start: int = 0
    target_start: int = 0
    source_compacted: bool = False
    """Whether the source removes records before their time."""

    target_compacted: bool = False


@dataclass(slots=True)
class Trace:
    """The range of the target, record by record."""

    copied: list[int] = field(default_factory=list)
    copies: list[int] = field(default_factory=list)
    strangers: list[int] = field(default_factory=list)
    unknown: list[UnknownCopy] = field(default_factory=list)
    """These, and target offsets without a record where one may have been:
    control records are none of them."""

    highest: int = -1
    sure: dict[int, int] = field(default_factory=dict)

    @property
    def holes(self) -> Mapping[tuple[int, int], int]:
        """How many copies are gone between which two offsets."""
        return Counter((u.at, u.until) for u in self.unknown if u.is_gone)

    @property
    def last(self) -> OffsetPair | None:
        """The last copy that is sure."""
        downstream = max(self.sure, default=None)
        if downstream is None:
            return None
        return OffsetPair(self.sure[downstream], downstream)

    @property
    def strangers_end(self) -> int:
        """Target offset behind the last stranger."""
        return self.strangers[-1] + 1 if self.strangers else 0


def trace(request: RangeRequest, reading: RangeContent) -> Trace:
    """Find of every target offset of a range what it is a copy of.

    Notes
    -----
    A mirror goes on where it was, so of several records that look alike the
    next one after the last copy is taken; only if there is none behind, the
    mirror rewound. Where many look alike it may have rewound all the
    same: such copies do not show how far it came.

    A mirror that alters what it copies has nothing that looks alike: known
    syncs decide. Then its records are taken in the order of the source. Of
    more copies before a sync than the source still has records, the first are
    of records that have expired since.

    A pair is not believed where the target has a copy of another record: it
    speaks of another topic, to which a transform sent that one.
    """
    places: dict[int, list[int]] = {}
    for offset, look in reading.source.items():
        places.setdefault(look, []).append(offset)
    found = Trace()
    alike = request.alike or _are_alike(request, reading)
    known = {
        p.downstream: p.upstream
        for p in request.points
        if reading.target.get(p.downstream) not in places
        or p.upstream not in reading.source
        or reading.target[p.downstream] == reading.source[p.upstream]
    }
    offsets = sorted(reading.source)
    expired = set[int]() if alike else _find_expired(reading, known)
    at, unknown = request.start.upstream, list[UnknownCopy]()
    for down in range(request.target.first, request.target.end):
        is_sure = down in known
        if is_sure:
            at = known[down]
        elif down not in reading.target:
            is_gone = down < reading.target_start
            if is_gone or reading.target_compacted:
                unknown.append(UnknownCopy(at, -1, is_gone=True))
            continue
        else:
            look = reading.target[down]
            after = _next(places.get(look, ()), at, alike=alike)
            if after is None and not alike:
                is_gone = at + 1 < reading.source_start and down in expired
                after = at + 1 if is_gone else _next(offsets, at, alike=False)
            if after is None:
                found.strangers.append(down)
                unknown.append(UnknownCopy(at, -1, is_gone=False))
                continue
            at = after
            is_sure = alike and len(places[look]) == 1
        found.copied.append(at)
        found.copies.append(down)
        found.unknown += [each._replace(until=at) for each in unknown]
        unknown.clear()
        if is_sure:
            found.highest = max(found.highest, at)
            found.sure[down] = at
    found.unknown += unknown
    return found


def _find_expired(reading: RangeContent, known: Mapping[int, int]) -> set[int]:
    """Return the target offsets before the first known sync that are more
    than the source has records before it.
    """
    if not known:
        return set()
    sync = min(known)
    before = [down for down in sorted(reading.target) if down < sync]
    room = sum(offset < known[sync] for offset in reading.source)
    return set(before[: max(0, len(before) - room)])


def has_marks(request: RangeRequest, reading: RangeContent) -> bool:
    """Return whether the target holds control records: it is longer than its
    records, and nothing removed any.
    """
    first = max(request.target.first, reading.target_start)
    inside = range(first, request.target.end)
    return not reading.target_compacted and len(inside) > len(reading.target)


def count_strangers(request: RangeRequest, reading: RangeContent) -> int:
    """Return how many records of the target copy nothing that was read."""
    return len(trace(request, reading).strangers)


def count_foreign(request: RangeRequest, reading: RangeContent) -> int:
    """Return how many records of the target are no copies of any record.

    None is called so where the record that it is a copy of may be gone, or
    was not read.
    """
    if request.sampled or reading.source_compacted:
        return 0
    if _may_have_expired(request, reading):
        return 0
    return count_strangers(request, reading)


def _may_have_expired(request: RangeRequest, reading: RangeContent) -> bool:
    """Return whether the source may have lost records that were copied to
    this range.
    """
    room = len(request.target)
    at = request.start.upstream
    back = [p.upstream - room for p in request.points if p.upstream < at]
    return reading.source_start > max(0, min([at + 1, *back]))


def _next(places: Sequence[int], at: int, *, alike: bool) -> int | None:
    """Return the first offset behind one, or if there is none the first."""
    behind = bisect_right(places, at)
    if behind < len(places):
        return places[behind]
    return places[0] if places and alike else None


def _are_alike(request: RangeRequest, reading: RangeContent) -> bool:
    """Return whether a copy looks like its record.

    Where all is gone that was committed, nothing shows that it does not: the
    copies are of that, and not of what was to be copied next.
    """
    if not reading.source or not reading.target:
        return True
    if request.passed is not None and request.passed <= reading.source_start:
        return True
    return not set(reading.source.values()).isdisjoint(reading.target.values())


@dataclass(frozen=True, slots=True)
class SettledRange:
    """Something that a range held."""

    kind: SkipKind

    ranges: RangeSet
    """Source offsets: more than were skipped where it is not known which."""

    count: int
    committed: bool = False
    """Whether the mirror committed past records behind its last copy, or had
    copied them. One that a transform drops moves no position until a later one
    is copied."""


def settle(
    state: PartitionState,
    request: RangeRequest,
    reading: RangeContent,
    tally: SkipCounters,
    stood: int = 0,
) -> list[SettledRange]:
    """Account for a range by what both sides hold.

    Parameters
    ----------
    state
        State of the partition, at the start of the range.
    request
        What was asked.
    reading
        What was read.
    tally
        Counters of the topic.
    stood
        Where the target ended when it last stood while records waited.
    """
    before, is_alone = state.frontier, not state.heads
    path = trace(request, reading)
    fresh, repeated = _replay(state, path, tally)
    tally.repeated += len(repeated)
    if path.strangers and not _may_have_expired(request, reading):
        state.noisy = True
        # Consumers that start by a run over a stranger would miss the record
        # whose room it takes.
        start = request.start.upstream, request.start.downstream
        state.copies.split(path.strangers, path.sure, start)
    elif repeated:
        # Where it went back, syncs alone do not show what it left out.
        state.copies.add_all(path.sure)
    _remember_heads(state, request, path)
    passed = -1 if request.passed is None else request.passed - 1
    state.frontier = max(before, passed, path.highest)
    known = max(before, min(state.cut_until, state.frontier))
    is_ordered = is_alone and not (
        state.heads or any(_is_back(*at, n) for at, n in path.holes.items())
    )
    found = list(
        _pass_over(
            state,
            request,
            reading,
            _Passed(before, fresh, path, stood, is_ordered),
        )
    )
    found += _doubt_hidden(state, path, reading, tally)
    is_blind = passed >= 0 and not (
        request.alike or _are_alike(request, reading)
    )
    if is_blind and any(each.kind in LOSSES for each in found):
        found += _doubt_copies(reading, fresh, passed)
    for each in found:
        count_settled(state, each, tally)
    tally.passed += _count_passed(state, request, reading, known, fresh)
    state.doubt(to_ranges(_copied_beyond(state, reading, fresh)))
    if repeated:
        found.append(
            SettledRange(
                SkipKind.REPEATED,
                to_ranges(sorted(set(repeated))),
                len(repeated),
            )
        )
    compacted = reading.source_compacted or reading.target_compacted
    if compacted and not request.sampled:
        tally.compacted += _absent(state, reading, known, fresh)
    state.reach(state.frontier)
    last = path.last
    if is_blind:
        # No copy will be recognised later, either: those beyond what was
        # committed make up for as many that are missing, until it is.
        last = OffsetPair(passed, request.target.end - 1)
    _finish(state, request, last)
    return found


def _doubt_copies(
    reading: RangeContent, fresh: Collection[int], passed: int
) -> Iterator[SettledRange]:
    """Doubt as many copies as may be of records beyond what was committed:
    each of them leaves one more without a copy.
    """
    beyond = sum(offset > passed for offset in reading.source)
    if offsets := sorted(fresh)[-beyond:] if beyond else []:
        yield SettledRange(
            SkipKind.UNVERIFIABLE, to_ranges(offsets), len(offsets)
        )


def _doubt_hidden(
    state: PartitionState,
    path: Trace,
    reading: RangeContent,
    tally: SkipCounters,
) -> Iterator[SettledRange]:
    """Doubt what copies that are gone may be of, where the mirror went back.

    It may have come further before it did, and have copied afterwards what it
    had skipped.
    """
    holes = path.holes
    if not holes:
        return
    offsets = sorted(reading.source)
    reported = {o for o in offsets if state.is_reported(o)}
    beyond, again, most = set[int](), set[int](), 0
    for (at, until), many in holes.items():
        between = range(bisect_right(offsets, at), bisect_left(offsets, until))
        if _is_back(at, until, many):
            behind = bisect_right(offsets, max(at, state.frontier))
            beyond.update(offsets[behind : behind + many])
            again, most = reported, most + many
        elif until >= 0:
            near = {*offsets[between.start : between.stop]}
            left = many - len(near - reported)
            if left > 0:
                again, most = again | (near & reported), most + left
    state.doubt(to_ranges(sorted(beyond)))
    ranges = to_ranges(sorted(again))
    if count := state.doubt_skipped(ranges, most, tally):
        yield SettledRange(SkipKind.UNVERIFIABLE, ranges, count)


def _is_back(at: int, until: int, many: int) -> bool:
    """Return whether a mirror went back between two copies: more copies lie
    between them than offsets at the source.
    """
    return 0 <= until <= at + many


def settle_unread(
    state: PartitionState,
    request: RangeRequest,
    tally: SkipCounters,
    *,
    is_marked: bool,
) -> list[SettledRange]:
    """Account for a range that cannot be read: only the net is known.

    Parameters
    ----------
    state
        State of the partition, at the start of the range.
    request
        What should have been read.
    tally
        Counters of the topic.
    is_marked
        Whether the mirror is known to write in transactions, whose marks
        make the target longer.
    """
    start = request.start
    end = (
        request.points[-1]
        if request.points
        else OffsetPair((request.passed or 0) - 1, request.target.end - 1)
    )
    net = (end.upstream - start.upstream) - (end.downstream - start.downstream)
    net += _take_pairs(state, request, tally)
    first = min(start.upstream, end.upstream) + 1
    ranges = RangeSet([(first, max(start.upstream, end.upstream))])
    before = max(state.frontier, state.cut_until)
    state.reach(end.upstream)
    if end.upstream <= start.upstream:
        state.reach(start.upstream + len(request.target) - 1)
    tally.passed += max(0, state.frontier - before)
    _finish(state, request, end)
    if net == 0 or (net < 0 and is_marked):
        return []
    found = SettledRange(SkipKind.UNVERIFIABLE, ranges, abs(net))
    count_settled(state, found, tally)
    return [found]


def _take_pairs(
    state: PartitionState, request: RangeRequest, tally: SkipCounters
) -> int:
    """Take the record of each pair as copied: that needs no reading.

    Returns
    -------
    int
        How many of those that were passed before had no copy known until
        now. They take room at the target, and hide as many that are missing.
    """
    last, first_copies = state.frontier, 0
    for pair in request.points:
        repeats = state.copy_again(pair.upstream, pair.upstream, tally)
        first_copies += pair.upstream <= last and not repeats
    return first_copies


@dataclass(frozen=True, slots=True)
class _Passed:
    """What a range held beyond the old frontier."""

    before: int
    fresh: set[int]
    path: Trace
    stood: int

    is_ordered: bool
    """Whether one writer copied it, which did not go back."""


def _replay(
    state: PartitionState, path: Trace, tally: SkipCounters
) -> tuple[set[int], list[int]]:
    """Return what was copied for the first time, and what again."""
    fresh: set[int] = set()
    repeated: list[int] = []
    for offset in path.copied:
        if offset > state.frontier and offset not in fresh:
            fresh.add(offset)
            if offset <= state.cut_until:
                state.copy_again(offset, offset, tally)
        elif offset > state.frontier or state.copy_again(
            offset, offset, tally
        ):
            repeated.append(offset)
    return fresh, repeated


def _remember_heads(
    state: PartitionState, request: RangeRequest, path: Trace
) -> None:
    last, falls = request.start.upstream, 0
    for offset in path.copied:
        if offset <= last:
            state.leave_head(last)
            falls += 1
        last = offset
    if not falls and len(path.copied) > 1:
        state.heads = []


def _pass_over(
    state: PartitionState,
    request: RangeRequest,
    reading: RangeContent,
    passed: _Passed,
) -> Iterator[SettledRange]:
    """Judge the offsets between the old frontier and the new one that were
    not copied.
    """
    first, last = passed.before + 1, state.frontier
    before = {
        o
        for a, b in state.doubtful
        for o in range(max(a, first), min(b, last) + 1)
    }
    present = _lacking(reading, range(first, last + 1), passed.fresh, before)
    # Any of these may be a copy that cannot be recognised any more.
    unknown = _find_unknown(passed.path, reading, present)
    gone = range(first, min(reading.source_start, last + 1))
    lacking, expired = 0, list[UnknownCopy]()
    if gone and not _is_reset(state, reading, passed, present):
        fresh = sorted(o for o in passed.fresh if o in gone)
        lacking = len(gone) - len(fresh)
        unknown, expired = part_expired(unknown, gone, fresh)
        lacking -= len(expired)
        # Those are reported already.
        lacking -= min(lacking, state.count_reported(first, gone[-1]))
    doubtful = explain(present, unknown)
    # What is left is of records that the mirror read again.
    lacking -= min(lacking, len(unknown) - len(doubtful))
    # Or one that is still there was copied, and one more that is gone was not.
    left = [offset for offset in present if offset not in doubtful]
    either = explain_instead(left, expired, is_ordered=passed.is_ordered)
    lacking += len(either)
    explained = doubtful | either
    gone, most = _read_before_stand(state, reading, passed, present) or (
        gone,
        lacking,
    )
    if lacking := min(lacking, most):
        expired_too = gone.start, gone.stop - 1
        ranges = RangeSet([expired_too, *to_ranges(sorted(either))])
        yield SettledRange(SkipKind.UNVERIFIABLE, ranges, lacking)
    proved = [
        offset
        for offset in present
        if offset not in explained
        and not (offset <= state.cut_until and state.is_reported(offset))
    ]
    copied = passed.path.copied if passed.is_ordered else ()
    holes = [each.at for each in passed.path.unknown if each.is_gone]
    gaps = Gaps(copied, holes, explained)
    for what, offsets in _sort(state, request, passed, proved):
        kind = what
        if state.is_head and offsets[0] == present[0]:
            kind = SkipKind.HEAD
        if request.sampled:
            kind = SkipKind.SAMPLED
        for ranges, count in gaps.split(offsets):
            yield SettledRange(
                kind, ranges, count, committed=what is not SkipKind.SKIPPED
            )
    state.doubt(to_ranges(sorted(explained)))
    # Compaction removes copies as it likes: that is no sign of anything. What
    # is there and not recognised is one.
    count = len(doubtful)
    count -= len(holes) if reading.target_compacted else 0
    if count > 0:
        ranges = to_ranges(sorted(doubtful.union(gaps.find(proved))))
        yield SettledRange(SkipKind.UNVERIFIABLE, ranges, count)
    if request.sampled:
        unread = _unread(request, max(first, reading.source_start), last)
        if len(unread):
            yield SettledRange(SkipKind.UNVERIFIABLE, unread, len(unread))


def _sort(
    state: PartitionState,
    request: RangeRequest,
    passed: _Passed,
    proved: Sequence[int],
) -> Iterator[tuple[SkipKind, Sequence[int]]]:
    """Yield the missing records by where they lie, in order."""
    lost = _count_cut(state, proved, passed.fresh)
    end = (
        state.frontier
        if request.passed is None
        else max(passed.path.copied, default=-1)
    )
    between = max(lost, bisect_right(proved, end))
    for kind, offsets in (
        (SkipKind.TRUNCATED, proved[:lost]),
        (SkipKind.SKIPPED, proved[lost:between]),
        (SkipKind.TAIL, proved[between:]),
    ):
        if offsets:
            yield kind, offsets


def _count_cut(
    state: PartitionState, proved: Sequence[int], fresh: set[int]
) -> int:
    """Return how many of the missing records had been copied to a log that was
    truncated since.

    With those that are known to have been there went what was copied behind
    them, up to the first one with a copy.
    """
    known = bisect_right(proved, state.cut_until)
    if not known:
        return 0
    copied = (offset for offset in fresh if offset > proved[known - 1])
    return bisect_right(proved, min(copied, default=proved[-1]))


def _find_unknown(
    path: Trace, reading: RangeContent, present: Sequence[int]
) -> Sequence[UnknownCopy]:
    """Return the copies that are not recognised, and may be of any record."""
    if not reading.source_compacted:
        return path.unknown
    return without_compacted(
        path.unknown, sorted(reading.source), reading.source_start, present
    )


def _unread(request: RangeRequest, first: int, last: int) -> RangeSet:
    unread = RangeSet([(first, last)] if first <= last else ())
    for span in request.source:
        unread, _ = discard(unread, span.first, span.end - 1)
    return unread


def _lacking(
    reading: RangeContent, offsets: range, fresh: set[int], before: set[int]
) -> list[int]:
    """Return the records that have no copy.

    Of those that look alike no more are said to lack one than there are
    fewer copies than records: which is whose is unknown. So copies that
    ranges before had count beside those of this one, even where both were
    taken for copies of the same record.
    """
    inside = [o for o in reading.source if o in offsets]
    left = Counter(reading.source[o] for o in inside)
    left.subtract(reading.target.values())
    left.subtract(reading.source[o] for o in inside if o in before)
    most = len(inside) - sum((o in fresh) + (o in before) for o in inside)
    found, copied = [], fresh | before
    for offset in inside:
        look = reading.source[offset]
        if offset not in copied and left[look] > 0:
            left[look] -= 1
            found.append(offset)
    return found[: max(0, most)]


def _is_reset(
    state: PartitionState,
    reading: RangeContent,
    passed: _Passed,
    present: list[int],
) -> bool:
    """Return whether what is gone had expired before the mirror came to it.

    Then it went on at the log start of that time, which is nowhere before
    the one that was known, or is still the same. Copies of nothing that is
    still there show that it read of what is gone.
    """
    if state.cut_until > passed.before:
        return False  # it had copied of it
    if state.start_before > passed.before + 1:
        return True
    first = min(passed.fresh, default=-1)
    return (
        first >= reading.source_start
        and not passed.path.strangers
        and not any(o < first for o in present)
    )


def _read_before_stand(
    state: PartitionState,
    reading: RangeContent,
    passed: _Passed,
    present: list[int],
) -> tuple[range, int] | None:
    """Return of what is gone what the mirror read before it stood.

    Notes
    -----
    All that it copied since the target's end stood is still there, from the
    first record on: it went on at the log start. So of what is gone all had
    expired that lies behind what it had read before: also what a truncated
    target has lost the copies of.

    Returns
    -------
    tuple or None
        The offsets up to the last one whose copy is known, and how many of
        them may have no copy; `None` if it read on where it was.
    """
    path, start = passed.path, reading.source_start
    pairs = list(zip(path.copied, path.copies, strict=True))
    before = [down + 1 for up, down in pairs if up < start]
    after = [(up, down) for up, down in pairs if up >= start]
    if not after or any(offset < min(after)[0] for offset in present):
        return None
    ended = max([path.strangers_end, *before])
    if not ended <= passed.stood <= min(down for _, down in after):
        return None
    copied = [offset for offset in passed.fresh if offset < start]
    known = min(state.cut_until, start - 1)
    last = max([passed.before, known, *copied])
    gone = range(passed.before + 1, last + 1)
    between = sum(each.at < last for each in path.unknown)
    told = state.count_reported(gone.start, last)
    return gone, max(0, len(gone) - len(copied) - between - told)


def _copied_beyond(
    state: PartitionState, reading: RangeContent, fresh: set[int]
) -> list[int]:
    """Return records beyond the frontier, as many as were copied.

    A copy that seems to be of one that was copied before may as well be of
    the next one that looks alike.
    """
    found: set[int] = set()
    for offset in sorted(o for o in fresh if o > state.frontier):
        alike = (
            other
            for other, look in reading.source.items()
            if other > state.frontier
            and look == reading.source.get(offset)
            and other not in state.doubtful
            and other not in fresh | found
        )
        found.add(next(alike, offset) if offset in state.doubtful else offset)
    return sorted(found)


def _absent(
    state: PartitionState, reading: RangeContent, before: int, fresh: set[int]
) -> int:
    first = max(before + 1, reading.source_start)
    present = sum(first <= o <= state.frontier for o in reading.source)
    copied = sum(o not in reading.source for o in fresh if o >= first)
    return max(0, state.frontier - first + 1 - present - copied)


def _count_passed(
    state: PartitionState,
    request: RangeRequest,
    reading: RangeContent,
    before: int,
    fresh: set[int],
) -> int:
    """Count the records between the old frontier and the new one; of a sample,
    those that were read.
    """
    if request.sampled:
        return sum(before < o <= state.frontier for o in reading.source)
    return state.frontier - before - _absent(state, reading, before, fresh)


def count_settled(
    state: PartitionState, found: SettledRange, tally: SkipCounters
) -> None:
    """Count what a range held."""
    if found.kind is SkipKind.UNVERIFIABLE:
        tally.unverifiable += found.count
    elif found.count < len(found.ranges):
        state.skip_some(found.ranges, found.count, tally)
    else:
        state.skip(found.ranges, tally)


def _finish(
    state: PartitionState, request: RangeRequest, last: OffsetPair | None
) -> None:
    # What follows the last copy of a tail may be copies that could not be
    # recognised yet: it is left for the next range.
    end = request.points[-1] if request.points else last
    if end is not None:
        # Or what was read there is a copy of another record.
        is_there = last is not None and last.downstream == end.downstream
        state.move(last if last is not None and is_there else end)


_RANGES_KEPT = 20


def to_event(
    state: PartitionState,
    found: SettledRange,
    now: datetime,
    *,
    is_filtered: bool,
) -> SkipEvent:
    """Return what a range held as an event."""
    return SkipEvent(
        kind=found.kind,
        topic=state.topic,
        partition=state.partition,
        source_id=state.source_id,
        ranges=tuple(newest(found.ranges, _RANGES_KEPT)),
        count=found.count,
        at=now,
        filtered=is_filtered,
    )


def still_missing(event: SkipEvent, state: PartitionState | None) -> int:
    """Return how many of its records are still known as skipped.

    All of them, if the topic was recreated: they will not come.
    """
    if state is None or state.source_id != event.source_id:
        return event.count
    named = sum(b - a + 1 for a, b in event.ranges)
    still = sum(state.skipped.count(a, b) for a, b in event.ranges)
    unnamed = sum(state.unnamed.among.count(a, b) for a, b in event.ranges)
    still += min(unnamed, state.unnamed.count)
    return min(event.count, max(0, event.count - named) + still)
