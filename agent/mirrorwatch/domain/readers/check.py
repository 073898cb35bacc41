"""The check ``readers``: whether what arrived is read at the target."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..finding import Finding, Health
from ..lag.model import SHOWN, LagStatus
from ..report import Verdict, conclude, topic_subject
from . import texts
from .model import STALE, ReadersObservation

__all__ = ["ReadersLimits", "judge_readers"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadersLimits:
    """Limits of the check `readers`."""

    enabled: bool = True
    """Groups are configured."""

    stopped: timedelta = field(
        default=timedelta(minutes=5),
        metadata={"title": "Stopped after", "gt": timedelta()},
    )
    """Timeout for a committed offset that is stuck while the group lags.
    Consumers commit every 5 seconds and sink connectors once a minute, and
    Kafka gives a consumer 5 minutes between two polls
    (`max.poll.interval.ms`)."""


def judge_readers(
    flow: str,
    seen: ReadersObservation | None,
    limits: ReadersLimits,
    now: datetime,
) -> Verdict:
    """Judge how far consumer groups have read what a flow copies.

    Parameters
    ----------
    flow
        Name of the flow.
    seen
        Their lag.
    limits
        Limits of the check.
    now
        The time.
    """
    return conclude(
        _find(seen, limits, now),
        flow=flow,
        check="readers",
        now=now,
        evidence={},
    )


def _find(
    seen: ReadersObservation | None, limits: ReadersLimits, now: datetime
) -> Iterator[Finding]:
    if not limits.enabled:
        yield texts.OFF.found(Health.OFF)
        return
    if seen is None:
        yield texts.NO_DATA.found(Health.UNKNOWN)
        return
    for problem in seen.problems:
        yield texts.UNREADABLE.found(Health.UNKNOWN, problem=problem)
    age = now - seen.at
    if age > STALE and not seen.problems:
        yield texts.STALE.found(Health.UNKNOWN, seconds=age.total_seconds())
    yield from _find_unread(seen)
    yield from _find_stuck(seen, limits)
    yield from _find_lost(seen, now)
    slow = [
        (group.group, topic)
        for group in seen.groups
        for topic in group.topics
        if topic.status is LagStatus.FALLING_BEHIND
    ]
    slow.sort(key=lambda each: -each[1].records)
    for name, topic in slow[:SHOWN]:
        yield texts.FALLING_BEHIND.found(
            Health.WARNING,
            {"group": name, "topic": topic.topic},
            topics=len(slow),
            **topic.waiting,
        )
    if seen.groups:
        yield texts.OK.found(
            Health.OK,
            groups=len(seen.groups),
            groups_not_read=seen.unread or None,
            records=sum(group.records for group in seen.groups),
            seconds=max(group.seconds for group in seen.groups),
        )
    elif not (seen.problems or seen.missing or seen.denied):
        yield texts.NO_GROUPS.found(Health.UNKNOWN)


def _find_unread(seen: ReadersObservation) -> Iterator[Finding]:
    for code, groups in (
        (texts.DENIED, seen.denied),
        (texts.NO_OFFSETS, seen.missing),
    ):
        if groups:
            yield code.found(
                Health.UNKNOWN,
                {"group": groups[0]},
                groups=len(groups),
                more_groups=len(groups) - 1 or None,
            )
    for group in seen.groups:
        if group.unknown_partitions:
            yield texts.UNKNOWN_PARTITIONS.found(
                Health.UNKNOWN,
                {"group": group.group},
                partitions=group.unknown_partitions,
            )


def _find_stuck(
    seen: ReadersObservation, limits: ReadersLimits
) -> Iterator[Finding]:
    for group in seen.groups:
        for status, code in STUCK.items():
            stuck = [
                (topic.stuck, topic)
                for topic in group.topics
                if topic.stuck is not None
                and topic.stuck > limits.stopped
                and topic.status is status
            ]
            if not stuck:
                continue
            since, worst = max(stuck, key=lambda each: each[0])
            facts = group.facts
            yield code.found(
                Health.CRITICAL,
                {
                    "group": group.group,
                    **topic_subject(worst.topic, [worst.partition]),
                },
                records=sum(topic.records for _, topic in stuck),
                topics=len(stuck),
                position=worst.position,
                seconds=since.total_seconds(),
                members=None if facts is None else facts.members,
                state=None if facts is None else facts.state,
            )


STUCK = {LagStatus.STOPPED: texts.STOPPED, LagStatus.STALLED: texts.STALLED}


def _find_lost(seen: ReadersObservation, now: datetime) -> Iterator[Finding]:
    if seen.lost:
        worst = max(seen.lost, key=lambda each: each.records)
        yield texts.OFFSETS_LOST.found(
            Health.WARNING,
            {"group": worst.group},
            groups=len(seen.lost),
            more_groups=len(seen.lost) - 1 or None,
            records=worst.records,
            topics=worst.topics,
            seconds=(now - worst.missed_at).total_seconds(),
        )
