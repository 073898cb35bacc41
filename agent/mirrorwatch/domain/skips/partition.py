"""State of one partition, as long as both topics keep their ids."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from ..cluster_view import STALE_END, PartitionView, TopicPartition
from ..mirror_records import Committed, Sync
from ..offsets import OffsetMap, OffsetRange, RangeSet, discard, newest, unite
from .model import OffsetPair, RangeRequest, SkipCounters, is_clean
from .unnamed import UnnamedSkips

__all__ = [
    "SMALL",
    "BelievedCommits",
    "PartitionState",
    "PastLogStarts",
    "begin",
    "is_another",
    "is_cut",
    "is_shorter",
    "is_within",
    "plan_count",
    "plan_end",
    "plan_gap",
    "plan_search",
    "plan_tail",
    "position_of",
    "request_of",
]


_RANGES_KEPT = 200
"""Skipped ranges kept by offset for each partition, the newest: a person
reads a few, and a filter that drops every other record must not fill the
disk. Those forgotten stay counted, and are never taken back."""

_AHEAD_KEPT = 2000
"""Syncs that wait while a range is read. Beyond, every other one is let go,
as if the mirror had not written it: the same in total, less in detail."""

_CADENCE = 101
"""Target offsets after which MirrorMaker 2 writes a sync if nothing else
causes it (``offset.lag.max`` is 100)."""

_DROPPED_BEYOND = 1000
"""Records beyond a committed position that may have been dropped, too, before
the last copies: a copy of what is not read may be of any record."""

_CUT_BACK = 1000
"""Records before the end of a truncated target that are compared again: it may
have grown by so many before its end was seen."""

_HEADS_KEPT = 3
"""Offsets where a writer was when another one took over. Two write at once
when a frozen mirror thaws; more than three never were seen."""


@dataclass(kw_only=True)
class PartitionState:
    """State of one partition, as long as both topics keep their ids.

    Notes
    -----
    Everything up to the cursor is accounted for. Every source record below
    `frontier` was copied at least once, unless it is in `skipped`. What is
    skipped is a set, so a record that is dropped again when a range is read
    again counts once, and a later copy takes it out.
    """

    topic: str
    partition: int
    source_id: str
    target_id: str | None = None
    """`None` until the mirror has made the topic."""

    since: datetime | None = None
    """When these ids were first seen instead of others: what the mirror
    wrote before speaks of those. `None` if they were there first."""

    upstream: int | None = None
    """Cursor: source offset; `None` until a first pair is known."""

    downstream: int = -1
    frontier: int = -1
    is_head: bool = False
    """Whether nothing has been copied yet, so that the first copy must be
    the first record. Without a cursor: it has had no leader yet."""

    searched_from: int | None = None
    """Target offset from which the first copy of a recreated topic is looked
    for: what is before that one is of the former topic. `None` if there was
    none, or it is found."""

    first_copy: int | None = None
    """Where the mirror began in a recreated topic, as far as its copies show
    that."""

    unconfirmed: bool = False
    """Whether the cursor is the first sync since the topics got these ids,
    which may be a late one of the topics before."""

    widened: bool = False
    """Whether the next range is to be read with more around it."""

    cut_from: int | None = None
    """Frontier when the target's log was truncated, until it is there again:
    what lacks a copy up to there had one, or is known to be skipped. `None` if
    it was not."""

    cut_at: datetime | None = None
    """When the newest sync was written that may be of the log before it was
    truncated."""

    start_before: int = 0
    """Log start of the source before the newest pairs were written."""

    noisy: bool = False
    """Whether the target was seen to hold what is no copy: marks of
    transactions or records of others, which could hide a drop."""

    skipped: RangeSet = field(default_factory=RangeSet)
    unnamed: UnnamedSkips = field(default_factory=UnnamedSkips)
    doubtful: RangeSet = field(default_factory=RangeSet)
    again: RangeSet = field(default_factory=RangeSet)
    """What was copied again since that was last reported."""

    again_count: int = 0
    heads: list[int] = field(default_factory=list)
    """Where writers were when another one took over, until one alone has
    gone on."""

    ahead: list[OffsetPair] = field(default_factory=list)
    """Syncs not yet accounted for, in the order of the target."""

    copies: OffsetMap = field(default_factory=OffsetMap)
    """Where copies are at the target, by all syncs: consumer groups that
    fail over start by it."""

    tells_first: bool = False
    """Whether these begin with a copy, and not with what is before one."""

    @property
    def cursor(self) -> OffsetPair | None:
        """Up to where everything is accounted for."""
        if self.upstream is None:
            return None
        return OffsetPair(self.upstream, self.downstream)

    @property
    def copied_to(self) -> int:
        """The target's offset behind all that is known to be copied."""
        places = [self.downstream, *(p.downstream for p in self.ahead[-1:])]
        last = self.copies.last
        if last is not None and self.target_id is not None:
            places.append(last.last_downstream)
        return max(places) + 1

    @property
    def cut_until(self) -> int:
        """The frontier before the target was truncated, -1 if it was not."""
        return -1 if self.cut_from is None else self.cut_from

    @property
    def is_full(self) -> bool:
        """Whether no more skipped ranges could be kept."""
        return any(
            sum(1 for _ in ranges) >= _RANGES_KEPT
            for ranges in (self.skipped, self.unnamed.among)
        )

    @property
    def awaits_head(self) -> bool:
        """Whether it appeared without a leader, and has had none since."""
        return self.is_head and self.upstream is None

    def begin(
        self, upstream: int, downstream: int, *, is_copy: bool = True
    ) -> None:
        """Begin at a sync, or before a copy; what was before is not judged."""
        self.upstream, self.downstream = upstream, downstream
        self.frontier = upstream
        self.copies = OffsetMap([(upstream, downstream, 1)])
        self.unconfirmed = self.since is not None
        self.tells_first = is_copy

    def begin_again(self, seen: PartitionView) -> None:
        """Begin at the newest sync where a log was truncated.

        If both logs reach beyond it, the mirror wrote it when it had gone
        back: those before lie behind the end. It may not say so again before
        it passes records.
        """
        sync = seen.sync
        if sync is not None and is_within(sync, seen):
            self.begin(sync.upstream, sync.downstream)
            self.since = sync.written_at

    def cut(
        self, end: int, reached: int, sync: Sync | None, source_end: int
    ) -> None:
        """Go back to where copies are still known in a truncated target.

        Parameters
        ----------
        end
            An end of the target since; the log may have been shorter before.
        reached
            Its end before.
        sync
            The newest sync: those before it may be of the log before.
        source_end
            End of the source, which may have been truncated, too: what it has
            lost is missed by nobody.
        """
        first = self.copies.upstream_at(end)
        if first is None or self.upstream is None:
            return
        # Where others write, too, only syncs are believed.
        room = 0 if self.noisy else max(0, reached - 1 - self.downstream)
        last = min(max(self.frontier, self.upstream + room), source_end - 1)
        self.cut_from = max(self.cut_until, last)
        self.copies.cut(end)
        runs = list(self.copies)
        if not runs:
            self.downstream = end - 1
            self.upstream = self.frontier = first - 1
            self.copies = OffsetMap([(self.upstream, self.downstream, 1)])
            self.tells_first = False
        else:
            self._go_before(runs)
        # The copies that these may have had would be gone.
        self.doubtful, _ = discard(
            self.doubtful, self.frontier + 1, self.cut_from
        )
        self.ahead, self.heads = [], []
        if sync is not None:
            self.cut_at = sync.written_at
            if sync.upstream > self.cut_until and sync.downstream <= end:
                self.queue(OffsetPair(sync.upstream, sync.downstream))
        self.is_head = self.unconfirmed = self.widened = False

    def cut_unseen(self, end: int) -> None:
        """Go back the same where the target was as long again when it was
        seen, so that the syncs that wait are of the log as it is now.
        """
        waiting = self.ahead
        self.cut(end, 0, None, self.frontier + 1)
        for point in waiting:
            self.queue(point)

    def _go_before(self, runs: list[tuple[int, int, int]]) -> None:
        """Go back to a copy so far before the end of a truncated target that
        it is one still, whatever was left out or repeated since.

        Not beyond what is accounted for.
        """
        upstream, downstream, length = runs[-1]
        lowest = downstream + length - 1 - _CUT_BACK
        at = max(0, sum(first <= lowest for _, first, _ in runs) - 1)
        upstream, downstream, length = runs[at]
        # The first one may be another copy by now, too.
        is_copy = self.tells_first or at > 0
        on = max(-is_copy, min(lowest - downstream, length - 1))
        if downstream + on <= self.downstream:
            ends = [up + n - 1 for up, _, n in runs[:at]]
            self.upstream, self.downstream = upstream + on, downstream + on
            self.frontier = max([self.upstream, *ends])

    def is_cut_before(self, point: OffsetPair) -> bool:
        """Return whether a sync shows that the target was truncated.

        In one log, what is copied for the first time comes behind all that
        was copied before. Where two tasks write, syncs come in any order, and
        they may where one rewound: then what is still to be read shows it.
        """
        known = [p.upstream for p in self.ahead]
        places = [self.downstream]
        in_turn = pairwise([self.upstream or 0, *known])
        if not self.heads and all(a < b for a, b in in_turn):
            places += [p.downstream for p in self.ahead]
        return (
            self.searched_from is None
            and point.upstream > max(self.frontier, self.cut_until, *known)
            and point.downstream <= max(places)
        )

    def begin_behind(self, former_end: int, log_start: int) -> None:
        """Begin a recreated topic whose first copy is still to be found.

        Parameters
        ----------
        former_end
            Target offset from which on it may be.
        log_start
            Where the source begins.
        """
        self.begin(log_start - 1, former_end - 1, is_copy=False)
        self.searched_from = former_end

    def find_begin(
        self, source: Mapping[int, int], target: Mapping[int, int], end: int
    ) -> RangeSet | None:
        """Begin a recreated topic at its first copy, if that can be told.

        Else at its first sync, once what was read reaches beyond that.

        Parameters
        ----------
        source
            Records there, as what is the same of their copies, by offset.
        target
            The same there.
        end
            Target offset up to which it was read.

        Returns
        -------
        RangeSet or None
            Offsets that cannot be judged; `None` while none is begun.
        """
        places: dict[int, list[int]] = {}
        for offset, look in source.items():
            places.setdefault(look, []).append(offset)
        copies = [
            OffsetPair(places[look][0], down)
            for down, look in sorted(target.items())
            if len(places.get(look, ())) == 1
        ]
        start = self.upstream or 0
        if copies:
            # What was not copied before it is a reset of the position.
            first = copies[0]
            self.begin(first.upstream - 1, first.downstream - 1, is_copy=False)
            self.unconfirmed = False
            self.ahead = [
                p for p in self.ahead if p.downstream >= first.downstream
            ]
            self.queue(copies[-1])
            unjudged = RangeSet()
        elif self.ahead and self.ahead[0].downstream < end:
            point = self.ahead[0]
            self.begin(point.upstream, point.downstream)
            self.ahead = self.ahead[1:]
            unjudged = RangeSet([(start + 1, max(start + 1, point.upstream))])
        else:
            return None
        self.searched_from = None
        return unjudged

    def is_begun_wrongly(self, point: OffsetPair) -> bool:
        """Return whether a sync shows that the cursor is of former topics.

        MirrorMaker 2 writes what it holds back of a topic that was deleted
        after the new one was seen. In one log, what is further on at the
        source is not further back at the target.
        """
        return (
            self.unconfirmed
            and self.upstream is not None
            and point.upstream > self.upstream
            and point.downstream <= self.downstream
        )

    def queue(self, point: OffsetPair) -> None:
        """Take a sync. One from before the cursor is late: the range around it
        was read without it, or had no room for it.
        """
        self.copies.add(point.upstream, point.downstream)
        places = [p.downstream for p in self.ahead]
        if point.downstream <= self.downstream or point.downstream in places:
            return
        self.ahead.append(point)
        if places and places[-1] > point.downstream:
            self.ahead.sort(key=lambda p: p.downstream)
        if len(self.ahead) > _AHEAD_KEPT:
            self.ahead = [*self.ahead[1:-1:2], self.ahead[-1]]

    def go_on(self, tally: SkipCounters) -> bool:
        """Account for what needs no reading; return whether anything was."""
        went = False
        if self.searched_from is not None:
            return went
        while self.ahead and self.upstream is not None:
            before = OffsetPair(self.upstream, self.downstream)
            after = self.ahead[0]
            if not self.explains(before, after):
                break
            if after.downstream - before.downstream >= _CADENCE:
                self.heads = []
            self.copy_run(self.upstream + 1, after.upstream, tally)
            self.move(after)
            went = True
        return went

    def explains(self, before: OffsetPair, after: OffsetPair) -> bool:
        """Return whether two syncs need no reading.

        Notes
        -----
        A pair off the cadence is written where something was left out. If
        it did not change the difference, and others write to the target, or
        another task of the mirror did just now, one of theirs may hide
        what was dropped.
        """
        length = after.downstream - before.downstream
        has_others = self.noisy or bool(self.heads)
        hides = has_others and 1 < length < _CADENCE
        return is_clean(before, after) and not hides

    def move(self, to: OffsetPair) -> None:
        """Set the cursor, and let go of the pairs up to it."""
        self.upstream, self.downstream = to.upstream, to.downstream
        self.is_head = self.unconfirmed = False
        self.ahead = [p for p in self.ahead if p.downstream > to.downstream]

    def copy_run(self, first: int, last: int, tally: SkipCounters) -> None:
        """Record that each offset from first to last was copied once more."""
        again = min(last, self.frontier)
        if first <= again:
            tally.repeated += self.copy_again(first, again, tally)
        if self.cut_until > self.frontier:
            self.copy_again(self.frontier + 1, last, tally)
        tally.passed += max(0, last - max(self.frontier, self.cut_until))
        self.reach(last)

    def reach(self, last: int) -> None:
        """Move the frontier."""
        self.frontier = max(self.frontier, last)
        if self.frontier >= self.cut_until:
            self.cut_from = None

    def copy_again(self, first: int, last: int, tally: SkipCounters) -> int:
        """Record copies of offsets that were passed before; return how many of
        them are repeats.
        """
        repeats = last - first + 1
        if self.skipped:
            self.skipped, recovered = discard(self.skipped, first, last)
            tally.recovered += recovered
            repeats -= recovered
        if self.unnamed.among:
            found, recovered = self.unnamed.copy_again(first, last)
            tally.recovered += recovered
            repeats -= found
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
        # Those may have a copy as well, and are counted by that.
        for first, last in self.unnamed.among:
            self.doubtful, _ = discard(self.doubtful, first, last)
        self.doubtful = newest(self.doubtful, _RANGES_KEPT)

    def skip(self, ranges: RangeSet, tally: SkipCounters) -> None:
        """Record offsets as skipped."""
        tally.skipped += len(ranges)
        for first, last in ranges:
            self.skipped.add(first, last)
        self.skipped = newest(self.skipped, _RANGES_KEPT)

    def skip_some(
        self, among: RangeSet, count: int, tally: SkipCounters
    ) -> None:
        """Record so many of some offsets as skipped."""
        tally.skipped += count
        self.unnamed.add(among, count, _RANGES_KEPT)
        self.doubt(RangeSet())

    def doubt_skipped(
        self, ranges: RangeSet, most: int, tally: SkipCounters
    ) -> int:
        """Record that up to so many of some skipped records may have been
        copied since; return how many.
        """
        for first, last in ranges:
            self.skipped, named = discard(self.skipped, first, last)
            self.unnamed.add(RangeSet([(first, last)]), named, _RANGES_KEPT)
        count = min(most, len(ranges), self.unnamed.count)
        tally.recovered += count
        self.unnamed.copied += count
        if not self.unnamed.count:
            ranges, self.unnamed = self.unnamed.among, UnnamedSkips()
            self.doubt(ranges)
        return count

    def count_reported(self, first: int, last: int) -> int:
        """Return how many offsets from first to last were skipped, or are
        among those of which some were.
        """
        known = self.skipped, self.unnamed.among
        return sum(ranges.count(first, last) for ranges in known)

    def is_reported(self, offset: int) -> bool:
        """Return whether an offset is one of these."""
        return self.count_reported(offset, offset) > 0

    def missing_from(self, start: int) -> tuple[int, int] | None:
        """Return the first skipped record from an offset on, or that may be
        one, and how many there are at least; `None` if there is none.
        """
        if not (self.skipped or self.unnamed.among):
            return None
        left = [
            (max(first, start), last)
            for first, last in (*self.skipped, *self.unnamed.among)
            if last >= start
        ]
        if not left:
            return None
        count = sum(last - first + 1 for first, last in left)
        return min(left)[0], max(0, count - self.unnamed.copied)

    def leave_head(self, head: int) -> None:
        """Remember where a writer was when another one took over."""
        kept = [h for h in self.heads if h != head]
        self.heads = [*kept, head][-_HEADS_KEPT:]


_WIDE = 10
"""How many times wider the source is read where target records were found
that are no copy of what was read: filters and marks of transactions put
copies further away than the target has room for, by any number."""

_TOGETHER = 5_000
"""Target offsets of ranges in a row that are read at once. Two writers at
a time make such rows, and each look costs the same whatever its size."""


def plan_gap(
    state: PartitionState, seen: PartitionView
) -> RangeRequest | None:
    """Return what to read before the next sync is accounted for."""
    start = state.cursor
    if start is None or not state.ahead:
        return None
    points = [state.ahead[0]]
    for point in state.ahead[1:]:
        span = point.downstream - start.downstream
        if span > _TOGETHER or state.explains(points[-1], point):
            break
        points.append(point)
    return _request(state, seen, start, tuple(points))


def plan_search(
    state: PartitionState, seen: PartitionView
) -> RangeRequest | None:
    """Return what to read to find the first copy of a recreated topic.

    `None` if nothing was written to it yet.
    """
    start = state.cursor
    first = state.searched_from
    if start is None or first is None or seen.copies_end <= first:
        return None
    return request_of(
        state,
        seen,
        start=start,
        points=(),
        source=(OffsetRange(seen.log_start, seen.source_end),),
        target=OffsetRange(first, seen.copies_end),
    )


def plan_tail(
    state: PartitionState,
    seen: PartitionView,
    position: int,
    *,
    reached: int = 0,
    is_shared: bool = False,
) -> RangeRequest | None:
    """Return what to read before a committed position is believed.

    Parameters
    ----------
    state
        State of the partition.
    seen
        The partition, with both ends.
    position
        Position that the mirror committed.
    reached
        The target's end when it was believed last.
    is_shared
        Whether others write to the target: their records take room, too.
    """
    start = state.cursor
    if start is None or state.ahead or position > seen.source_end:
        return None
    # The target has room for so many copies since, or had.
    end, is_away = seen.copies_end, seen.uncopied and start.downstream >= 0
    if is_away:
        end = max(reached, start.downstream + 1)
    room = end - start.downstream - 1
    # Not as many where markers are among what a truncated log has left.
    copies = 0 if is_shared or state.cut_until >= 0 else room
    passed = max(start.upstream + copies, state.frontier)
    if room < 0 or position - 1 <= passed:
        return None
    if is_away:
        # Its topic is deleted, or not shown: nothing is read, nor is it ok.
        at = OffsetRange(end, end)
        request = request_of(
            state, seen, start=start, points=(), source=(), target=at
        )
        return replace(request, target_id=None, passed=position)
    return _request(state, seen, start, (), position)


def position_of(state: PartitionState, seen: PartitionView) -> int | None:
    """Return where the mirror is; `None` while pairs wait."""
    if state.upstream is None or state.ahead:
        return None
    if state.searched_from is not None:
        return None
    # Where others write, too, only syncs are believed.
    room = 0 if state.noisy else seen.copies_end - state.downstream - 1
    return max(state.upstream + room, state.frontier) + 1


def plan_count(
    state: PartitionState, seen: PartitionView, span: OffsetRange
) -> RangeRequest:
    """Return what to read to know how many records a span holds."""
    first, end = max(span.first, seen.log_start), seen.copies_end
    return request_of(
        state,
        seen,
        start=OffsetPair(span.first - 1, end - 1),
        points=(),
        source=(OffsetRange(first, min(span.end, seen.source_end)),),
        target=OffsetRange(end, end),
        only_count=True,
    )


def plan_end(
    state: PartitionState, seen: PartitionView, end: int
) -> RangeRequest | None:
    """Return what to ask before the target is believed to end before an
    offset that it had.
    """
    start = state.cursor
    if start is None:
        return None
    return request_of(
        state,
        seen,
        start=start,
        points=(),
        source=(),
        target=OffsetRange(end, end),
        only_end=True,
    )


def request_of(
    state: PartitionState, seen: PartitionView, **asked: Any
) -> RangeRequest:
    """Return a request about a partition."""
    return RangeRequest(
        topic=state.topic,
        partition=state.partition,
        remote=seen.remote,
        source_id=state.source_id,
        target_id=state.target_id,
        **asked,
    )


def _request(
    state: PartitionState,
    seen: PartitionView,
    start: OffsetPair,
    points: tuple[OffsetPair, ...],
    passed: int | None = None,
) -> RangeRequest:
    end = points[-1].downstream + 1 if passed is None else seen.copies_end
    target = OffsetRange(start.downstream + 1, end)
    room = len(target)
    if state.widened:
        room = _WIDE * room + 1000
    known = [p.upstream for p in points]
    tips = [start.upstream, *state.heads, *known]
    # Copies of later records may come before the target's end, too.
    highest = max(
        [*known, start.upstream + room]
        if passed is None
        else [start.upstream + room, passed - 1 + room + _DROPPED_BEYOND]
    )
    spans = [OffsetRange(state.frontier + 1, highest + 1)]
    # Every writer goes on behind where it was, and was before where it is.
    spans += [OffsetRange(tip + 1, tip + room + 1) for tip in tips]
    spans += [OffsetRange(place - room, place + 1) for place in known]
    skipped = [OffsetRange(first, last + 1) for first, last in state.skipped]
    return request_of(
        state,
        seen,
        start=start,
        points=points,
        source=_still_there(spans, seen),
        target=target,
        skipped=_still_there(skipped, seen),
        passed=passed,
    )


def _still_there(
    spans: Iterable[OffsetRange], seen: PartitionView
) -> tuple[OffsetRange, ...]:
    return unite(
        OffsetRange(max(seen.log_start, s.first), min(s.end, seen.source_end))
        for s in spans
    )


SMALL = 50_000
"""Records up to which a topic that was made while the agent was away is read
from its start, both sides at once."""


def begin(
    state: PartitionState,
    seen: PartitionView,
    *,
    appeared: bool,
    unwatched: bool,
) -> bool:
    """Choose where a partition that was never seen begins.

    Parameters
    ----------
    state
        The new state.
    seen
        The partition, with both ends.
    appeared
        Whether the partition was not there in the survey before.
    unwatched
        Whether the flow was watched before, but not just now: it may have
        been made meanwhile.

    Returns
    -------
    bool
        Whether what the mirror wrote until now may be of another topic.
    """
    is_empty = seen.copies_end == 0
    is_young = unwatched and seen.log_start == 0 and seen.source_end <= SMALL
    if appeared or is_young or is_empty:
        # Its first record is still to be copied, or can be read.
        state.begin(seen.log_start - 1, -1, is_copy=False)
        state.is_head = True
        return not appeared and is_empty
    if seen.sync is not None and is_within(seen.sync, seen):
        # What a mirror did before it was watched is not judged.
        state.begin(seen.sync.upstream, seen.sync.downstream)
    return False


def is_another(state: PartitionState, seen: PartitionView) -> bool:
    """Return whether a topic was recreated."""
    return state.source_id != seen.source_id or (
        seen.target_id is not None
        and state.target_id not in {None, seen.target_id}
    )


def is_shorter(state: PartitionState, seen: PartitionView) -> bool:
    """Return whether a log ends before what it was seen to hold.

    It was truncated, or a new leader tells an end from before it caught up.
    """
    if state.upstream is None:
        return False
    upstream = max(state.upstream, *(p.upstream for p in state.ahead), -1)
    return upstream >= seen.source_end or is_cut(state, seen)


def is_cut(state: PartitionState, seen: PartitionView) -> bool:
    """Return whether the target ends before what was copied to it."""
    return seen.target_id is not None and state.copied_to > seen.copies_end


def is_within(sync: Sync, seen: PartitionView) -> bool:
    """Return whether both logs reach beyond a sync; else it speaks of a former
    topic, or of a log that was truncated.
    """
    return (
        sync.upstream < seen.source_end and sync.downstream < seen.copies_end
    )


@dataclass(slots=True)
class BelievedCommits:
    """Committed offsets beyond the newest syncs.

    Notes
    -----
    Commits and syncs come by different topics, and the target's end may be
    too low for a moment: a committed offset is believed when it and the cursor
    have stood for `STALE_END`.
    """

    believed: dict[TopicPartition, int] = field(default_factory=dict)
    _seen: dict[TopicPartition, tuple[int, OffsetPair | None, datetime]] = (
        field(default_factory=dict)
    )

    def look(
        self,
        committed: Mapping[TopicPartition, Committed],
        states: Mapping[TopicPartition, PartitionState],
        moving: Container[TopicPartition],
        at: datetime,
    ) -> None:
        """Compare what was committed with the surveys before.

        Parameters
        ----------
        committed
            Committed positions.
        states
            State of the partitions.
        moving
            Partitions with syncs that are not yet accounted for.
        at
            Time of the survey.
        """
        before, self._seen, self.believed = self._seen, {}, {}
        for key, commit in committed.items():
            state, position = states.get(key), commit.position
            if state is None or position is None or state.ahead:
                continue
            if position - 1 <= state.frontier:
                continue
            if state.since is not None and commit.written_at <= state.since:
                continue  # of topics that were there before
            *known, since = before.get(key, (None, None, at))
            if key in moving or known != [position, state.cursor]:
                since = at
            self._seen[key] = position, state.cursor, since
            if at - since >= STALE_END:
                self.believed[key] = position


_LATER = 2
"""Surveys after which a start counts: a sync that is accounted for by a survey
was read before the one before it, so it was written after the one before
that."""


@dataclass(slots=True)
class PastLogStarts:
    """Log starts that have moved and do not count yet.

    Notes
    -----
    What had expired before the mirror came to it was never to be copied;
    what expired afterwards was read past. Only the start of that time shows
    which.
    """

    _surveys: int = 0
    _moved: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)

    def note(self, key: TopicPartition, start: int) -> None:
        """Take a start that is not the one known."""
        self._moved.setdefault(key, (start, self._surveys))

    def apply(
        self,
        states: Mapping[TopicPartition, PartitionState],
        changed: set[TopicPartition],
    ) -> None:
        """Keep what counts by now; one survey has passed."""
        self._surveys += 1
        for key, (start, survey) in list(self._moved.items()):
            state = states[key]
            if state.ahead or self._surveys - survey <= _LATER:
                continue
            state.start_before = max(state.start_before, start)
            changed.add(key)
            del self._moved[key]
