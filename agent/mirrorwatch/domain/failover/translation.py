"""Start offsets of consumer groups at the target after a failover."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from ..copies.coverage import Coverage, OffsetPair, Span, State
from ..copies.pair import LogPair
from ..finding import Numbers, render
from ..offsets import LARGEST
from . import texts

__all__ = [
    "CopiedPartition",
    "GroupOffset",
    "GroupState",
    "KnownCopies",
    "Method",
    "Start",
    "StartOffset",
    "merge",
    "translate",
]


class Method(StrEnum):
    """Source of a start offset at the target."""

    SYNC = "sync"
    """Offset syncs: positions of the copies of source offsets."""

    CHECKPOINT = "checkpoint"

    TIME = "time"
    """The first record that is not older than a time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupOffset:
    """Committed offset and checkpoint of a consumer group in one partition."""

    topic: str
    partition: int
    committed: int | None = None
    """Source offset of the next record that it has to read; `None` if that
    is not known."""

    upstream: int | None = None
    """Source offset that its checkpoint translates; `None` without one."""

    downstream: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupState:
    """Offsets of a consumer group in all partitions that a flow carries."""

    group: str
    read_at: datetime | None = None
    """Time of the last read of its offsets at the source; `None` for never."""

    offsets: tuple[GroupOffset, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CopiedPartition:
    """State of a partition and its copy; `None` is not known."""

    coverage: Coverage | None = None
    """Positions of copies; `None` if the mirror writes no syncs for it."""

    cursor: OffsetPair | None = None
    """The last copy that the coverage holds. What follows it at the target
    are copies of records above the coverage, or ones that it holds, again."""

    is_shared: bool = False
    """Transaction markers, or records of other producers, at the target."""

    is_mixed: bool = False
    """Copies after the cursor may be of earlier records: two tasks write, or
    the mirror rewound."""

    guessed_until: int = 0
    """First source offset whose copy is where the coverage says: others were
    altered, or deleted before both sides were read."""

    start: int | None = None
    """Log start of the target."""

    end: int | None = None
    """End of the target."""

    source_start: int | None = None
    """Log start of the source."""

    source_end: int | None = None
    """End of the source as last read."""

    ends: OffsetPair | None = None
    """Ends of both logs as last read together, the target's first."""

    even_ends: OffsetPair | None = None
    """Ends of both logs when they had last advanced alike since the cursor."""

    absent: bool = False
    at_time: int | None = None
    """First offset of the target that is not older than the time asked for;
    `None` if no time was asked for."""

    @classmethod
    def of(cls, pair: LogPair, *, is_transactional: bool) -> "CopiedPartition":
        """Return what syncs show of one partition.

        Parameters
        ----------
        pair
            Its state.
        is_transactional
            The mirror writes in transactions.
        """
        cursor = pair.cursor
        return cls(
            coverage=pair.coverage.copy(),
            cursor=cursor,
            is_shared=is_transactional or pair.is_shared,
            is_mixed=pair.is_mixed
            or pair.judged < pair.truncated_until
            or any(
                cursor is None
                or sync.source - cursor.source != sync.target - cursor.target
                for sync in pair.waiting
            ),
            guessed_until=pair.guessed_until,
            even_ends=pair.even_ends,
        )

    @cached_property
    def known(self) -> "KnownCopies | None":
        """Copies as far as syncs and ends show them; `None` without syncs."""
        if self.coverage is None or self.cursor is None:
            return None
        target = self.cursor.target + 1
        source = max(self.coverage.end, self.cursor.source + 1)
        spans = list(self.coverage.spans)
        is_mixed = self.is_shared or self.is_mixed
        even = 0
        for ends in filter(None, (self.even_ends, self.ends)):
            room, left = ends.target - target, ends.source - source
            even = max(even, room) if room == left else even
            is_mixed |= ends is self.ends and room > max(0, left)
        if even and not is_mixed:
            spans.append(Span(source, source + even, State.COPIED, target))
            target, source = target + even, source + even
        if self.end != target:
            spans.append(Span(source, LARGEST, State.UNKNOWN, target))
        return KnownCopies(
            coverage=Coverage(spans),
            next=OffsetPair(target, source),
            is_mixed=is_mixed,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownCopies:
    """Copies of one partition as far as syncs and ends show them: where both
    sides grew alike, each record was copied once.
    """

    coverage: Coverage
    """With what follows it: unverifiable, if the target goes on."""

    next: OffsetPair
    """The next record to copy, as far as is known."""

    is_mixed: bool
    """Copies of any record may follow, as where the target has grown by more
    than the source had to copy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StartOffset:
    """Start offset of a group in one partition, by one method."""

    by: Method
    offset: int
    repeated: int | None
    """Records that would be read twice: those that the group had read at the
    source, and those that the mirror wrote more than once. The most where it
    is not exact; `None` if it is not known."""

    missed: int | None
    """Records that would be missed, though they were copied; the most where
    it is not exact, `None` if it is not known."""

    exact: bool
    """Exact numbers; otherwise they are the most that they can be."""

    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """Start of a group in one partition."""

    place: GroupOffset
    chosen: StartOffset | None
    """Start to be trusted; `None` if the group cannot be translated."""

    others: tuple[StartOffset, ...]
    problem: str | None = None


def translate(place: GroupOffset, copied: CopiedPartition) -> Start:
    """Return where a group starts in one partition of the target.

    Parameters
    ----------
    place
        The group's offset at the source, and its checkpoint.
    copied
        State of the partition and its copy.

    Notes
    -----
    Trusted is what misses nothing and repeats least; if that is not known, a
    time that was asked for, or what syncs say. A start beyond the target's end
    is of a topic that is no more, or of a truncated log.

    While the end of the target is not known, its log may have lost the records
    there, or have been recreated: what would be missed is not known.
    """
    if copied.absent:
        return Start(place=place, chosen=None, others=(), problem=texts.ABSENT)
    costs = _Costs(place.committed, copied)
    found = list(_candidates(place, copied, costs))
    usable = [
        each
        for each in found
        if each.missed in {0, None}
        and (copied.end is None or each.offset <= copied.end)
    ]
    chosen = min(usable, key=_rank, default=None)
    if copied.end is None:
        chosen = chosen and replace(chosen, missed=None)
        found = [replace(each, missed=None) for each in found]
    return Start(
        place=place,
        chosen=chosen,
        others=tuple(each for each in found if each != chosen),
        problem=None if chosen else _problem(place, found, copied, costs),
    )


def _rank(start: StartOffset) -> tuple[bool, bool, int, int]:
    by = [Method.SYNC, Method.CHECKPOINT, Method.TIME]
    if start.missed is None:
        by.reverse()
    return (
        start.missed is None,
        start.repeated is None,
        start.repeated or 0,
        by.index(start.by),
    )


def _candidates(
    place: GroupOffset, copied: CopiedPartition, costs: "_Costs"
) -> Iterator[StartOffset]:
    if costs.low is not None:
        yield costs.judge(Method.SYNC, costs.low, "")
    if place.downstream is not None and place.upstream is not None:
        yield costs.judge_checkpoint(place.upstream, place.downstream)
    if copied.at_time is not None:
        yield costs.judge(Method.TIME, copied.at_time, texts.AT_TIME)


class _Costs:
    """Costs of starts of a group in one partition.

    Parameters
    ----------
    committed
        Source offset of the next record that the group has to read.
    copied
        State of the partition and its copy.

    Notes
    -----
    A start that has expired at the target becomes the log start there. What
    the group had not read before that is missed, unless the source does not
    hold it either: then the group has lost it, wherever it is.
    """

    def __init__(self, committed: int | None, copied: CopiedPartition) -> None:
        self._committed, self._copied = committed, copied
        self._log_start = copied.start or 0
        self._known = copied.known
        self.low = None if committed is None else self._find(committed)
        """The last offset from which nothing is missed, as far as is known."""

        self._is_known = (
            self.low is not None and (committed or 0) >= copied.guessed_until
        )
        self._unread = Coverage()
        if self._known is not None:
            spans = self._known.coverage.within(committed or 0, LARGEST)
            self._unread = Coverage(list(spans))

    def _find(self, first: int) -> int | None:
        if self._known is None:
            return None
        return self._known.coverage.start(first, self._known.next.target)

    def judge(self, by: Method, offset: int, basis: str) -> StartOffset:
        """Return what a start at an offset would cost."""
        offset = max(offset, self._log_start)
        repeated = missed = None
        is_exact = False
        if self._is_known:
            least, missed = self.count_missed(offset)
            repeated, is_exact = self._count_repeated(offset)
            is_exact = is_exact and least == missed
        return StartOffset(
            by=by,
            offset=offset,
            repeated=repeated,
            missed=missed,
            exact=is_exact,
            why=self._explain(by, offset, basis, is_exact=is_exact),
        )

    def _explain(
        self, by: Method, offset: int, basis: str, *, is_exact: bool
    ) -> str:
        low = max(self.low or 0, self._log_start)
        if by is Method.SYNC:
            if not self._is_known:
                return texts.DOUBTFUL
            if low != self.low:
                return texts.LOG_START
            return texts.EXACT if is_exact else texts.SAFE
        numbers: Numbers = {"basis": basis, "offsets": low - offset}
        if not self._is_known:
            return render(texts.COST_UNKNOWN, numbers)
        if offset > low:
            return render(texts.BEYOND_SAFE, numbers)
        return render(texts.EARLIER if offset < low else texts.SAME, numbers)

    def count_missed(self, offset: int) -> tuple[int, int]:
        """Return how many records a start misses, at least and at most."""
        if not self._is_known:
            return 0, LARGEST
        if offset > self._log_start:
            return self._unread.count_below(range(LARGEST), offset)
        return self._count_expired(self._committed or 0, self.low or 0)

    def _count_expired(self, first: int, start: int) -> tuple[int, int]:
        """Return how many records expired at the target and not at the source,
        at least and at most.

        Parameters
        ----------
        first
            Source offset of the first of them.
        start
            Target offset from which none is missed if none has expired.
        """
        copied, end = self._copied, LARGEST
        if copied.source_end is not None:
            known = 0 if copied.coverage is None else copied.coverage.end
            end = max(copied.source_end, known)
        first = max(first, copied.source_start or 0)
        if first >= end:
            return 0, 0
        if (
            self._known is None
            or first < copied.guessed_until
            or self._find(first) is None
        ):
            return 0, max(0, self._log_start - start)
        coverage = self._known.coverage
        return coverage.count_below(range(first, end), self._log_start)

    def _count_repeated(self, offset: int) -> tuple[int | None, bool]:
        """Return how many records a start repeats at most, and whether that is
        their number.
        """
        known, end = self._known, self._copied.end
        if known is None or end is None:
            return None, False
        first, after = self._committed or 0, known.next
        new = self._unread.count_unread(first, offset)
        ahead = max(0, first - after.source)
        if not known.is_mixed:
            new += max(0, end - max(offset, after.target + ahead))
        has_grown = end > after.target
        is_exact = (
            not self._copied.is_shared
            and end >= after.target
            and not (has_grown and (ahead or known.is_mixed))
            and all(
                span.is_exact or span.state in {State.ABSENT, State.EMPTY}
                for span in self._unread.within(first, after.source)
            )
        )
        return max(0, end - offset - new), is_exact

    def judge_checkpoint(self, upstream: int, downstream: int) -> StartOffset:
        """Return what a start at a checkpoint would cost.

        MirrorMaker translates so that nothing is missed (since 3.5), so a
        checkpoint holds by itself as long as the group has not gone back,
        nothing after it has expired, and no copy shows that it is wrong.
        """
        basis = render(texts.CHECKPOINT, {"offset": upstream})
        found = self.judge(Method.CHECKPOINT, downstream, basis)
        if self._is_known:
            return found
        committed = self._committed
        first = upstream if committed is None else committed
        why, missed = texts.CHECKPOINT_UNCOUNTED, 0
        if passed := self._count_before(upstream, downstream):
            why, missed = texts.CHECKPOINT_OF_OTHER_LOG, passed
        elif first < upstream:
            why, missed = texts.RESET, upstream - first
        elif expired := self._count_expired(first, downstream)[1]:
            why, missed = texts.CHECKPOINT_EXPIRED, expired
        numbers = {"basis": basis, "committed": committed}
        return replace(found, missed=missed, why=render(why, numbers))

    def _count_before(self, upstream: int, downstream: int) -> int:
        """Return how many records from a checkpoint on have their newest copy
        before it, at least.
        """
        if self._known is None:
            return 0
        span = range(max(upstream, self._copied.guessed_until), LARGEST)
        return self._known.coverage.count_below(span, downstream)[0]


def _problem(
    place: GroupOffset,
    found: Sequence[StartOffset],
    copied: CopiedPartition,
    costs: _Costs,
) -> str:
    expired = [
        each.missed
        for each in found
        if each.missed and each.offset == copied.start
    ]
    if expired:
        least = costs.count_missed(copied.start or 0)[0]
        return _expired(least, min(expired), copied.start)
    if any(copied.end is not None and s.offset > copied.end for s in found):
        return render(texts.BEYOND_END, {"offset": copied.end})
    if found:
        return texts.MISSES
    if place.committed is None:
        return texts.NO_OFFSET
    if copied.known is None:
        return texts.NO_SYNCS
    return render(texts.BEFORE_SYNCS, {"offset": place.committed})


def _expired(least: int, most: int, start: int | None) -> str:
    if not least:
        numbers = {"records": most, "offset": start}
        return render(texts.MAY_HAVE_EXPIRED, numbers)
    name = "records" if least == most else "least"
    return render(texts.EXPIRED, {name: least, "offset": start})


def merge(
    read: Iterable[GroupOffset], checkpoints: Iterable[GroupOffset]
) -> tuple[GroupOffset, ...]:
    """Return offsets at the source with the checkpoints of the same group."""
    found = {(each.topic, each.partition): each for each in read}
    for each in checkpoints:
        key = (each.topic, each.partition)
        before = found.get(key)
        found[key] = GroupOffset(
            topic=each.topic,
            partition=each.partition,
            committed=None if before is None else before.committed,
            upstream=each.upstream,
            downstream=each.downstream,
        )
    return tuple(found[key] for key in sorted(found))
