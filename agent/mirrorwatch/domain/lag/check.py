"""The check ``lag``: whether records wait that the mirror does not take."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar

from ..cluster_view import TopicPartition
from ..report import (
    Evidence,
    Finding,
    Health,
    Verdict,
    agree,
    conclude,
    counted,
    seconds,
    topic_subject,
)
from ..skips.model import SkipsObservation, SuspectedDrop
from .model import (
    STALE,
    LagObservation,
    LagStatus,
    StalledPartition,
    TopicLag,
    find_unlisted,
)

__all__ = ["LagLimits", "judge_lag"]


def show_lag(
    seen: LagObservation, patience: Mapping[LagStatus, timedelta]
) -> Evidence:
    """Return metrics of all topics, and of the one that is worst.

    Parameters
    ----------
    seen
        The lag of the flow.
    patience
        How long a position may stand, by status.
    """

    def badness(topic: TopicLag) -> tuple[bool, bool, float, int]:
        # What the verdict is about, and last what only waits to be found.
        allowed = patience.get(topic.status)
        return (
            allowed is not None and (topic.stuck or timedelta()) > allowed,
            topic.status is not LagStatus.NOT_BEGUN,
            topic.seconds,
            topic.records,
        )

    worst = max(seen.topics, key=badness, default=None)
    found: dict[str, str | int | float | bool | None] = {
        "lag_records": seen.records,
        "lag_seconds": round(seen.seconds, 3),
        "topics": len(seen.topics),
        "topics_behind": sum(t.records > 0 for t in seen.topics),
    }
    if worst is None or not worst.records:
        return found
    return found | {
        "worst_topic": worst.topic,
        "worst_status": worst.status,
        "worst_partition": worst.partition,
        "worst_position": worst.position,
        "worst_position_by": worst.origin,
        "worst_records": worst.records,
        "worst_drain_seconds": None
        if worst.drain is None
        else round(worst.drain.total_seconds()),
    }


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
    others = (
        f"; same for {counted(len(found) - 1, 'more partition')}"
        if len(found) > 1
        else ""
    )
    yield Finding(
        "lag.suspected-drop",
        Health.WARNING,
        f"{counted(most.count, 'record')} of {most.topic}[{most.partition}] "
        f"from offset {most.first} on {agree(most.count, 'are not copied')}, "
        "while the same task copies newer records of other partitions: "
        f"suspected to be dropped, not lag{others}. See skips",
        subject={"topic": most.topic, "partition": most.partition},
        numbers={"records": most.count, "partitions": len(found)},
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
    evidence: Evidence = {}
    if seen is not None:
        seen = split_by_task(seen, left_behind)
        seen = split_by_patience(seen, left_behind, limits)
        evidence = show_lag(seen, _patience(seen, limits))
    return conclude(
        _find(flow, seen, suspicions, limits, now),
        flow=flow,
        check="lag",
        now=now,
        evidence=evidence,
    )


def _find(
    flow: str,
    seen: LagObservation | None,
    suspicions: Iterable[SuspectedDrop],
    limits: LagLimits,
    now: datetime,
) -> Iterator[Finding]:
    if seen is None:
        yield Finding(
            "lag.no-data", Health.UNKNOWN, "Topics have not been listed yet"
        )
        return
    yield from find_unlisted("lag", seen, now)
    if unknown := seen.unknown_partitions:
        yield Finding(
            "lag.unknown-partitions",
            Health.UNKNOWN,
            f"Lag of {counted(unknown, 'partition')} is unknown: no leader, "
            "or MirrorMaker's position is beyond the log end offset",
            numbers={"partitions": unknown},
        )
    yield from _stuck(flow, seen, limits)
    allowed = _patience(seen, limits)[LagStatus.STALLED]
    yield from find_suspected(seen, suspicions, allowed)
    for topic in _of(seen, LagStatus.FALLING_BEHIND):
        yield Finding(
            "lag.falling-behind",
            Health.WARNING,
            f"{topic.topic} is falling behind: {_waiting(topic.records)} and "
            f"growing, oldest record {_age(topic)} old",
            subject={"topic": topic.topic},
            numbers=topic.waiting,
        )
    yield Finding(
        "lag.ok",
        Health.OK,
        _calm(seen, limits),
        numbers={
            "topics": len(seen.topics),
            "records": seen.records,
            "seconds": seen.seconds,
        },
    )


def _calm(seen: LagObservation, limits: LagLimits) -> str:
    if not seen.records:
        return f"No lag on {counted(len(seen.topics), 'topic')}"
    waits = (
        f"Lag {counted(seen.records, 'record')} on "
        f"{counted(len(seen.topics), 'topic')}, oldest record "
        f"{seconds(timedelta(seconds=seen.seconds))} old"
    )
    stopped = _of(seen, LagStatus.STOPPED)
    if not stopped:
        return f"{waits}; replication is running"
    stuck = max(topic.stuck or timedelta() for topic in stopped)
    allowed = _patience(seen, limits)[LagStatus.STOPPED]
    return (
        f"{waits}; no progress for {seconds(stuck)}, normal between two "
        f"offset commits for up to {seconds(allowed)}"
    )


def _stuck(
    flow: str, seen: LagObservation, limits: LagLimits
) -> Iterator[Finding]:
    allowed = _patience(seen, limits)
    stopped = _beyond(_of(seen, LagStatus.STOPPED), allowed[LagStatus.STOPPED])
    if stopped:
        first = stopped[0]
        records = sum(topic.records for topic in stopped)
        yield Finding(
            "lag.stopped",
            Health.CRITICAL,
            f"Replication of {flow} has stopped: "
            f"{_waiting(records, len(stopped))}, {_where(first)}. Check that "
            "MirrorMaker runs and reaches both clusters",
            subject=topic_subject(first.topic, [first.partition]),
            numbers={
                "records": records,
                "topics": len(stopped),
                **_stood(first),
            },
        )
    for topic in _beyond(
        _of(seen, LagStatus.STALLED), allowed[LagStatus.STALLED]
    ):
        yield Finding(
            "lag.stalled",
            Health.CRITICAL,
            f"Replication of {topic.topic} has stopped while other topics "
            f"continue: {_waiting(topic.records)}, {_where(topic)}. Check "
            "the MirrorMaker task that reads it",
            subject=topic_subject(topic.topic, [topic.partition]),
            numbers={"records": topic.records, **_stood(topic)},
        )
    for topic in _beyond(
        _of(seen, LagStatus.NOT_BEGUN), allowed[LagStatus.NOT_BEGUN]
    ):
        yield Finding(
            "lag.never-copied",
            Health.CRITICAL,
            f"{topic.topic} was never copied: {_waiting(topic.records)}, "
            f"oldest record {_age(topic)} old. Check that MirrorMaker's "
            "topic filter matches it and that MirrorMaker may read it",
            subject={"topic": topic.topic},
            numbers=topic.waiting,
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


def _of(seen: LagObservation, status: LagStatus) -> list[TopicLag]:
    return [topic for topic in seen.topics if topic.status is status]


def _beyond(topics: Sequence[TopicLag], limit: timedelta) -> list[TopicLag]:
    """Return those that stand for too long, the longest first."""
    none = timedelta()
    found = [t for t in topics if (t.stuck or none) > limit]
    return sorted(found, key=lambda t: t.stuck or none, reverse=True)


def _waiting(records: int, topics: int = 0) -> str:
    of = f" on {counted(topics, 'topic')}" if topics else ""
    return f"lag {counted(records, 'record')}{of}"


def _where(topic: TopicLag) -> str:
    return (
        f"{topic.topic}[{topic.partition}] stuck at offset {topic.position} "
        f"({topic.origin}) for {seconds(topic.stuck or timedelta())}"
    )


def _stood(topic: TopicLag) -> dict[str, int | float | None]:
    """Return where a position has stood, and for how long."""
    stuck = topic.stuck or timedelta()
    return {"position": topic.position, "seconds": stuck.total_seconds()}


def _age(topic: TopicLag) -> str:
    age = seconds(timedelta(seconds=topic.seconds))
    return f"at least {age}" if topic.at_least else age
