"""Where consumer groups start at the target after a failover."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from ..finding import render
from ..offsets import UNKNOWN, OffsetMap, SafeStart
from . import texts

__all__ = [
    "CopiedPartition",
    "GroupOffset",
    "GroupState",
    "Method",
    "Start",
    "StartOffset",
    "merge",
    "translate",
    "translate_safely",
]


class Method(StrEnum):
    """What a start at the target is taken from."""

    SYNC = "sync"
    """Offset syncs: where the copies of source offsets are."""

    CHECKPOINT = "checkpoint"

    TIME = "time"
    """The first record that is not older than a time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupOffset:
    """How far a consumer group is in one partition."""

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
    """How far a consumer group is, in all partitions that a flow carries."""

    group: str
    read_at: datetime | None = None
    """When its offsets were last read at the source; `None` for never."""

    offsets: tuple[GroupOffset, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class CopiedPartition:
    """What is known of one partition and its copy."""

    copies: OffsetMap | None = None
    """Where copies are; `None` if the mirror writes no syncs for it."""

    marked: bool = False
    shared: bool = False
    noisy: bool = False
    start: int | None = None
    """Log start of the target; `None` if it is not known."""

    end: int | None = None
    """End of the target; `None` if it is not known."""

    source_start: int | None = None
    """Log start of the source; `None` if it is not known."""

    source_end: int | None = None
    """End of the source as last read, after the target's; `None` if it is not
    known."""

    absent: bool = False
    at_time: int | None = None
    """First offset of the target that is not older than the time asked for;
    `None` if no time was asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StartOffset:
    """Where a group could start in one partition, by one method."""

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
    """Whether these are the numbers, and not the most that they can be."""

    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """Where a group starts in one partition."""

    place: GroupOffset
    chosen: StartOffset | None
    """What is to be trusted; `None` if the group cannot be translated."""

    others: tuple[StartOffset, ...]
    problem: str | None = None


def translate(place: GroupOffset, copied: CopiedPartition) -> Start:
    """Return where a group starts in one partition of the target.

    Parameters
    ----------
    place
        The group's offset at the source, and its checkpoint.
    copied
        What is known of the partition.

    Notes
    -----
    Trusted is what misses nothing and repeats least. An offset behind the
    target's end is of a topic that is no more, or of a truncated log, and one
    before its log start has expired: a consumer would be sent elsewhere by
    its ``auto.offset.reset``.
    """
    if copied.absent:
        return Start(
            place=place,
            chosen=None,
            others=(),
            problem=texts.ABSENT,
        )
    bounds = _Bounds(place.committed, copied)
    found = list(_candidates(place, copied, bounds))
    first = copied.start or 0
    usable = [
        each
        for each in found
        if first <= each.offset
        and (copied.end is None or each.offset <= copied.end)
    ]
    safe = [each for each in usable if each.missed == 0]
    chosen = min(safe, key=_cost, default=None)
    if chosen is None:
        # By a time that was asked for, better than not at all.
        timed = (each for each in usable if each.by is Method.TIME)
        chosen = next(timed, None)
    return Start(
        place=place,
        chosen=chosen,
        others=tuple(each for each in found if each is not chosen),
        problem=None if chosen else _problem(place, found, copied, bounds),
    )


def translate_safely(place: GroupOffset, copied: CopiedPartition) -> Start:
    """Return where a group starts in one partition, as `translate` does.

    While nothing is known of the target's log, it may have lost the records
    there, or have been recreated: what would be missed is not known.
    """
    found = translate(place, copied)
    if copied.end is not None:
        return found
    return replace(
        found,
        chosen=found.chosen and replace(found.chosen, missed=None),
        others=tuple(replace(other, missed=None) for other in found.others),
    )


def _cost(start: StartOffset) -> tuple[bool, int, bool]:
    return (
        start.repeated is None,
        start.repeated or 0,
        start.by is not Method.SYNC,
    )


def _candidates(
    place: GroupOffset, copied: CopiedPartition, bounds: "_Bounds"
) -> Iterator[StartOffset]:
    if bounds.low is not None:
        exact = bounds.exact
        yield StartOffset(
            by=Method.SYNC,
            offset=bounds.low,
            repeated=bounds.repeated,
            missed=bounds.missed,
            exact=exact,
            why=texts.LOG_START
            if bounds.is_log_start
            else texts.EXACT
            if exact
            else texts.SAFE,
        )
    if place.downstream is not None and place.upstream is not None:
        yield bounds.judge_checkpoint(place.upstream, place.downstream)
    if copied.at_time is not None:
        yield bounds.judge(Method.TIME, copied.at_time, texts.AT_TIME)


class _Bounds:
    """What offset syncs say of any start.

    Parameters
    ----------
    committed
        Source offset of the next record that the group has to read.
    copied
        What is known of the partition.

    Notes
    -----
    A start that has expired at the target becomes the log start there. What
    the group had not read before that is missed, unless the source does not
    hold it either: then the group has lost it, wherever it is. The log start
    is safe only if it is proved that nothing is missed.
    """

    def __init__(self, committed: int | None, copied: CopiedPartition) -> None:
        self._committed, self._copied = committed, copied
        start = None
        if committed is not None:
            start = self._find(committed, marked=copied.marked)
        self.low = None if start is None else start.offset
        self.repeated = None if start is None else start.repeated
        self.exact = (
            start is not None
            and start.exact
            and not copied.noisy
            and not copied.marked
        )
        self.is_log_start = False
        self.missed = self.expired = 0
        """Offsets that the group would miss at most, and at least."""

        if committed is not None and start is not None:
            self._begin_at_log_start(committed, start)
        if start is not None and start.repeated == UNKNOWN:
            self.repeated = None

    def _find(self, committed: int, *, marked: bool) -> SafeStart | None:
        copied = self._copied
        if copied.copies is None:
            return None
        return copied.copies.start(
            committed, copied.end, marked=marked, shared=copied.shared
        )

    def _begin_at_log_start(self, committed: int, start: SafeStart) -> None:
        copied = self._copied
        gone = (copied.start or 0) - start.offset
        if gone <= 0:
            return
        self.low, self.is_log_start = copied.start, True
        self.repeated = max(0, start.repeated - gone)
        self.missed = self._most_expired(committed, start.offset)
        if not self.missed:
            return
        held = self._find_held(committed) or start
        self.exact = self.exact and held.exact
        if copied.noisy or copied.marked:
            # Of these, only a copy that is known is one for sure.
            assert copied.copies is not None  # noqa: S101 - it gave the start
            self.expired = int(
                copied.copies.is_solid(held.offset, held.offset + 1)
            )
        else:
            self.expired = max(0, self.missed - held.repeated)

    def _first_held(self, committed: int) -> int:
        """Return the first source offset that a group has yet to read and
        that has not expired.
        """
        return max(committed, self._copied.source_start or 0)

    def _find_held(self, committed: int) -> SafeStart | None:
        """Return from where on the target has what a group has yet to read,
        as far as the source holds it.

        What others wrote between two syncs is not taken for copies of a
        mirror that rewound: else no start would be proved beside them.
        """
        copied = self._copied
        return self._find(
            self._first_held(committed), marked=copied.marked or copied.noisy
        )

    def _most_expired(self, committed: int, offset: int) -> int:
        """Return how many records a group misses at most at the target's log
        start: 0 only if that is proved.

        Parameters
        ----------
        committed
            Source offset of the next record that it has to read.
        offset
            Target offset from which it misses nothing.
        """
        if self._has_read_all(self._first_held(committed)):
            return 0
        held = self._find_held(committed)
        if held is not None:
            offset = max(offset, held.offset)
        return max(0, (self._copied.start or 0) - offset)

    def _has_read_all(self, first: int) -> bool:
        """Return whether the source holds nothing from an offset on, and no
        sync shows a copy of such.
        """
        copied = self._copied
        ends = (start + length for start, _, length in copied.copies or ())
        return (
            copied.source_end is not None
            and first >= max(ends, default=0)
            and first >= copied.source_end
        )

    def judge(self, by: Method, offset: int, basis: str) -> StartOffset:
        """Return what a start at an offset would cost."""
        if self.low is None or self.repeated is None:
            return StartOffset(
                by=by,
                offset=offset,
                repeated=None,
                missed=None,
                exact=False,
                why=render(texts.COST_UNKNOWN, {"basis": basis}),
            )
        copies = self._copied.copies
        assert copies is not None  # noqa: S101 - it gave the bounds
        if offset > self.low:
            end = self._copied.end
            missed = (offset if end is None else min(offset, end)) - self.low
            missed += self.missed
            exact = self.exact and copies.is_solid(self.low, offset)
            return StartOffset(
                by=by,
                offset=offset,
                repeated=self.repeated,
                missed=missed,
                # It may jump over records that the mirror wrote twice.
                exact=exact and self.repeated == 0,
                why=render(texts.BEYOND_SAFE, {"basis": basis}),
            )
        earlier = self.low - offset
        return StartOffset(
            by=by,
            offset=offset,
            repeated=earlier + self.repeated,
            missed=self.missed,
            exact=self.exact and copies.is_solid(offset, self.low),
            why=render(
                texts.EARLIER if earlier else texts.SAME,
                {"basis": basis, "offsets": earlier},
            ),
        )

    def judge_checkpoint(self, upstream: int, downstream: int) -> StartOffset:
        """Return what a start at a checkpoint would cost.

        MirrorMaker translates so that nothing is missed (since 3.5), so a
        checkpoint holds by itself as long as the group has not gone back and
        nothing behind it has expired.
        """
        basis = render(texts.CHECKPOINT, {"offset": upstream})
        found = self.judge(Method.CHECKPOINT, downstream, basis)
        if found.missed is not None:
            return found
        if passed := self._copied_before(upstream, downstream):
            return StartOffset(
                by=Method.CHECKPOINT,
                offset=downstream,
                repeated=None,
                missed=passed,
                exact=False,
                why=render(texts.CHECKPOINT_OF_OTHER_LOG, {"basis": basis}),
            )
        committed = self._committed
        if committed is not None and committed < upstream:
            return StartOffset(
                by=Method.CHECKPOINT,
                offset=downstream,
                repeated=None,
                missed=upstream - committed,
                exact=False,
                why=render(
                    texts.RESET, {"basis": basis, "committed": committed}
                ),
            )
        missed = self._most_expired(
            upstream if committed is None else committed, downstream
        )
        return StartOffset(
            by=Method.CHECKPOINT,
            offset=max(downstream, self._copied.start or 0),
            repeated=None,
            missed=missed,
            exact=False,
            why=render(
                texts.CHECKPOINT_EXPIRED
                if missed
                else texts.CHECKPOINT_UNCOUNTED,
                {"basis": basis},
            ),
        )

    def _copied_before(self, upstream: int, downstream: int) -> int:
        """Return how many offsets before a checkpoint hold copies of what
        comes after it at the source.

        A mirror that never went back copies in order: then the checkpoint is
        not of the topic that is at the target now.
        """
        runs = list(self._copied.copies or ())
        if not runs or any(first <= upstream for first, _, _ in runs):
            return 0
        end = self._copied.end
        last = downstream if end is None else min(downstream, end)
        return max(0, last - runs[0][1])


def _problem(
    place: GroupOffset,
    found: Sequence[StartOffset],
    copied: CopiedPartition,
    bounds: _Bounds,
) -> str:
    if problem := _what_expired(found, copied, bounds):
        return problem
    if any(copied.end is not None and s.offset > copied.end for s in found):
        return render(texts.BEYOND_END, {"offset": copied.end})
    if found:
        return texts.MISSES
    if place.committed is None:
        return texts.NO_OFFSET
    if copied.copies is None or copied.copies.last is None:
        return texts.NO_SYNCS
    return render(texts.BEFORE_SYNCS, {"offset": place.committed})


def _what_expired(
    found: Sequence[StartOffset], copied: CopiedPartition, bounds: _Bounds
) -> str | None:
    if bounds.expired:
        records = "records" if bounds.exact else "least"
        numbers = {records: bounds.expired, "offset": copied.start}
        return render(texts.EXPIRED, numbers)
    most = [
        s.missed
        for s in found
        if s.missed and copied.start and s.offset == copied.start
    ]
    if not most:
        return None
    numbers = {"records": min(most), "offset": copied.start}
    return render(texts.MAY_HAVE_EXPIRED, numbers)


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
