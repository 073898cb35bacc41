"""Which copies are of what the source holds.

Where it was truncated or recreated, others may be at the offsets of records
that it has lost by now. A mirror goes on at its old position all the same, and
what is there before is never copied.
"""

from collections import Counter
from itertools import pairwise

from .model import OffsetPair, RangeRequest
from .partition import PartitionState
from .settle import RangeContent

__all__ = ["doubt_writers", "find_first", "go_back", "recognise"]


_BACK = 1000
"""Copies that are compared again at once."""

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
