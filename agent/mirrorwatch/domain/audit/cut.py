"""Where the ranges of a lane end on a night."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .alignment import Pairing
from .facts import FirstSince, LaneFacts, Log, Talk, ask
from .settled import Settled
from .syncs import newest_sync

__all__ = ["Cut", "cut_of"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """Where the ranges of a lane end."""

    pairing: Pairing
    """Offsets after the last ones."""

    kind: Literal["idle", "sync", "timestamp"]
    """How they were found."""

    at: datetime
    """Time of what comes after."""


def cut_of(
    lane: LaneFacts,
    goal: Log,
    start: Pairing,
    settled: Sequence[Settled],
    limit: datetime,
) -> Talk[Cut | None]:
    """Work out where the ranges of a lane end.

    Parameters
    ----------
    lane
        The lane.
    goal
        Its target partition.
    start
        Where the ranges begin.
    settled
        Up to where each feed is settled and copied.
    limit
        Time from which records are left to later.

    Returns
    -------
    Cut or None
        `None` if records are settled and copied, but no offsets are known at
        which both sides can be cut.

    Notes
    -----
    A source that rests is cut at both ends. Its end was read before and after
    the target's: so the target's end covers the copies of all its records and
    of no other.

    Else behind the newest sync: source record *u* is target record *d*, and
    what is below *u* was copied below *d*, for a mirror keeps the order of a
    partition. A mirror before 3.5 writes them when offsets drift only, so
    one that leaves over half of the range is no cut where time can be one.

    Else by time: the first record of each side that is not older than a time
    is the same one, if it was copied. If it was dropped, or several sources
    feed the target, the cut goes through what it should leave whole, and what
    is unmatched at it is carried to the next night.
    """
    if _rests(lane, start, settled):
        ends = tuple(feed.log.retained.end for feed in lane.feeds)
        whole = Pairing(sources=ends, target=goal.retained.end)
        return Cut(pairing=whole, kind="idle", at=limit)
    at = min(
        (s.waiting_since for s in settled if s.waiting_since is not None),
        default=limit,
    )
    at = min(at, limit)
    pair = _find_sync(lane, goal, start, settled)
    if pair is not None:
        return Cut(pairing=pair, kind="sync", at=at)
    waiting = any(
        s.copied > first
        for s, first in zip(settled, start.sources, strict=True)
    )
    if not lane.timestamps or any(map(_hides_its_time, settled)):
        stay = Cut(pairing=start, kind="timestamp", at=at)
        return None if waiting else stay
    timed = yield from _cut_by_time(lane, goal, start, settled, at)
    moved = timed.sources != start.sources
    if waiting and not moved and any(s.blocked for s in settled):
        return None
    return Cut(pairing=timed, kind="timestamp", at=at)


def _rests(
    lane: LaneFacts, start: Pairing, settled: Sequence[Settled]
) -> bool:
    """Tell whether nothing was written lately and all of it was copied."""
    return all(
        feed.steady
        and found.end == feed.log.retained.end
        and max(found.position or 0, first) >= feed.log.retained.end
        for feed, found, first in zip(
            lane.feeds, settled, start.sources, strict=True
        )
    )


def _hides_its_time(settled: Settled) -> bool:
    """Tell whether what waits at the position has no known timestamp."""
    return (
        settled.position is not None
        and settled.position < settled.end
        and settled.waiting_since is None
    )


def _find_sync(
    lane: LaneFacts,
    goal: Log,
    start: Pairing,
    settled: Sequence[Settled],
) -> Pairing | None:
    if len(lane.feeds) != 1:
        return None
    first, copied = start.sources[0], settled[0].copied
    pair = newest_sync(
        lane.feeds[0].syncs,
        (first, start.target),
        (copied - 1, goal.retained.end - 1),
    )
    if pair is None:
        return None
    # That record itself is on both sides of the pair, so it comes along.
    after = Pairing(sources=(pair[0] + 1,), target=pair[1] + 1)
    left, taken = copied - after.sources[0], after.sources[0] - first
    return None if lane.timestamps and left > taken else after


def _cut_by_time(
    lane: LaneFacts,
    goal: Log,
    start: Pairing,
    settled: Sequence[Settled],
    at: datetime,
) -> Talk[Pairing]:
    """Return the first records that are not older than a time.

    Notes
    -----
    Kafka finds the first one of a whole log. Where it is before the range on
    one side, and on the other one has expired, the two belong to different
    records, and nothing is cut: it is where time goes on.
    """
    sources, before = [], True
    for feed, found, first in zip(
        lane.feeds, settled, start.sources, strict=True
    ):
        since = yield from ask(FirstSince(feed.log, at))
        offset = since.within(feed.log.retained)
        before = before and offset < first
        sources.append(max(first, min(offset, found.copied)))
    since = yield from ask(FirstSince(goal, at))
    target = since.within(goal.retained)
    if before or target < start.target:
        return start
    return Pairing(sources=tuple(sources), target=target)
