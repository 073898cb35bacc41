"""The check ``readers``: whether what arrived is read at the target."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..lag.model import LagStatus, TopicLag
from ..report import (
    Evidence,
    Finding,
    Health,
    Verdict,
    agree,
    conclude,
    counted,
    every,
    seconds,
    topic_subject,
)
from .model import STALE, GroupLag, ReadersObservation

__all__ = ["ReadersLimits", "judge_readers"]

SHOWN = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadersLimits:
    """Limits of the check `readers`."""

    enabled: bool = True
    """Whether groups are configured."""

    stopped: timedelta = field(
        default=timedelta(minutes=5),
        metadata={"title": "Stopped after", "gt": timedelta()},
    )
    """How long a committed offset may stand while records wait for the group.
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
        evidence={} if seen is None else _evidence(seen),
    )


def _find(
    seen: ReadersObservation | None, limits: ReadersLimits, now: datetime
) -> Iterator[Finding]:
    if not limits.enabled:
        yield Finding(
            "readers.off",
            Health.OFF,
            "No consumer groups are configured to be watched at the target "
            "(flows[].readers)",
        )
        return
    if seen is None:
        yield Finding(
            "readers.no-data",
            Health.UNKNOWN,
            "Offsets of the consumer groups at the target have not been read "
            "yet",
        )
        return
    for problem in seen.problems:
        yield Finding("readers.unreadable", Health.UNKNOWN, problem)
    age = now - seen.at
    if age > STALE and not seen.problems:
        yield Finding(
            "readers.stale",
            Health.UNKNOWN,
            "Lag of the consumer groups at the target was last read "
            f"{seconds(age)} ago: mirrorwatch hangs",
            numbers={"seconds": age.total_seconds()},
        )
    yield from _find_unread(seen)
    yield from _find_stuck(seen, limits)
    yield from _find_lost(seen, now)
    for group in seen.groups:
        for topic in group.topics:
            if topic.status is LagStatus.FALLING_BEHIND:
                yield Finding(
                    "readers.falling-behind",
                    Health.WARNING,
                    f"Consumer group {group.group} is falling behind on "
                    f"{topic.topic} at the target: "
                    f"lag {counted(topic.records, 'record')} and growing, "
                    f"oldest record {_age(topic.seconds, topic.at_least)} old",
                    subject={"group": group.group, "topic": topic.topic},
                    numbers=topic.waiting,
                )
    if seen.groups:
        yield Finding(
            "readers.ok",
            Health.OK,
            _say_ok(seen),
            numbers={
                "groups": len(seen.groups),
                "groups_not_read": seen.unread,
                "records": sum(group.records for group in seen.groups),
            },
        )
    elif not (seen.problems or seen.missing or seen.denied):
        yield Finding(
            "readers.no-groups",
            Health.UNKNOWN,
            "No consumer group that flows[].readers names has committed "
            "offsets in replicated topics at the target. Check the names, and "
            "that mirrorwatch has DESCRIBE on the groups",
        )


def _find_unread(seen: ReadersObservation) -> Iterator[Finding]:
    if seen.denied:
        yield Finding(
            "readers.denied",
            Health.UNKNOWN,
            f"Mirrorwatch lacks DESCRIBE on consumer group {seen.denied[0]}"
            f"{_more(len(seen.denied))} at the target",
            subject={"group": seen.denied[0]},
            numbers={"groups": len(seen.denied)},
        )
    if seen.missing:
        yield Finding(
            "readers.no-offsets",
            Health.UNKNOWN,
            f"Consumer group {seen.missing[0]}{_more(len(seen.missing))} has "
            "committed no offset in a replicated topic at the target. Check "
            "the name of the sink connector, and that it runs",
            subject={"group": seen.missing[0]},
            numbers={"groups": len(seen.missing)},
        )
    for group in seen.groups:
        if group.unknown_partitions:
            yield Finding(
                "readers.unknown-partitions",
                Health.UNKNOWN,
                f"Lag of consumer group {group.group} is unknown on "
                f"{counted(group.unknown_partitions, 'partition')} at the "
                "target: no leader, or its committed offset is beyond the "
                "log end offset",
                subject={"group": group.group},
                numbers={"partitions": group.unknown_partitions},
            )


def _find_stuck(
    seen: ReadersObservation, limits: ReadersLimits
) -> Iterator[Finding]:
    for group in seen.groups:
        stuck = [
            topic
            for topic in group.topics
            if topic.stuck is not None and topic.stuck > limits.stopped
        ]
        for status, what in STUCK.items():
            topics = [t for t in stuck if t.status is status]
            if topics:
                yield _stuck(group, f"readers.{status.value}", what, topics)


STUCK = {
    LagStatus.STOPPED: "has stopped reading at the target",
    LagStatus.STALLED: (
        "has stopped reading some partitions at the target while it reads "
        "others"
    ),
}


def _stuck(
    group: GroupLag, code: str, what: str, topics: Sequence[TopicLag]
) -> Finding:
    worst = max(topics, key=lambda t: t.stuck or timedelta())
    records = sum(topic.records for topic in topics)
    stood = worst.stuck or timedelta()
    place = topic_subject(worst.topic, [worst.partition])
    return Finding(
        code,
        Health.CRITICAL,
        f"Consumer group {group.group} {what}: "
        f"lag {counted(records, 'record')} on "
        f"{counted(len(topics), 'topic')}, {worst.topic}[{worst.partition}] "
        f"stuck at offset {worst.position} for {seconds(stood)}. "
        f"It {_say_members(group)}",
        subject={"group": group.group, **place},
        numbers={
            "records": records,
            "topics": len(topics),
            "position": worst.position,
            "seconds": stood.total_seconds(),
            "members": None if group.facts is None else group.facts.members,
        },
    )


def _find_lost(seen: ReadersObservation, now: datetime) -> Iterator[Finding]:
    if seen.lost:
        worst = max(seen.lost, key=lambda each: each.records)
        yield Finding(
            "readers.offsets-lost",
            Health.WARNING,
            f"Committed offsets of consumer group {worst.group}"
            f"{_more(len(seen.lost))} at the target are gone, with lag "
            f"{counted(worst.records, 'record')} on "
            f"{counted(worst.topics, 'topic')}, first missed "
            f"{seconds(now - worst.missed_at)} ago: they expired or were "
            "deleted, or mirrorwatch lacks DESCRIBE on the group. Consumers "
            "that start again begin by auto.offset.reset",
            subject={"group": worst.group},
            numbers={
                "groups": len(seen.lost),
                "records": worst.records,
                "topics": worst.topics,
                "seconds": (now - worst.missed_at).total_seconds(),
            },
        )


def _say_members(group: GroupLag) -> str:
    facts = group.facts
    if facts is None:
        return "could not be described"
    if not facts.members:
        return "has no members: check that its consumers run"
    return f"has {counted(facts.members, 'member')}, and its state is " + (
        facts.state
    )


def _say_ok(seen: ReadersObservation) -> str:
    groups = len(seen.groups)
    records = sum(group.records for group in seen.groups)
    behind = sum(group.records > 0 for group in seen.groups)
    more = (
        f"; {counted(seen.unread, 'more group')} "
        + agree(seen.unread, "are not read")
        if seen.unread
        else ""
    )
    if not records:
        all_ = every(groups, "consumer group").capitalize()
        return (
            f"{all_} {agree(groups, 'have')} read all that arrived at the "
            f"target{more}"
        )
    oldest = max(seen.groups, key=lambda g: g.seconds)
    at_least = any(topic.at_least for topic in oldest.topics)
    return (
        f"Lag {counted(records, 'record')} of "
        f"{counted(behind, 'consumer group')} at the target, oldest record "
        f"{_age(oldest.seconds, at_least)} old{more}"
    )


def _more(number: int) -> str:
    return f" (and {number - 1:,} more)" if number > 1 else ""


def _age(age: float, at_least: bool) -> str:  # noqa: FBT001
    words = seconds(timedelta(seconds=age))
    return f"at least {words}" if at_least else words


def _evidence(seen: ReadersObservation) -> Evidence:
    found: dict[str, str | int | float | bool | None] = {
        "groups": len(seen.groups),
        "groups_behind": sum(g.records > 0 for g in seen.groups),
        "groups_without_members": sum(
            g.facts is not None and not g.facts.members for g in seen.groups
        ),
        "lag_records": sum(g.records for g in seen.groups),
        "lag_seconds": round(
            max((g.seconds for g in seen.groups), default=0.0), 3
        ),
    }
    slowest = sorted(seen.groups, key=lambda g: (-g.seconds, -g.records))
    for n, group in enumerate(slowest[:SHOWN], start=1):
        worst = group.worst
        where = "" if worst is None else f", {worst.status} on {worst.topic}"
        found[f"group_{n}"] = (
            f"{group.group}: lag {counted(group.records, 'record')}{where}"
        )
    largest = sorted(seen.lost, key=lambda g: (-g.records, g.group))
    for n, lost in enumerate(largest[:SHOWN], start=1):
        found[f"without_offsets_{n}"] = (
            f"{lost.group}: lag {counted(lost.records, 'record')} on "
            f"{counted(lost.topics, 'topic')}"
        )
    return found
