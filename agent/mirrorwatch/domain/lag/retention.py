"""The check ``retention``: how long until records are lost for good."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..finding import Finding, Health, Numbers
from ..report import Verdict, conclude
from . import retention_texts as texts
from .model import (
    SHOWN,
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
    """Topic configs are read."""

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
    return conclude(
        _find(seen, limits, now),
        flow=flow,
        check="retention",
        now=now,
        evidence={},
    )


def _find(
    seen: LagObservation | None, limits: RetentionLimits, now: datetime
) -> Iterator[Finding]:
    if not limits.enabled:
        yield texts.OFF.found(Health.OFF)
        return
    if seen is None:
        yield texts.NO_DATA.found(Health.UNKNOWN)
        return
    yield from find_unlisted(texts, seen, now)
    if refused := seen.configs_refused:
        yield texts.CONFIGS_UNREADABLE.found(
            Health.UNKNOWN, {"topic": refused[0]}, topics=len(refused)
        )
    if not seen.configs_known:
        yield texts.NO_DATA.found(Health.UNKNOWN)
        return
    yield from _find_expiring(seen, limits)
    worst = _worst(seen)
    yield from _find_unmeasured(seen, worst)
    if worst is None:
        yield texts.OK.found(Health.OK, topics=len(seen.topics))
        return
    if seen.unknown_partitions:
        yield texts.UNKNOWN_PARTITIONS.found(
            Health.UNKNOWN, partitions=seen.unknown_partitions
        )
    yield texts.OK.found(
        Health.OK,
        {"topic": worst.topic.topic},
        seconds=worst.headroom.remaining.total_seconds(),
    )


def _find_unmeasured(
    seen: LagObservation, worst: FirstLoss | None
) -> Iterator[Finding]:
    """Yield what may lose records sooner than is known. Where nothing waits,
    what is known is enough.
    """
    unmeasured = [
        t for t in seen.topics if t.unmeasured and (t.records or worst is None)
    ]
    unfilled = [t for t in seen.topics if t.unfilled]
    for code, found in (
        (texts.UNMEASURED, unmeasured),
        (texts.BY_SIZE_ONLY, unfilled),
    ):
        if found:
            yield code.found(
                Health.UNKNOWN, {"topic": found[0].topic}, topics=len(found)
            )


def _find_expiring(
    seen: LagObservation, limits: RetentionLimits
) -> Iterator[Finding]:
    """Yield the topics that lose records soon, the worst first."""
    expiring = []
    for topic in seen.topics:
        if topic.records and topic.headroom is not None:
            # What ends first may hide what is as good as used up.
            health, left = max(
                (
                    (_judge(topic, left, limits), left)
                    for left in (topic.headroom, *topic.scarcer)
                ),
                key=lambda judged: judged[0],
            )
            if health > Health.OK:
                expiring.append((health, left, topic))
    expiring.sort(key=lambda e: (e[2].just_seen, -e[0], e[1].remaining))
    for health, left, topic in expiring[:SHOWN]:
        if topic.just_seen:
            yield texts.TREND_UNKNOWN.found(
                Health.UNKNOWN,
                {"topic": topic.topic},
                **_numbers(topic, topic.headroom or left),
            )
        else:
            yield texts.EXPIRING.found(
                health,
                {"topic": topic.topic},
                topics=sum(not t.just_seen for *_, t in expiring),
                **_numbers(topic, left),
            )


def _judge(
    topic: TopicLag, headroom: Headroom, limits: RetentionLimits
) -> Health:
    left, share = headroom.remaining, headroom.share
    drains = topic.drain is not None and topic.drain < left
    if share < limits.critical_share and (
        not drains or left < limits.critical
    ):
        return Health.CRITICAL
    if share < limits.warning_share and left < limits.warning:
        return Health.WARNING
    return Health.OK


def _numbers(topic: TopicLag, headroom: Headroom) -> Numbers:
    drain = topic.drain
    return {
        "seconds": headroom.remaining.total_seconds(),
        "share": headroom.share,
        "limited_by": "retention.bytes" if headroom.estimated else None,
        "records": topic.records,
        "drain_seconds": None if drain is None else drain.total_seconds(),
    }


def _worst(seen: LagObservation) -> FirstLoss | None:
    # Where nothing waits, nothing is at stake yet.
    waiting = [topic for topic in seen.topics if topic.records]
    return first_loss(waiting) or first_loss(seen.topics)
