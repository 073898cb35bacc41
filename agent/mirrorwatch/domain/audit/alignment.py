"""Offsets of both sides that belong together, where logs are not whole."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from .facts import FirstSince, Found, LaneFacts, Log, Talk, ask
from .syncs import oldest_sync

__all__ = ["Pairing", "align", "first_record", "later"]

EPOCH = datetime.fromtimestamp(0, UTC)

LAST = datetime.max.replace(tzinfo=UTC)
"""Later than any time that can be asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pairing:
    """Offsets of all feeds and of the target that belong together: what is
    below at a source was copied below at the target.
    """

    sources: tuple[int, ...]
    """A source offset of each feed."""

    target: int
    """The target offset."""


def align(
    lane: LaneFacts,
    goal: Log,
    slack: timedelta,
    *,
    floor: Pairing | None = None,
    use_syncs: bool = True,
) -> Talk[Pairing | None]:
    """Find offsets from which on both sides can be compared.

    Parameters
    ----------
    lane
        The lane.
    goal
        Its target partition.
    slack
        By how much records may be out of time order.
    floor
        Offsets not to go below.
    use_syncs
        Whether syncs speak of these topics.

    Returns
    -------
    Pairing or None
        `None` if no offsets are known to belong together.

    Notes
    -----
    The oldest sync that both sides still hold is one place; `slack` after the
    oldest record that both sides hold is another: one side may still hold
    records, out of time order, that expired at the other. Of the two,
    whichever comes first. The mirror must be past that time, or what is before
    it would come behind it.
    """
    starts = [feed.log.retained.start for feed in lane.feeds]
    if floor is None:
        floor = Pairing(sources=tuple(0 for _ in starts), target=0)
    least = tuple(map(max, starts, floor.sources))
    target = max(goal.retained.start, floor.target)
    if not goal.retained.end:
        # Nothing was ever written there, so nothing is paired with anything.
        return Pairing(sources=least, target=0)
    found: list[Pairing] = []
    if use_syncs and len(lane.feeds) == 1:
        pair = oldest_sync(lane.feeds[0].syncs, (least[0], target))
        if pair is not None:
            found.append(Pairing(sources=(pair[0],), target=pair[1]))
    if lane.timestamps:
        timed = yield from _align_by_time(lane, goal, slack)
        if timed is not None:
            found.append(
                Pairing(
                    sources=tuple(map(max, timed.sources, least)),
                    target=max(timed.target, target),
                )
            )
    if not found and all(feed.at_rest for feed in lane.feeds):
        ends = tuple(feed.log.retained.end for feed in lane.feeds)
        found.append(Pairing(sources=ends, target=goal.retained.end))
    return min(found, key=lambda pairing: pairing.sources, default=None)


def _align_by_time(
    lane: LaneFacts, goal: Log, slack: timedelta
) -> Talk[Pairing | None]:
    logs = [goal, *(feed.log for feed in lane.feeds)]
    begin = None
    for log in logs:
        first = yield from first_record(log)
        if first.written_at is None:
            return None
        time = later(first.written_at, slack)
        begin = time if begin is None else max(begin, time)
    there = yield from ask(FirstSince(goal, begin or EPOCH))
    sources = []
    for feed in lane.feeds:
        here = yield from ask(FirstSince(feed.log, begin or EPOCH))
        if here.offset is None or here.offset >= feed.log.retained.end:
            return None
        passed = feed.position is not None and feed.position >= here.offset
        if there.offset is None and not passed:
            # What is before that time may be copied yet.
            return None
        sources.append(here.offset)
    return Pairing(sources=tuple(sources), target=there.within(goal.retained))


def first_record(log: Log) -> Talk[Found]:
    """Ask for the first record that is still there."""
    return (yield from ask(FirstSince(log, EPOCH)))


def later(time: datetime, by: timedelta) -> datetime:
    """Return a later time, or the last one there is."""
    return LAST if LAST - time < by else time + by
