"""Which copies are of what the source holds.

Where it was truncated or recreated, others may be at the offsets of records
that it has lost by now. A mirror goes on at its old position all the same, and
what is there before is never copied.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from ..cluster_view import PartitionView, TopicPartition
from ..offsets import OffsetMap, OffsetRange, to_ranges
from .model import OffsetPair, RangeRequest, SkipKind
from .partition import SMALL, PartitionState, is_cut
from .settle import RangeContent, SettledRange

__all__ = ["TruncatedSources", "doubt_writers", "find_first", "go_back"]
__all__ += ["recognise"]


_BACK = 1000
"""Copies that are compared again at once."""

_BELOW = 1000
"""Offsets below the first copy that are compared. Copies may lie so much lower
than they are known to, where others hid what was dropped."""

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


def doubt_writers(state: PartitionState, point: OffsetPair) -> None:
    """Have all read up to a pair that was found once both sides are seen
    again, if that is little.

    Others may have written to the target meanwhile, and hide what was left
    out: both sides went on alike then, too.
    """
    if state.upstream is not None and (
        point.downstream - state.downstream <= _LITTLE
    ):
        state.leave_head(state.upstream)


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
class TruncatedSources:
    """Partitions whose log at the source was truncated.

    Notes
    -----
    What was written between the truncation and a restart of the mirror is
    below the first record that it copies, if it resumed at the end. These have
    the offsets of records that were lost, whose copies the target still holds.

    Where the truncation was, nobody saw: the log may have been longer again
    by then. The first record that is not the one whose copy the target holds
    for its offset was written afterwards, and so was all behind it.
    """

    requests: dict[TopicPartition, RangeRequest] = field(default_factory=dict)
    """What to read, by partition."""

    _copies: dict[TopicPartition, OffsetMap] = field(default_factory=dict)
    """Where copies are of the log as it was."""

    def note(self, before: PartitionState, seen: PartitionView) -> None:
        """Take that a log ends before what was copied of it."""
        upstream = -1 if before.upstream is None else before.upstream
        if upstream >= seen.source_end and not is_cut(before, seen):
            key = before.topic, before.partition
            self._copies[key] = before.copies.copy()

    def forget(self, key: TopicPartition) -> None:
        """Forget a log, as another one is there."""
        self._copies.pop(key, None)
        self.requests.pop(key, None)

    def begin(self, state: PartitionState, seen: PartitionView) -> None:
        """Compare what lies below the first copy of the truncated log."""
        key, first = (state.topic, state.partition), state.cursor
        copies = self._copies.get(key)
        if first is None or copies is None:
            return
        lowest = max(seen.log_start, first.upstream - _BELOW)
        is_whole = first.downstream < SMALL
        lower = [
            down
            for _, down in _places(copies, lowest, first, extended=is_whole)
        ]
        start = 0 if is_whole else max(0, min(lower, default=0) - _BELOW)
        target = OffsetRange(start, first.downstream + 1)
        if not lower or len(target) > SMALL:
            self.forget(key)
            return
        self.requests[key] = RangeRequest(
            topic=state.topic,
            partition=state.partition,
            remote=seen.remote,
            source_id=state.source_id,
            target_id=state.target_id,
            start=first,
            points=(),
            source=(OffsetRange(lowest, first.upstream + 1),),
            target=target,
            looks_back=True,
        )

    def find(
        self, request: RangeRequest, reading: RangeContent
    ) -> list[SettledRange]:
        """Return what was written since the truncation and has no copy."""
        copies = self._copies.pop(request.place, OffsetMap())
        self.requests.pop(request.place, None)
        first, looks = request.start, {*reading.target.values()}
        if reading.source.get(first.upstream) not in looks:
            return []  # it is altered: no copy looks like its record
        new = [
            offset
            for offset, look in sorted(reading.source.items())
            if offset < first.upstream and look not in looks
        ]
        # Nothing is called new where a copy may have expired.
        is_whole = request.target.first == reading.target_start == 0
        places = _places(
            copies,
            request.source[0].first,
            first,
            extended=is_whole and not reading.target_compacted,
        )
        held = {up for up, down in places if down in reading.target}
        cut = min(held.intersection(new), default=first.upstream)
        lost = to_ranges(offset for offset in new if offset >= cut)
        if not len(lost):
            return []
        return [SettledRange(SkipKind.SKIPPED, lost, len(lost))]


def _places(
    copies: OffsetMap, lowest: int, first: OffsetPair, *, extended: bool
) -> Iterator[tuple[int, int]]:
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
    """
    for number, (upstream, downstream, length) in enumerate(copies):
        back = min(upstream, downstream) if extended and not number else 0
        for n in range(max(-back, lowest - upstream), length):
            place = upstream + n, downstream + n
            if place[0] >= first.upstream or place[1] >= first.downstream:
                break
            yield place
