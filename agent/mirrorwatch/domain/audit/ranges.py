"""Where the ranges of a lane begin on a night."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from .facts import (
    AuditFound,
    Feed,
    FirstSince,
    LaneFacts,
    Log,
    RecordAt,
    Talk,
    ask,
    newest_sync,
    oldest_sync,
)
from .plan import (
    AuditedEnd,
    AuditSpan,
    Lane,
    SourceRange,
    Stated,
    Unverifiable,
)

__all__ = [
    "Pairing",
    "PlanningOutcome",
    "Settled",
    "align",
    "cut_of",
    "first_record",
    "later",
    "limit_of",
    "settled_of",
    "start_of",
    "to_gap",
    "to_lane",
]


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


def first_record(log: Log) -> Talk[AuditFound]:
    """Ask for the first record that is still there."""
    return (yield from ask(FirstSince(log, EPOCH)))


def later(time: datetime, by: timedelta) -> datetime:
    """Return a later time, or the last one there is."""
    return LAST if LAST - time < by else time + by


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanningOutcome:
    """What comes of planning one lane."""

    lane: Lane | None = None
    """What is compared, if anything is."""

    unverifiable: tuple[Unverifiable, ...] = ()
    """What cannot be."""

    stated: tuple[Stated, ...] = ()
    """What is left to later."""

    more: bool = False
    """Whether settled records are left for another piece."""


def to_lane(
    facts: LaneFacts,
    start: Pairing,
    end: Pairing,
    *,
    positions: Sequence[int | None],
    cut: Literal["idle", "sync", "timestamp", "window"],
    cut_at: datetime | None = None,
) -> Lane:
    """Return what is compared.

    Parameters
    ----------
    facts
        The lane.
    start
        First offsets.
    end
        Offsets after the last ones.
    positions
        Proved next data offset to copy of each feed.
    cut
        How the ends were made to agree.
    cut_at
        Time of what comes after.
    """
    goal = facts.goal
    return Lane(
        flow=facts.feeds[0].flow,
        cluster=facts.cluster,
        target_topic=facts.place[0],
        partition=facts.place[1],
        sources=tuple(
            SourceRange(
                flow=feed.flow,
                cluster=feed.log.cluster,
                topic=feed.log.place[0],
                partition=feed.log.place[1],
                span=AuditSpan(first, last),
                retained=feed.log.retained,
                position=position,
                topic_id=feed.log.topic_id,
                read_committed=feed.read_committed,
                decided=feed.decided,
            )
            for feed, first, last, position in zip(
                facts.feeds, start.sources, end.sources, positions, strict=True
            )
        ),
        span=AuditSpan(start.target, end.target),
        retained=AuditSpan(0, 0) if goal is None else goal.retained,
        timestamps=facts.timestamps,
        compacted=facts.compacted,
        cut=cut,
        topic_id="" if goal is None else goal.topic_id,
        cut_at=cut_at,
    )


def to_gap(
    feed: Feed, reason: str, records: int | None = None
) -> Unverifiable:
    """Return that a source partition cannot be audited.

    Parameters
    ----------
    feed
        The partition.
    reason
        Why, in words for a person.
    records
        How many offsets that is, where it is known.
    """
    topic, partition = feed.log.place
    return Unverifiable(
        flow=feed.flow,
        topic=topic,
        partition=partition,
        reason=reason,
        records=records,
    )


EXPIRED = "expired at the {side} before the audit"

SHORTENED = (
    "the log at the {side} was truncated: records audited before are gone"
)

RENEWED = (
    "the topic at the {side} was deleted and recreated since the last audit"
)

SKIPPED = (
    "before the first record known to be copied, and auto.offset.reset of "
    "MirrorMaker is unknown. Check that mirror.topics.configs names the "
    "config topic of its Connect workers and that its connectors are in it"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RangeStarts:
    """Where the ranges of a lane begin."""

    pairing: Pairing | None
    """Offsets that belong together; `None` if none are known."""

    since: datetime | None = None
    """Time of what begins there; `None` if that is not known."""

    lost: tuple[Unverifiable, ...] = ()
    """What can no longer be audited."""


def start_of(
    lane: LaneFacts,
    goal: Log,
    ends: Mapping[tuple[str, str, int], AuditedEnd],
    slack: timedelta,
) -> Talk[RangeStarts]:
    """Work out where the ranges of a lane begin on a night.

    Parameters
    ----------
    lane
        The lane.
    goal
        Its target partition.
    ends
        Up to where partitions were audited.
    slack
        By how much records may be out of time order.

    Notes
    -----
    A lane goes on where it was audited up to. A new one begins at the start
    of both logs, if both are whole. Where something is lost, because it
    expired or the topic is another one, see `align`.
    """
    known = [ends.get(feed.place) for feed in lane.feeds]
    if not any(known):
        pairing = yield from _begin(lane, goal, slack)
        return RangeStarts(
            pairing=pairing,
            since=(yield from _oldest(lane)),
            lost=tuple(_skipped(lane, goal, pairing)),
        )
    before = Pairing(
        sources=tuple(
            feed.log.retained.start if end is None else end.source_end
            for feed, end in zip(lane.feeds, known, strict=True)
        ),
        target=max(end.target_end for end in known if end is not None),
    )
    since = min(end.cut_at for end in known if end is not None)
    reasons = [
        None if end is None else _find_loss(feed, end, goal)
        for feed, end in zip(lane.feeds, known, strict=True)
    ]
    if not any(reasons):
        return RangeStarts(pairing=before, since=since)
    renewed = any(
        end is not None and _is_another(feed, end, goal)
        for feed, end in zip(lane.feeds, known, strict=True)
    )
    # Offsets and syncs of another topic say nothing about this one.
    floor = None if renewed else before
    pairing = yield from align(
        lane, goal, slack, floor=floor, use_syncs=not renewed
    )
    sure = pairing if not renewed else None
    lost = tuple(
        to_gap(
            feed,
            reason,
            None if sure is None else sure.sources[n] - before.sources[n],
        )
        for n, (feed, reason) in enumerate(
            zip(lane.feeds, reasons, strict=True)
        )
        if reason is not None
    )
    return RangeStarts(pairing=pairing, since=since, lost=lost)


def _begin(
    lane: LaneFacts, goal: Log, slack: timedelta
) -> Talk[Pairing | None]:
    """Return where a lane begins that was never audited."""
    if _is_whole(lane, goal) and lane.starts_at_end is False:
        return Pairing(sources=tuple(0 for _ in lane.feeds), target=0)
    return (yield from align(lane, goal, slack))


def _is_whole(lane: LaneFacts, goal: Log) -> bool:
    return goal.retained.start == 0 and all(
        feed.log.retained.start == 0 for feed in lane.feeds
    )


def _skipped(
    lane: LaneFacts, goal: Log, pairing: Pairing | None
) -> Iterator[Unverifiable]:
    """Tell of records that may have been dropped, or never asked for."""
    if pairing is None or lane.starts_at_end is not None:
        return
    if not _is_whole(lane, goal):
        return
    for feed, first in zip(lane.feeds, pairing.sources, strict=True):
        if first:
            yield to_gap(feed, SKIPPED, first)


def _oldest(lane: LaneFacts) -> Talk[datetime | None]:
    """Return the oldest of the timestamps that the feeds begin with."""
    times = []
    for feed in lane.feeds:
        first = yield from first_record(feed.log)
        if first.written_at is not None:
            times.append(first.written_at)
    return min(times, default=None)


def _is_another(feed: Feed, end: AuditedEnd, goal: Log) -> bool:
    return end.source_id != feed.log.topic_id or end.target_id not in {
        goal.topic_id,
        "",  # there was none, and nothing was audited of it
    }


def _find_loss(feed: Feed, end: AuditedEnd, goal: Log) -> str | None:
    """Return why a lane cannot go on where it was audited up to."""
    if end.source_id != feed.log.topic_id:
        return RENEWED.format(side="source")
    if end.target_id not in {goal.topic_id, ""}:
        return RENEWED.format(side="target")
    for log, audited in ((feed.log, end.source_end), (goal, end.target_end)):
        if audited > log.retained.end:
            return SHORTENED.format(side=log.side)
        if audited < log.retained.start:
            return EXPIRED.format(side=log.side)
    return None


DAY = timedelta(days=1)
"""Most that one piece takes of what was missed."""

NIGHT = timedelta(hours=36)
"""From when a stretch is taken for more than one night."""

PIECES = 7
"""Where more than a week is left, a piece is this part of it: a record with a
timestamp of years ago must not make thousands of nights."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """Up to where one feed is settled and copied."""

    end: int
    """Offset before which all records are settled."""

    position: int | None
    """Proved next data offset to copy, at most the end of the log."""

    waiting_since: datetime | None = None
    """Timestamp of the record at the position, if it is below `end`."""

    blocked: bool = False
    """Whether a record from the future hides which ones are settled."""

    @property
    def copied(self) -> int:
        """Offset before which all records are settled and, as far as that is
        known, copied.
        """
        if self.position is None:
            return self.end
        return min(self.end, self.position)


def limit_of(
    since: datetime | None, now: datetime, settle: timedelta
) -> datetime:
    """Return the time up to which one piece goes.

    Parameters
    ----------
    since
        Time of what was not audited yet, if it is known.
    now
        The time.
    settle
        Age from which records are settled.
    """
    newest = now - settle
    if since is None or newest - since <= NIGHT:
        return newest
    return since + max(DAY, (newest - since) / PIECES)


def settled_of(feed: Feed, limit: datetime, latest: datetime) -> Talk[Settled]:
    """Find out up to where a feed is settled and copied.

    Parameters
    ----------
    feed
        One of the source partitions that feed a lane.
    limit
        Time from which records are left to later.
    latest
        Latest time that a timestamp can be without being wrong.

    Notes
    -----
    A position below the settled end need not mean that records wait: offsets
    of transaction markers, and those that compaction emptied, are never
    copied. So the first record at the position is looked for.

    Kafka finds the first record that is not older than a time. A record with
    a timestamp that is yet to come hides all that are behind it, for as long
    as that takes, and nothing would be audited any more. Then what is copied
    is taken for settled.
    """
    first = yield from ask(FirstSince(feed.log, limit))
    end = first.within(feed.log.retained)
    blocked = first.written_at is not None and first.written_at > latest
    if blocked:
        end = feed.log.retained.end
    position = feed.position
    if position is None or position >= end:
        return Settled(
            end=end,
            position=None
            if position is None
            else min(position, feed.log.retained.end),
            blocked=blocked,
        )
    head = yield from ask(
        RecordAt(
            feed.log,
            max(position, feed.log.retained.start),
            bool(feed.read_committed),
        )
    )
    if head.failed:
        return Settled(end=end, position=position, blocked=blocked)
    if head.offset is None or head.offset >= feed.log.retained.end:
        position = feed.log.retained.end
        return Settled(end=end, position=position, blocked=blocked)
    return Settled(
        end=end,
        position=head.offset,
        waiting_since=head.written_at if head.offset < end else None,
        blocked=blocked,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class RangeEnds:
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
) -> Talk[RangeEnds | None]:
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
        return RangeEnds(pairing=whole, kind="idle", at=limit)
    at = min(
        (s.waiting_since for s in settled if s.waiting_since is not None),
        default=limit,
    )
    at = min(at, limit)
    pair = _find_sync(lane, goal, start, settled)
    if pair is not None:
        return RangeEnds(pairing=pair, kind="sync", at=at)
    waiting = any(
        s.copied > first
        for s, first in zip(settled, start.sources, strict=True)
    )
    if not lane.timestamps or any(map(_hides_its_time, settled)):
        stay = RangeEnds(pairing=start, kind="timestamp", at=at)
        return None if waiting else stay
    timed = yield from _cut_by_time(lane, goal, start, settled, at)
    moved = timed.sources != start.sources
    if waiting and not moved and any(s.blocked for s in settled):
        return None
    return RangeEnds(pairing=timed, kind="timestamp", at=at)


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
