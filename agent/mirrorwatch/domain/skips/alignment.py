"""Which copies are of what the source holds.

Where it was truncated or recreated, others may be at the offsets of records
that it has lost by now. A mirror goes on at its old position all the same, and
what is there before is never copied.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile

from ..cluster_view import PartitionView, TopicPartition
from ..mirror_records import Sync
from ..offsets import OffsetMap, OffsetRange, RangeSet, discard, to_ranges
from .model import OffsetPair, RangeRequest, SkipKind, is_clean
from .partition import SMALL, PartitionState, is_another, is_cut, request_of
from .settle import RangeContent, SettledRange

__all__ = [
    "TruncatedSources",
    "find_cut",
    "find_first",
    "go_back",
    "may_be_cut",
    "recognise",
    "without_start",
]


_BACK = 1000

_BELOW = 1000
"""Offsets below the lowest end that was seen, or the first copy, that are
compared. Copies may lie so much lower than they are known to, where others
hid what was dropped."""

_SHARP = 20
"""Records before a truncation that are all found where they were copied to.
Fewer do not show that a mirror alters none."""

_TRIES = 3
"""Copies by which it is tried whether a log was truncated: the first ones may
be of before that."""

_LITTLE = 5_000
"""Copies up to which all are read that came while nobody looked."""


def go_back(
    state: PartitionState, request: RangeRequest, reading: RangeContent
) -> bool:
    """Go back to where copies are still of what the source holds.

    Parameters
    ----------
    state
        State of the partition.
    request
        What was asked, next to the cursor.
    reading
        What was read.

    Returns
    -------
    bool
        Whether it went back: more is to be read.

    Notes
    -----
    A mirror goes on where it was. If the next copy is none of the record that
    the source holds there, or of another one, then the log was truncated, as
    far back as copies are not of what is there. Or others write to the target:
    then those before it are, and all is as it was.
    """
    start, first = request.start, request.target.first
    if (
        state.noisy
        or state.frontier > start.upstream
        or request.sampled
        or start.upstream + 1 not in reading.source
        or reading.target.get(first) in {None, *reading.source.values()}
    ):
        return False
    back = min(
        _room_before(state, start),
        start.upstream + 1 - reading.source_start,
        start.downstream + 1 - reading.target_start,
    )
    if back <= 0:
        return False
    # What was passed up to here is counted.
    state.cut_from = max(state.cut_until, state.frontier)
    state.upstream = state.frontier = start.upstream - back
    state.downstream = start.downstream - back
    return True


def _room_before(state: PartitionState, start: OffsetPair) -> int:
    """Return how many copies up to a pair are known, one for each record."""
    for upstream, downstream, length in state.copies:
        before = start.downstream - downstream
        if start.upstream - upstream == before and 0 <= before < length:
            return min(before + 1, _BACK)
    return 0


def may_be_cut(state: PartitionState, request: RangeRequest) -> bool:
    """Return whether the target may have been truncated below the cursor and
    be as long again: then records behind it seem to lack a copy.

    As many had one that was lost, and those behind are where these were. Only
    the copy at the cursor shows that, which is of another record by now:
    MirrorMaker 2 writes no sync of it where one copy was lost.
    """
    start = request.start
    end = request.points[-1] if request.points else None
    begun = next(iter(state.copies), (-1, -1, 0))
    is_copy = state.tells_first or begun[:2] != (
        start.upstream,
        start.downstream,
    )
    is_short = end is None or (
        end.upstream - start.upstream > end.downstream - start.downstream
    )
    return (
        is_short
        and len(request.target) > 0
        and state.cut_from is None
        and state.frontier <= start.upstream
        and not (state.noisy or state.heads)
        and not (request.looks_back or request.only_count or request.only_end)
        and is_copy
        and _room_before(state, start) > 0
    )


def find_cut(request: RangeRequest, reading: RangeContent) -> int | None:
    """Return where the target's log ended when it was truncated, if the copy
    at the cursor shows that it was: it is of a record further on.
    """
    start = request.start
    look = reading.target.get(start.downstream)
    if not request.rereads_start or reading.source.get(start.upstream) == look:
        return None
    if start.upstream not in reading.source and any(
        len({*looks.values()}) < len(looks)
        for looks in (reading.source, reading.target)
    ):
        return None  # its record is gone, and may have looked like another
    alike = (o for o, its in reading.source.items() if its == look)
    upstream = min((o for o in alike if o > start.upstream), default=None)
    if upstream is None:
        return None
    return start.downstream + 1 - (upstream - start.upstream)


def without_start(
    request: RangeRequest, reading: RangeContent
) -> RangeContent:
    """Return what was read but for the copy at the cursor and its record."""
    if not request.rereads_start:
        return reading
    start = request.start
    is_asked = any(
        span.first <= start.upstream < span.end for span in request.source
    )
    return replace(
        reading,
        source={
            offset: look
            for offset, look in reading.source.items()
            if is_asked or offset != start.upstream
        },
        target={
            offset: look
            for offset, look in reading.target.items()
            if offset != start.downstream
        },
    )


def find_first(request: RangeRequest, reading: RangeContent) -> int | None:
    """Return the lowest source offset that was copied, 0 if it is that of the
    first record; `None` if it cannot be told.

    Parameters
    ----------
    request
        What was asked: all of the source, and all that the target has got
        since the topic was recreated.
    reading
        What was read.

    Notes
    -----
    Records that have expired, or that compaction took, may have been copied
    before that one.
    """
    looks, copies = (
        Counter(reading.source.values()),
        {*reading.target.values()},
    )
    copied = [o for o, look in reading.source.items() if look in copies]
    is_cut = (
        reading.source_start or reading.target_start > request.target.first
    )
    if not copied or is_cut:
        return None
    first = min(copied)
    if first == min(reading.source):
        return 0
    is_compacted = reading.source_compacted or reading.target_compacted
    is_sure = looks[reading.source[first]] == 1 and not is_compacted
    return first if is_sure else None


def recognise(
    state: PartitionState, request: RangeRequest, reading: RangeContent
) -> None:
    """Note where copies are that were read, if all of them are recognised.

    Then what the target holds is what the source holds, in its order, but for
    what was left out: each record is the next one that looks like it, and two
    alike would be ambiguous.
    """
    if request.sampled or not request.points:
        return
    first, last = request.start, request.points[-1]
    source = {
        look: offset
        for offset, look in reading.source.items()
        if first.upstream < offset <= last.upstream
    }
    pairs = [
        OffsetPair(source.get(look, -1), offset)
        for offset, look in sorted(reading.target.items())
        if first.downstream < offset <= last.downstream
    ]
    found = [first.upstream, *(pair.upstream for pair in pairs)]
    if len(source) == sum(
        first.upstream < offset <= last.upstream for offset in reading.source
    ) and all(before < after for before, after in pairwise(found)):
        for pair in pairs:
            state.copies.add(pair.upstream, pair.downstream)


@dataclass(slots=True)
class _Cut:
    """A log at the source whose end fell."""

    copies: OffsetMap
    """Where copies of the log as it was are."""

    end: int
    last: int = -1
    """The last record that was copied before one shows what was left out."""

    believed: bool = False
    tries: int = 0
    pairs: set[OffsetPair] = field(default_factory=set)


@dataclass(slots=True)
class TruncatedSources:
    """Partitions whose log at the source was truncated, as it seems.

    Notes
    -----
    What was written after the truncation is below what a mirror copies next,
    if it resumed at the end, or at its old position, which the log had reached
    again. These records have the offsets of others that were lost, whose
    copies the target still holds. The first one that is not the record whose
    copy is there was written afterwards, and so was all behind it.
    """

    requests: dict[TopicPartition, RangeRequest] = field(default_factory=dict)
    _cuts: dict[TopicPartition, _Cut] = field(default_factory=dict)
    _ends: dict[TopicPartition, int] = field(default_factory=dict)

    def note(
        self,
        state: PartitionState | None,
        key: TopicPartition,
        seen: PartitionView,
    ) -> None:
        """Take the end of a log, which may have fallen."""
        if state is None or is_another(state, seen):
            self.forget(key)
            return
        run, end = state.copies.last, seen.source_end
        before, self._ends[key] = self._ends.get(key, end), end
        if run is None or end >= max(before, run.last_upstream + 1):
            return
        cut = self._cuts.get(key)
        if cut is None:
            copies, last = state.copies.copy(), run.last_upstream
            cut = self._cuts[key] = _Cut(copies, end, last)
        cut.end = min(cut.end, end)

    def follows(self, key: TopicPartition) -> bool:
        """Return whether a log was truncated, as far as is known."""
        return key in self._cuts

    def believe(self, before: PartitionState, seen: PartitionView) -> None:
        """Take that a log was truncated: what was known of it is void."""
        self.forget(_key(before))
        if not is_cut(before, seen):
            cut = _Cut(before.copies, seen.source_end, believed=True)
            self._cuts[_key(before)] = cut

    def take_syncs(self, syncs: Iterable[Sync]) -> None:
        """Take syncs, by which it is known where a mirror resumed."""
        for sync in syncs if self._cuts else ():
            cut = self._cuts.get(sync.key)
            run = None if cut is None else cut.copies.last
            if cut and run and sync.downstream > run.last_downstream:
                cut.pairs.add(OffsetPair(sync.upstream, sync.downstream))

    def forget(self, key: TopicPartition) -> None:
        """Forget a log, as another one is there."""
        for known in (self._cuts, self._ends, self.requests):
            known.pop(key, None)

    def look(
        self,
        states: Mapping[TopicPartition, PartitionState],
        surveyed: Mapping[TopicPartition, PartitionView],
    ) -> None:
        """Compare what lies below the next copy of each, if there is one."""
        for key, cut in list(self._cuts.items()):
            if key not in self.requests and key in surveyed:
                self._look(cut, states[key], surveyed[key])

    def _look(
        self, cut: _Cut, state: PartitionState, seen: PartitionView
    ) -> None:
        run, begun = state.copies.last, next(iter(state.copies), None)
        if run is None or begun is None:
            return
        first = OffsetPair(run.last_upstream, run.last_downstream)
        if cut.believed:
            # What is behind the first copy is accounted for.
            first = OffsetPair(begun[0], begun[1])
        if first.upstream <= cut.last:
            return
        cut.last = first.upstream
        cut.tries += 1
        # From its lowest end on, all was written since.
        lowest = max(seen.log_start, min(cut.end, first.upstream) - _BELOW)
        source = OffsetRange(lowest, first.upstream + 1)
        is_whole = first.downstream < _LITTLE
        places = _places(cut.copies, lowest, first, extended=is_whole)
        start = 0 if is_whole else min(places.values(), default=0) - _BELOW
        end = first.downstream + 1
        target = OffsetRange(max(0, start, end - SMALL), end)
        if not (places or is_whole):
            self.forget(_key(state))
            return
        self.requests[_key(state)] = request_of(
            state,
            seen,
            start=first,
            points=(),
            source=(source,) if len(source) <= SMALL else _ends_of(source),
            target=target,
            looks_back=True,
        )

    def find(
        self,
        request: RangeRequest,
        reading: RangeContent | None,
        state: PartitionState | None,
        *,
        may_resume_at_end: bool = False,
    ) -> list[SettledRange]:
        """Return what was written since the truncation and has no copy, but
        for what is reported already.

        Parameters
        ----------
        request
            What was asked.
        reading
            What was read.
        state
            State of the partition.
        may_resume_at_end
            Whether the mirror may have resumed at the end of the log: then
            records of it may lack a copy where none is recognised.
        """
        key, first = request.place, request.start
        cut, asked = self._cuts.get(key), self.requests.pop(key, None)
        if cut is None or asked != request or reading is None or state is None:
            return []
        source, looks = reading.source, {*reading.target.values()}
        if source.get(first.upstream) not in looks:
            # It was copied before, or is altered: no copy looks like it.
            if cut.believed or cut.tries == _TRIES:
                self.forget(key)
            if not (cut.believed and may_resume_at_end):
                return []
            lowest = min(
                (p.upstream for p in cut.pairs if is_clean(p, first)),
                default=first.upstream,
            )
            return _doubt_below(lowest, reading, state)
        self.forget(key)
        # Nothing is called new where a copy may have expired.
        is_whole = (
            request.target.first == reading.target_start == 0
            and not reading.target_compacted
        )
        places = _places(
            cut.copies, request.source[0].first, first, extended=is_whole
        )
        other = {
            up: reading.target[down] != source[up]
            for up, down in places.items()
            if up in source and down in reading.target
        }
        run = cut.copies.last
        was_copied = range(
            cut.end, 0 if run is None else run.last_upstream + 1
        )
        if not (cut.believed or all(other.get(o, True) for o in was_copied)):
            return []  # the log was as long all the time
        offsets = [o for o in sorted(source) if o < first.upstream]
        new = {o for o in offsets if source[o] not in looks}
        since = min((o for o in new if other.get(o)), default=first.upstream)
        below = [o for o in offsets if o < since]
        # Copies of these may have been compacted, or be before all known ones.
        doubtful = [*takewhile(new.__contains__, reversed(below))][::-1]
        below = [o for o in below[: len(below) - len(doubtful)] if o in other]
        lost = [
            o
            for o in sorted(new)
            if o >= since
            and not state.is_reported(o)
            and not state.doubtful.count(o, o)
        ]
        is_sharp = new.isdisjoint(below)
        # Where copies of before are too many to be read, only records that
        # were not there before the truncation are known to have none.
        is_newer = doubtful[-1:] >= [cut.end]
        is_clear = is_whole or (len(request.target) == SMALL and is_newer)
        found = []
        if lost and (cut.believed or is_sharp):
            # Some that were altered look the same as some that were lost.
            is_sure = cut.believed and is_sharp and len(below) >= _SHARP
            kind = SkipKind.SKIPPED if is_sure else SkipKind.UNVERIFIABLE
            found += [SettledRange(kind, to_ranges(lost), len(lost))]
        elif not (cut.believed and is_clear):
            return []
        doubts = to_ranges(doubtful)
        if lost or doubtful:
            for span in _unread(request, reading, is_known=bool(below)):
                doubts.add(*span)
        return [*found, *_doubt(doubts, state)]


def _unread(
    request: RangeRequest, reading: RangeContent, *, is_known: bool
) -> Iterator[tuple[int, int]]:
    """Yield the ranges of which nothing was read, though they may be lost:
    also below all that was read, if none of it is known to be of before.
    """
    for before, after in pairwise(request.source):
        yield before.end, after.first - 1
    lowest = request.source[0].first
    if not is_known and reading.source_start < lowest:
        yield reading.source_start, lowest - 1


def _ends_of(span: OffsetRange) -> tuple[OffsetRange, OffsetRange]:
    """Return the start of a range that is too large to be read, and its last
    offset.
    """
    return (
        OffsetRange(span.first, span.first + SMALL),
        OffsetRange(span.end - 1, span.end),
    )


def _key(state: PartitionState) -> TopicPartition:
    return state.topic, state.partition


def _doubt_below(
    first: int, reading: RangeContent, state: PartitionState
) -> list[SettledRange]:
    """Doubt all that lies below the first record that was copied of a
    truncated log, where no copy looks like its record: nothing shows where the
    log was truncated, and what was written since is part of it.
    """
    start = reading.source_start
    if start >= first or not {*reading.source.values()}.isdisjoint(
        reading.target.values()
    ):
        return []
    return _doubt(RangeSet([(start, first - 1)]), state)


def _doubt(ranges: RangeSet, state: PartitionState) -> list[SettledRange]:
    """Doubt what is not reported already."""
    for skipped in (*state.skipped, *state.unnamed.among):
        ranges, _ = discard(ranges, *skipped)
    if not ranges:
        return []
    return [SettledRange(SkipKind.UNVERIFIABLE, ranges, len(ranges))]


def _places(
    copies: OffsetMap, lowest: int, first: OffsetPair, *, extended: bool
) -> dict[int, int]:
    """Return where copies of the log as it was are, below a pair.

    Parameters
    ----------
    copies
        Where they are known to be.
    lowest
        Lowest source offset to ask for.
    first
        The pair.
    extended
        Whether to take those before the first known one, too, as if nothing
        had been left out or repeated there.

    Notes
    -----
    If the pair is as far apart as the last known ones, those between were
    copied, too: of the log as it was, or of what is there now.
    """
    found: dict[int, int] = {}
    last = copies.last
    for number, (upstream, downstream, known) in enumerate(copies):
        back = min(upstream, downstream) if extended and not number else 0
        length = known
        if last is not None and downstream == last.downstream:
            in_step = (
                upstream - downstream == first.upstream - first.downstream
            )
            length = first.upstream - upstream if in_step else known
        for n in range(max(-back, lowest - upstream), length):
            place = upstream + n, downstream + n
            if place[0] >= first.upstream or place[1] >= first.downstream:
                break
            found[place[0]] = place[1]
    return found
