"""The check ``lag``: whether records wait that the mirror does not take."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar

from ..finding import Finding, Health, Numbers
from ..report import Verdict, conclude, topic_subject
from . import texts
from .model import (
    SHOWN,
    LagObservation,
    LagStatus,
    StalledPartition,
    TopicLag,
    find_unlisted,
)

__all__ = ["LagLimits", "judge_lag"]


def _by(topic: TopicLag, worst: StalledPartition) -> TopicLag:
    return replace(
        topic,
        status=worst.status,
        partition=worst.partition,
        position=worst.position,
        origin=worst.origin,
        stuck=worst.stuck,
    )


def split_by_patience(
    seen: LagObservation, limits: "LagLimits"
) -> LagObservation:
    """Return each topic by the worst partition that stands for too long.

    Parameters
    ----------
    seen
        Lag of a flow.
    limits
        Limits of the check.

    Notes
    -----
    The one that has waited longest may be a new one, which may wait for
    longer than one that was copied before.
    """
    allowed = _patience(seen, limits)

    def by_patience(topic: TopicLag) -> TopicLag:
        if topic.status is not LagStatus.NOT_BEGUN:
            return topic  # as nearly always
        beyond = [
            each
            for each in topic.standing
            # One that falls behind moves.
            if each.stuck > allowed.get(each.status, each.stuck)
        ]
        if not beyond:
            return topic
        return _by(
            topic,
            max(
                beyond,
                key=lambda e: (e.status is not LagStatus.NOT_BEGUN, e.stuck),
            ),
        )

    return replace(seen, topics=tuple(map(by_patience, seen.topics)))


@dataclass(frozen=True, kw_only=True, slots=True)
class LagLimits:
    """Limits of the check `lag`."""

    stuck_flushes: ClassVar[float] = 2
    """Number of MirrorMaker's `offset.flush.interval.ms` during which a
    position with lag may not move. MirrorMaker commits once per interval, so
    it can narrowly miss one, but not two."""

    begin_refreshes: ClassVar[float] = 2
    """Number of MirrorMaker's topic refreshes within which a new topic must be
    replicated. A topic that was created just after a refresh is found by the
    next one."""


def judge_lag(
    flow: str,
    seen: LagObservation | None,
    limits: LagLimits,
    now: datetime,
) -> Verdict:
    """Judge positions against the source's ends.

    Parameters
    ----------
    flow
        Name of the flow.
    seen
        Its lag.
    limits
        Limits of the check.
    now
        The time.
    """
    if seen is not None:
        seen = split_by_patience(seen, limits)
    return conclude(
        _find(seen, limits, now),
        flow=flow,
        check="lag",
        now=now,
        evidence={}
        if seen is None
        else {
            "lag_records": seen.records,
            "lag_seconds": round(seen.seconds, 3),
            "topics": len(seen.topics),
            "topics_behind": sum(t.records > 0 for t in seen.topics),
        },
    )


def _find(
    seen: LagObservation | None,
    limits: LagLimits,
    now: datetime,
) -> Iterator[Finding]:
    if seen is None:
        yield texts.NO_DATA.found(Health.UNKNOWN)
        return
    yield from find_unlisted(texts, seen, now)
    if seen.unknown_partitions:
        yield texts.UNKNOWN_PARTITIONS.found(
            Health.UNKNOWN, partitions=seen.unknown_partitions
        )
    allowed = _patience(seen, limits)
    yield from _find_stuck(seen, allowed)
    slow = [t for t in seen.topics if t.status is LagStatus.FALLING_BEHIND]
    for topic in sorted(slow, key=lambda t: -t.records)[:SHOWN]:
        yield texts.FALLING_BEHIND.found(
            Health.WARNING,
            {"topic": topic.topic},
            topics=len(slow),
            **topic.waiting,
        )
    stopped = (
        topic.stuck.total_seconds()
        for topic in seen.topics
        if topic.status is LagStatus.STOPPED and topic.stuck
    )
    yield texts.OK.found(
        Health.OK,
        topics=len(seen.topics),
        records=seen.records,
        seconds=seen.seconds,
        stopped_seconds=max(stopped, default=None),
        allowed_seconds=allowed[LagStatus.STOPPED].total_seconds(),
    )


def _find_stuck(
    seen: LagObservation, allowed: Mapping[LagStatus, timedelta]
) -> Iterator[Finding]:
    if stopped := _beyond(seen, LagStatus.STOPPED, allowed):
        yield texts.STOPPED.found(
            Health.CRITICAL,
            topic_subject(stopped[0].topic, [stopped[0].partition]),
            records=sum(topic.records for topic in stopped),
            topics=len(stopped),
            **_stuck(stopped[0]),
        )
    stalled = _beyond(seen, LagStatus.STALLED, allowed)
    for topic in stalled[:SHOWN]:
        yield texts.STALLED.found(
            Health.CRITICAL,
            topic_subject(topic.topic, [topic.partition]),
            records=topic.records,
            topics=len(stalled),
            **_stuck(topic),
        )
    new = _beyond(seen, LagStatus.NOT_BEGUN, allowed)
    for topic in new[:SHOWN]:
        yield texts.NEVER_COPIED.found(
            Health.CRITICAL,
            {"topic": topic.topic},
            topics=len(new),
            **topic.waiting,
        )


def _patience(
    seen: LagObservation, limits: LagLimits
) -> dict[LagStatus, timedelta]:
    stuck = seen.flush * limits.stuck_flushes
    return {
        LagStatus.STOPPED: stuck,
        LagStatus.STALLED: stuck,
        LagStatus.NOT_BEGUN: seen.refresh * limits.begin_refreshes,
    }


def _beyond(
    seen: LagObservation,
    status: LagStatus,
    allowed: Mapping[LagStatus, timedelta],
) -> list[TopicLag]:
    """Return topics that are stuck for too long, the longest first."""
    found = [
        (t.stuck, t)
        for t in seen.topics
        if t.status is status and t.stuck and t.stuck > allowed[status]
    ]
    return [
        t for _, t in sorted(found, key=lambda each: each[0], reverse=True)
    ]


def _stuck(topic: TopicLag) -> Numbers:
    return {
        "position": topic.position,
        "position_by": topic.origin,
        "seconds": (topic.stuck or timedelta()).total_seconds(),
    }
