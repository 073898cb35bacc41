"""What an ad hoc audit compares of one lane."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from .facts import (
    FirstSince,
    LaneFacts,
    Log,
    Talk,
    ask,
    newest_sync,
    oldest_sync,
)
from .nightly import NOWHERE
from .plan import AuditSpan, Lane, TimeWindow
from .ranges import (
    Pairing,
    PlanningOutcome,
    first_record,
    later,
    to_gap,
    to_lane,
)

__all__ = ["AdHoc", "plan_window"]


EXPIRED = (
    "records of the window may have expired at the {side}: its log starts "
    "at offset {start}"
)

UNTIMED = (
    "the target sets its own timestamps, and no offset syncs are known on "
    "both sides of the window"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class AdHoc:
    """What is the same for all lanes of an ad hoc audit."""

    now: datetime
    """When it is planned."""

    window: TimeWindow
    """What it is about."""

    slack: timedelta
    """By how much records may be out of time order."""


def plan_window(lane: LaneFacts, adhoc: AdHoc) -> Talk[PlanningOutcome]:
    """Work out what an ad hoc audit compares of one lane.

    Notes
    -----
    Nothing before the first record that is not older than the window belongs
    to it: that is what Kafka finds. Behind the first one that is younger than
    the window, records may still belong to it that are out of order, so the
    ranges go on for `slack`.

    Where the target puts timestamps of its own on records, a window cannot be
    found there. Then the ranges go from the last sync before it to the first
    one behind it, and all records in them are compared.
    """
    logs = [feed.log for feed in lane.feeds]
    if lane.goal is not None and lane.timestamps:
        logs.append(lane.goal)
    spans, expired = [], None
    for log in logs:
        spans.append((yield from _span(log, adhoc)))
        if expired is None and (yield from _has_expired(log, adhoc)):
            expired = log
    if expired is not None and (
        any(map(len, spans)) or not _keeps(logs, adhoc)
    ):
        reason = EXPIRED.format(
            side=expired.side, start=expired.retained.start
        )
        return _give_up(lane, reason)
    sources = spans[: len(lane.feeds)]
    if lane.goal is None:
        return _untold(lane, sources)
    if lane.timestamps:
        return PlanningOutcome(lane=_to_lane(lane, sources, spans[-1]))
    found = _by_syncs(lane, lane.goal, sources[0])
    if found is None:
        return _give_up(lane, UNTIMED)
    source, target = found
    return PlanningOutcome(lane=_to_lane(lane, [source], target))


def _give_up(lane: LaneFacts, reason: str) -> PlanningOutcome:
    return PlanningOutcome(
        unverifiable=tuple(to_gap(feed, reason) for feed in lane.feeds)
    )


def _to_lane(
    lane: LaneFacts, spans: list[AuditSpan], target: AuditSpan
) -> Lane:
    return to_lane(
        lane,
        Pairing(sources=tuple(s.start for s in spans), target=target.start),
        Pairing(sources=tuple(s.end for s in spans), target=target.end),
        positions=[feed.position for feed in lane.feeds],
        cut="window",
    )


def _untold(lane: LaneFacts, spans: list[AuditSpan]) -> PlanningOutcome:
    gaps, read = [], []
    for feed, span in zip(lane.feeds, spans, strict=True):
        end = max(span.start, min(span.end, feed.position or 0))
        read.append(AuditSpan(span.start, end))
        if end < span.end:
            reason = NOWHERE.format(cluster=lane.cluster)
            gaps.append(to_gap(feed, reason, span.end - end))
    found = any(map(len, read))
    return PlanningOutcome(
        lane=_to_lane(lane, read, AuditSpan(0, 0)) if found else None,
        unverifiable=tuple(gaps),
    )


def _span(log: Log, adhoc: AdHoc) -> Talk[AuditSpan]:
    first = yield from ask(FirstSince(log, adhoc.window.start))
    end = later(adhoc.window.end, adhoc.slack)
    last = yield from ask(FirstSince(log, end))
    return AuditSpan(first.within(log.retained), last.within(log.retained))


def _has_expired(log: Log, adhoc: AdHoc) -> Talk[bool]:
    """Tell whether records of the window may no longer be there."""
    if not log.retained.start:
        return False
    first = yield from first_record(log)
    return first.written_at is None or first.written_at > adhoc.window.start


def _keeps(logs: list[Log], adhoc: AdHoc) -> bool:
    """Tell whether nothing of the window can have expired by age or size."""
    since = adhoc.window.start
    return all(log.retention.kept_since(since, adhoc.now) for log in logs)


def _by_syncs(
    lane: LaneFacts, goal: Log, span: AuditSpan
) -> tuple[AuditSpan, AuditSpan] | None:
    """Return the ranges between two syncs around a span of the source."""
    if len(lane.feeds) != 1:
        return None
    feed, end = lane.feeds[0], goal.retained.end
    whole = not feed.log.retained.start and not goal.retained.start
    least = (feed.log.retained.start, goal.retained.start)
    first = newest_sync(feed.syncs, least, (span.start, end))
    if first is None and whole and lane.starts_at_end is False:
        first = (0, 0)
    if first is None:
        return None
    last = oldest_sync(feed.syncs, (max(span.end, first[0]), first[1]))
    if last is None or last[1] > end:
        if not feed.at_rest:
            return None
        last = (feed.log.retained.end, end)
    return AuditSpan(first[0], last[0]), AuditSpan(first[1], last[1])
