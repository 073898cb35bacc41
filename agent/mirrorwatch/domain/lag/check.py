"""The check ``lag``: whether records wait that the mirror does not take."""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar

from ..cluster_view import TopicPartition
from ..finding import Finding, Health, Numbers
from ..report import Verdict, conclude, topic_subject
from ..skips.dropped_tails import SuspectedDrop
from ..skips.model import SkipsObservation
from . import texts
from .model import (
    SHOWN,
    STALE,
    LagObservation,
    LagStatus,
    StalledPartition,
    TopicLag,
    find_unlisted,
)

__all__ = ["LagLimits", "judge_lag"]


def split_by_task(
    seen: LagObservation, left_behind: AbstractSet[TopicPartition]
) -> LagObservation:
    """Return each topic by the worst partition that is not left behind.

    Parameters
    ----------
    seen
        Lag of a flow.
    left_behind
        Partitions whose task copies newer records of others: that task is
        well, so what waits there was dropped, or will soon be known to be.
    """
    if not left_behind:
        return seen  # as it is most of the time
    return replace(
        seen,
        topics=tuple(_by_others(topic, left_behind) for topic in seen.topics),
    )


def find_suspected(
    seen: LagObservation,
    suspicions: Iterable[SuspectedDrop],
    allowed: timedelta,
) -> Iterator[Finding]:
    """Yield what is suspected in the place of what would be called stuck.

    Parameters
    ----------
    seen
        Lag of a flow.
    suspicions
        Ends of partitions that seem to have been dropped; those that a filter
        drops on purpose are none of lag's business.
    allowed
        How long a position may stand while records wait.
    """
    standing = {
        (topic.topic, each.partition)
        for topic in seen.topics
        for each in topic.standing
        if each.stuck > allowed
    }
    found = [
        s
        for s in suspicions
        if (s.topic, s.partition) in standing and not s.filtered
    ]
    if not found:
        return
    most = max(found, key=lambda s: s.count)
    yield texts.SUSPECTED_DROP.found(
        Health.WARNING,
        {"topic": most.topic, "partition": most.partition},
        records=most.count,
        first_offset=most.first,
        partitions=len(found),
    )


def _by_others(
    topic: TopicLag, left_behind: AbstractSet[TopicPartition]
) -> TopicLag:
    if (topic.topic, topic.partition) not in left_behind:
        return topic
    others = (
        each
        for each in topic.standing
        if (topic.topic, each.partition) not in left_behind
    )
    worst = max(others, key=lambda each: each.stuck, default=None)
    if worst is None:
        return replace(topic, stuck=None)
    return _by(topic, worst)


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
    seen: LagObservation,
    left_behind: AbstractSet[TopicPartition],
    limits: "LagLimits",
) -> LagObservation:
    """Return each topic by the worst partition that stands for too long.

    Parameters
    ----------
    seen
        Lag of a flow.
    left_behind
        Partitions that are not judged here.
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
            and (topic.topic, each.partition) not in left_behind
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
    *,
    skips: SkipsObservation | None = None,
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
    skips
        What is known of its skips: records that seem to have been dropped
        wait for nothing, so a position that stands at them is not stuck.
    """
    if skips is not None and now - skips.at > STALE:
        skips = None
    left_behind = skips.left_behind if skips else frozenset()
    suspicions = skips.suspicions if skips else ()
    if seen is not None:
        seen = split_by_task(seen, left_behind)
        seen = split_by_patience(seen, left_behind, limits)
    return conclude(
        _find(seen, suspicions, limits, now),
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
    suspicions: Iterable[SuspectedDrop],
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
    yield from find_suspected(seen, suspicions, allowed[LagStatus.STALLED])
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
