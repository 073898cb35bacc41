"""The check ``retention``: how long until records are lost for good."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..report import (
    Evidence,
    Finding,
    Health,
    Numbers,
    Verdict,
    conclude,
    counted,
    seconds,
)
from .model import (
    FirstLoss,
    Headroom,
    LagObservation,
    TopicLag,
    find_unlisted,
    first_loss,
)

__all__ = ["RetentionLimits", "judge_retention"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RetentionLimits:
    """Limits of the check `retention`, for topics that have lag.

    Both the time and the share must be below the limit: the time alone would
    alert on every topic with a retention of one hour, the share alone on a
    long retention with days left.
    """

    enabled: bool = True
    """Whether topic configs are read."""

    critical: timedelta = field(
        default=timedelta(hours=6),
        metadata={"title": "Critical below", "gt": timedelta()},
    )
    """Time left. Enough for one shift to repair MirrorMaker or to raise the
    retention."""

    critical_share: float = field(
        default=0.5,
        metadata={"title": "Critical below this share", "gt": 0, "le": 1},
    )
    """Share of the retention that is left. Half of it is used."""

    warning: timedelta = field(
        default=timedelta(hours=24),
        metadata={"title": "Warning below", "gt": timedelta()},
    )
    """Time left."""

    warning_share: float = field(
        default=0.75,
        metadata={"title": "Warning below this share", "gt": 0, "le": 1},
    )
    """Share of the retention that is left. A quarter of it is used."""


def judge_retention(
    flow: str,
    seen: LagObservation | None,
    limits: RetentionLimits,
    now: datetime,
) -> Verdict:
    """Judge how long until the oldest record not yet copied expires.

    Parameters
    ----------
    flow
        Name of the flow.
    seen
        Its lag, with what is left of each topic.
    limits
        Limits of the check.
    now
        The time.
    """
    worst = None if seen is None else _worst(seen)
    return conclude(
        _find(seen, worst, limits, now),
        flow=flow,
        check="retention",
        now=now,
        evidence={} if worst is None else _evidence(worst),
    )


def _find(
    seen: LagObservation | None,
    worst: FirstLoss | None,
    limits: RetentionLimits,
    now: datetime,
) -> Iterator[Finding]:
    if not limits.enabled:
        yield Finding(
            "retention.off",
            Health.OFF,
            "Time to loss is not known: retention at the source is not read "
            "(limits.configs.enabled is false)",
        )
        return
    if seen is None:
        yield Finding(
            "retention.no-data",
            Health.UNKNOWN,
            "Topics have not been listed yet",
        )
        return
    yield from _find_unread(seen, now)
    if not seen.configs_known:
        yield Finding(
            "retention.no-data",
            Health.UNKNOWN,
            "Retention at the source is not known yet",
        )
        return
    for topic in seen.topics:
        if topic.records and topic.headroom is not None:
            yield from _judge_worst(topic, topic.headroom, limits)
    yield from _find_unmeasured(seen, worst)
    if worst is None:
        yield Finding(
            "retention.ok", Health.OK, "No source topic deletes records"
        )
        return
    if unknown := seen.unknown_partitions:
        yield Finding(
            "retention.unknown-partitions",
            Health.UNKNOWN,
            f"Time to loss of {counted(unknown, 'partition')} is unknown: no "
            "leader, or MirrorMaker's position is beyond the log end offset",
            numbers={"partitions": unknown},
        )
    yield Finding(
        "retention.ok",
        Health.OK,
        f"If replication stopped now, {worst.topic.topic} would lose "
        f"records first, in {seconds(worst.headroom.remaining)}",
        subject={"topic": worst.topic.topic},
        numbers={"seconds": worst.headroom.remaining.total_seconds()},
    )


def _find_unread(seen: LagObservation, now: datetime) -> Iterator[Finding]:
    yield from find_unlisted("retention", seen, now)
    if refused := seen.configs_refused:
        yield Finding(
            "retention.configs-unreadable",
            Health.UNKNOWN,
            f"Retention of {_name(refused)} at the source is not known: "
            "mirrorwatch could not read its topic configs",
            subject={"topic": refused[0]},
            numbers={"topics": len(refused)},
        )


def _find_unmeasured(
    seen: LagObservation, worst: FirstLoss | None
) -> Iterator[Finding]:
    """Yield what may lose records sooner than is known. Where nothing waits,
    what is known is enough.
    """
    found = [
        t.topic
        for t in seen.topics
        if t.unmeasured and (t.records or worst is None)
    ]
    if found:
        yield Finding(
            "retention.unmeasured",
            Health.UNKNOWN,
            f"When {_name(found)} loses records is not known yet: it is "
            "limited by size, and mirrorwatch has just begun to measure how "
            "fast it is written",
            subject={"topic": found[0]},
            numbers={"topics": len(found)},
        )
    unfilled = [t.topic for t in seen.topics if t.unfilled]
    if unfilled:
        yield Finding(
            "retention.by-size-only",
            Health.UNKNOWN,
            f"When {_name(unfilled)} loses records cannot be known: it is "
            "limited by size alone (retention.bytes), and has deleted no "
            "segment yet. Compare its size on disk",
            subject={"topic": unfilled[0]},
            numbers={"topics": len(unfilled)},
        )


def _name(topics: Sequence[str]) -> str:
    more = f" (and {len(topics) - 1:,} more)" if len(topics) > 1 else ""
    return f"{topics[0]}{more}"


def _judge_worst(
    topic: TopicLag, first: Headroom, limits: RetentionLimits
) -> Iterator[Finding]:
    """Yield the worst of what is left of a topic: what ends first may hide
    what is as good as used up.
    """
    found = [
        finding
        for headroom in (first, *topic.scarcer)
        for finding in _judge(topic, headroom, limits)
    ]
    if found and topic.just_seen:
        yield Finding(
            "retention.trend-unknown",
            Health.UNKNOWN,
            f"{topic.topic} may lose records in {seconds(first.remaining)}: "
            f"{counted(topic.records, 'record')} waited when mirrorwatch "
            "began to look, and it is not known yet whether MirrorMaker "
            "keeps up",
            subject={"topic": topic.topic},
            numbers=_numbers(topic, first),
        )
    elif found:
        yield max(found, key=lambda finding: finding.health)


def _judge(
    topic: TopicLag, headroom: Headroom, limits: RetentionLimits
) -> Iterator[Finding]:
    left, share = headroom.remaining, headroom.share
    drains = topic.drain is not None and topic.drain < left
    about = " (estimated from the log size)" * headroom.estimated
    what = (
        f"{topic.topic} loses records in {seconds(left)}{about}: lag "
        f"{counted(topic.records, 'record')}"
    )
    if share < limits.critical_share and not drains:
        health = Health.CRITICAL
        then = (
            ", not copied in time at the current rate. Raise retention at "
            "the source or restore MirrorMaker before then"
        )
    elif share < limits.critical_share and left < limits.critical:
        health, then = Health.CRITICAL, f"; {_drain(topic)}"
    elif share < limits.warning_share and left < limits.warning:
        health, then = Health.WARNING, f"; {_drain(topic)}"
    else:
        return
    yield Finding(
        "retention.expiring",
        health,
        what + then,
        subject={"topic": topic.topic},
        numbers=_numbers(topic, headroom),
    )


def _numbers(topic: TopicLag, headroom: Headroom) -> Numbers:
    drain = topic.drain
    return {
        "seconds": headroom.remaining.total_seconds(),
        "share": headroom.share,
        "records": topic.records,
        "drain_seconds": None if drain is None else drain.total_seconds(),
    }


def _drain(topic: TopicLag) -> str:
    if topic.drain is None:
        return "lag is not shrinking"
    return f"lag drains in {seconds(topic.drain)} at the current rate"


def _worst(seen: LagObservation) -> FirstLoss | None:
    # Where nothing waits, nothing is at stake yet.
    waiting = [topic for topic in seen.topics if topic.records]
    return first_loss(waiting) or first_loss(seen.topics)


def _evidence(worst: FirstLoss) -> Evidence:
    drain = worst.topic.drain
    return {
        "worst_topic": worst.topic.topic,
        "topics_alike": worst.others_alike,
        "time_to_loss_seconds": round(
            worst.headroom.remaining.total_seconds()
        ),
        "share_of_retention": round(worst.headroom.share, 3),
        "estimated": worst.headroom.estimated,
        "records": worst.topic.records,
        "drain_seconds": None
        if drain is None
        else round(drain.total_seconds()),
    }
