"""Booking a range that was read, or one that cannot be.

What was read of both sides is matched record by record first: which target
record is a copy of which source record.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ..offset_ranges import RangeSet, discard, newest, to_ranges
from .model import OffsetPair, RangeRequest, SkipCounters, SkipEvent, SkipKind
from .partition import PartitionState

__all__ = [
    "RangeContent",
    "Trace",
    "has_marks",
    "has_strangers",
    "settle",
    "settle_unread",
    "still_missing",
    "tell",
    "trace",
]


Fingerprint = int
"""What a mirror leaves alone of a record, as one number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RangeContent:
    """The records of a stretch on both sides, without control records."""

    source: Mapping[int, Fingerprint] = field(default_factory=dict)
    """By offset, ascending; what the mirror would read now."""

    target: Mapping[int, Fingerprint] = field(default_factory=dict)
    """By offset, ascending."""

    source_start: int = 0
    """Lowest offset that the source still had."""

    target_start: int = 0
    """Lowest offset that the target still had."""

    source_compacted: bool = False
    """Whether the source removes records before their time."""

    target_compacted: bool = False
    """Whether the target does."""


@dataclass(slots=True)
class Trace:
    """The stretch of the target, record by record."""

    copied: list[int] = field(default_factory=list)
    """Source offsets, in the order of the target."""

    strangers: int = 0
    """Target records that are no copy of anything that was read."""

    holes: int = 0
    """Target offsets without a record, where these may have been records:
    removed by compaction or expired. Control records are none of them."""

    highest: int = -1
    """Highest source offset that was copied for sure: others look alike."""

    last: OffsetPair | None = None
    """The last copy that is sure."""


def trace(inquiry: RangeRequest, reading: RangeContent) -> Trace:
    """Say of every target offset of a stretch what it is a copy of.

    Notes
    -----
    A mirror goes on where it was, so of several records that look alike the
    next one after the last copy is taken; only if there is none behind, the
    mirror went back. Where many look alike it may have gone back all the
    same: such copies do not tell how far it came.

    A mirror that alters what it copies has nothing that looks alike: known
    pairs tell. Then its records are taken in the order of the source.

    A pair is not believed where the target has a copy of another record: it
    speaks of another topic, to which a transform sent that one.
    """
    places: dict[int, list[int]] = {}
    for offset, look in reading.source.items():
        places.setdefault(look, []).append(offset)
    found = Trace()
    alike = _are_alike(reading)
    known = {
        p.downstream: p.upstream
        for p in inquiry.points
        if reading.target.get(p.downstream) not in places
        or p.upstream not in reading.source
        or reading.target[p.downstream] == reading.source[p.upstream]
    }
    offsets = sorted(reading.source)
    at = inquiry.start.upstream
    for down in range(inquiry.target.first, inquiry.target.end):
        is_sure = down in known
        if is_sure:
            at = known[down]
        elif down not in reading.target:
            is_gone = down < reading.target_start
            found.holes += is_gone or reading.target_compacted
            continue
        else:
            look = reading.target[down]
            after = _next(places.get(look, ()), at, alike=alike)
            if after is None and not alike:
                after = _next(offsets, at, alike=False)
            if after is None:
                found.strangers += 1
                continue
            at = after
            is_sure = alike and len(places[look]) == 1
        found.copied.append(at)
        if is_sure:
            found.highest = max(found.highest, at)
            found.last = OffsetPair(at, down)
    return found


def has_marks(inquiry: RangeRequest, reading: RangeContent) -> bool:
    """Tell whether the target holds control records: it is longer than its
    records, and nothing removed any.
    """
    first = max(inquiry.target.first, reading.target_start)
    inside = range(first, inquiry.target.end)
    return not reading.target_compacted and len(inside) > len(reading.target)


def has_strangers(inquiry: RangeRequest, reading: RangeContent) -> bool:
    """Tell whether the target holds records that are no copy of those read."""
    return trace(inquiry, reading).strangers > 0


def _next(places: Sequence[int], at: int, *, alike: bool) -> int | None:
    """Return the first place behind one, or if there is none the first."""
    behind = bisect_right(places, at)
    if behind < len(places):
        return places[behind]
    return places[0] if places and alike else None


def _are_alike(reading: RangeContent) -> bool:
    """Tell whether a copy looks like its record."""
    if not reading.source or not reading.target:
        return True
    return not set(reading.source.values()).isdisjoint(reading.target.values())


@dataclass(frozen=True, slots=True)
class SettledRange:
    """Something that a stretch held."""

    kind: SkipKind
    ranges: RangeSet
    count: int


def settle(
    epoch: PartitionState,
    inquiry: RangeRequest,
    reading: RangeContent,
    tally: SkipCounters,
) -> list[SettledRange]:
    """Book a stretch by what both sides hold.

    Parameters
    ----------
    epoch
        Books of the partition, at the start of the stretch.
    inquiry
        What was asked.
    reading
        What was read.
    tally
        Counters of the topic.
    """
    before = epoch.frontier
    path = trace(inquiry, reading)
    fresh, repeated = _replay(epoch, path, tally)
    tally.repeated += len(repeated)
    epoch.noisy = epoch.noisy or path.strangers > 0
    _remember_heads(epoch, inquiry, path)
    passed = -1 if inquiry.passed is None else inquiry.passed - 1
    epoch.frontier = max(before, passed, path.highest)
    found = list(
        _pass_over(epoch, inquiry, reading, _Passed(before, fresh, path))
    )
    for each in found:
        _count(epoch, each, tally)
    unsure = sorted(offset for offset in fresh if offset > epoch.frontier)
    if unsure:
        epoch.doubt(to_ranges(unsure))
    if repeated:
        found.append(
            SettledRange(
                SkipKind.REPEATED,
                to_ranges(sorted(set(repeated))),
                len(repeated),
            )
        )
    if reading.source_compacted or reading.target_compacted:
        tally.compacted += _absent(epoch, reading, before, fresh)
    _finish(epoch, inquiry, path.last)
    return found


def settle_unread(
    epoch: PartitionState,
    inquiry: RangeRequest,
    tally: SkipCounters,
    *,
    is_marked: bool,
) -> list[SettledRange]:
    """Book a stretch that nobody can read: only the net is known.

    Parameters
    ----------
    epoch
        Books of the partition, at the start of the stretch.
    inquiry
        What should have been read.
    tally
        Counters of the topic.
    is_marked
        Whether the mirror is known to write in transactions, whose marks
        make the target longer.
    """
    start = inquiry.start
    end = (
        inquiry.points[-1]
        if inquiry.points
        else OffsetPair((inquiry.passed or 0) - 1, inquiry.target.end - 1)
    )
    net = (end.upstream - start.upstream) - (end.downstream - start.downstream)
    first = min(start.upstream, end.upstream) + 1
    ranges = RangeSet([(first, max(start.upstream, end.upstream))])
    epoch.frontier = max(epoch.frontier, end.upstream)
    if end.upstream <= start.upstream:
        epoch.frontier = max(
            epoch.frontier, start.upstream + len(inquiry.target) - 1
        )
    _finish(epoch, inquiry, end)
    if net == 0 or (net < 0 and is_marked):
        return []
    found = SettledRange(SkipKind.UNVERIFIABLE, ranges, abs(net))
    _count(epoch, found, tally)
    return [found]


@dataclass(frozen=True, slots=True)
class _Passed:
    """What a stretch did beyond the old frontier."""

    before: int
    fresh: set[int]
    path: Trace


def _replay(
    epoch: PartitionState, path: Trace, tally: SkipCounters
) -> tuple[set[int], list[int]]:
    """Return what was copied for the first time, and what again."""
    fresh: set[int] = set()
    repeated: list[int] = []
    for offset in path.copied:
        if offset > epoch.frontier and offset not in fresh:
            fresh.add(offset)
        elif offset > epoch.frontier or epoch.copy_again(
            offset, offset, tally
        ):
            repeated.append(offset)
    return fresh, repeated


def _remember_heads(
    epoch: PartitionState, inquiry: RangeRequest, path: Trace
) -> None:
    last, falls = inquiry.start.upstream, 0
    for offset in path.copied:
        if offset <= last:
            epoch.leave_head(last)
            falls += 1
        last = offset
    if not falls and len(path.copied) > 1:
        epoch.heads = []


def _pass_over(
    epoch: PartitionState,
    inquiry: RangeRequest,
    reading: RangeContent,
    passed: _Passed,
) -> Iterator[SettledRange]:
    """Judge the offsets between the old frontier and the new one that were
    not copied.
    """
    first, last = passed.before + 1, epoch.frontier
    # Any of these may be a copy that cannot be recognised any more.
    unexplained = passed.path.strangers + passed.path.holes
    copied = passed.fresh | {
        o
        for a, b in epoch.doubtful
        for o in range(max(a, first), min(b, last) + 1)
    }
    present = _lacking(reading, range(first, last + 1), copied)
    gone = range(first, min(reading.source_start, last + 1))
    if gone and not _is_reset(epoch, reading, passed, present):
        lacking = len(gone) - sum(o in gone for o in passed.fresh)
        explained = min(unexplained, lacking)
        unexplained -= explained
        if lacking > explained:
            ranges = RangeSet([(gone.start, gone.stop - 1)])
            yield SettledRange(
                SkipKind.UNVERIFIABLE, ranges, lacking - explained
            )
    proved = present[unexplained:]
    if proved:
        kind = SkipKind.SKIPPED if inquiry.passed is None else SkipKind.TAIL
        if epoch.is_head and proved[0] == present[0]:
            kind = SkipKind.HEAD
        yield SettledRange(kind, to_ranges(proved), len(proved))
    doubtful = present[:unexplained]
    # Compaction removes copies as it likes: that is no sign of anything.
    epoch.doubt(to_ranges(doubtful))
    if doubtful and not reading.target_compacted:
        yield SettledRange(
            SkipKind.UNVERIFIABLE, to_ranges(doubtful), len(doubtful)
        )


def _lacking(
    reading: RangeContent, offsets: range, copied: set[int]
) -> list[int]:
    """Return the records that have no copy.

    Of those that look alike no more are said to lack one than there are
    fewer copies than records: which is whose nobody can tell.
    """
    inside = [o for o in reading.source if o in offsets]
    left = Counter(reading.source[o] for o in inside)
    left.subtract(reading.target.values())
    found = []
    for offset in inside:
        look = reading.source[offset]
        if offset not in copied and left[look] > 0:
            left[look] -= 1
            found.append(offset)
    return found


def _is_reset(
    epoch: PartitionState,
    reading: RangeContent,
    passed: _Passed,
    present: list[int],
) -> bool:
    """Tell whether what is gone had expired before the mirror came to it.

    Then it went on at the log start of that time, which is nowhere before
    the one that was known, or is still the same. Copies of nothing that is
    still there tell that it read of what is gone.
    """
    if epoch.start_before > passed.before + 1:
        return True
    first = min(passed.fresh, default=-1)
    return (
        first >= reading.source_start
        and not passed.path.strangers
        and not any(o < first for o in present)
    )


def _absent(
    epoch: PartitionState, reading: RangeContent, before: int, fresh: set[int]
) -> int:
    """Count the offsets that were passed over and hold no record now."""
    first = max(before + 1, reading.source_start)
    present = sum(first <= o <= epoch.frontier for o in reading.source)
    copied = sum(o not in reading.source for o in fresh if o >= first)
    return max(0, epoch.frontier - first + 1 - present - copied)


def _count(
    epoch: PartitionState, found: SettledRange, tally: SkipCounters
) -> None:
    if found.kind is SkipKind.UNVERIFIABLE:
        tally.unverifiable += found.count
    else:
        epoch.skip(found.ranges, tally)


def _finish(
    epoch: PartitionState, inquiry: RangeRequest, last: OffsetPair | None
) -> None:
    # What follows the last copy of a tail may be copies that could not be
    # recognised yet: it is left for the next stretch.
    end = inquiry.points[-1] if inquiry.points else last
    if end is not None:
        epoch.move(end)


_RANGES_TOLD = 20
"""Ranges that one happening names."""


def tell(
    epoch: PartitionState, found: SettledRange, now: datetime
) -> SkipEvent:
    """Return what a stretch held as something that happened."""
    return SkipEvent(
        kind=found.kind,
        topic=epoch.topic,
        partition=epoch.partition,
        source_id=epoch.source_id,
        ranges=tuple(newest(found.ranges, _RANGES_TOLD)),
        count=found.count,
        at=now,
    )


def still_missing(happening: SkipEvent, epoch: PartitionState | None) -> int:
    """Return how many of its records are in the books as skipped.

    All of them, if the topic has been made again: they will not come.
    """
    if epoch is None or epoch.source_id != happening.source_id:
        return happening.count
    named = sum(b - a + 1 for a, b in happening.ranges)
    still = sum(discard(epoch.skipped, a, b)[1] for a, b in happening.ranges)
    return happening.count - named + still
