"""Audits as tests want them."""

from datetime import UTC, datetime, timedelta

from mirrorwatch.domain.audit.plan import Stated, Unverifiable
from mirrorwatch.domain.audit.result import (
    AuditFinding,
    AuditResult,
    FindingKind,
    FinishedAudit,
    HourCount,
    Speed,
    TopicCount,
)

__all__ = ["NIGHT", "a_count", "a_finding", "a_finished", "a_result"]
__all__ += ["an_hour"]

NIGHT = datetime(2026, 11, 21, 2, tzinfo=UTC)
"""When the offsets of a night's audit are frozen."""

FLOW = "summit->ldf"


def a_count(
    topic: str = "events", source: int = 1000, target: int | None = None
) -> TopicCount:
    """A topic with records of 250 bytes."""
    target = source if target is None else target
    return TopicCount(
        flow=FLOW,
        topic=topic,
        source_count=source,
        target_count=target,
        source_bytes=source * 250,
        target_bytes=target * 250,
    )


def a_finding(
    kind: FindingKind = "dropped",
    *,
    topic: str = "events",
    first: int = 42,
    last: int = 42,
) -> AuditFinding:
    """A range of records that are wrong."""
    ranges = ((first, last),)
    at = NIGHT - timedelta(hours=3)
    return AuditFinding(
        flow=FLOW,
        topic=topic,
        partition=0,
        kind=kind,
        count=last - first + 1,
        source_offsets=() if kind == "extra" else ranges,
        target_offsets=() if kind == "dropped" else ranges,
        start=at,
        end=at + timedelta(seconds=2),
    )


def a_result(
    *findings: AuditFinding,
    at: datetime = NIGHT,
    nightly: bool = True,
    topics: tuple[TopicCount, ...] = (),
    stated: tuple[Stated, ...] = (),
    unverifiable: tuple[Unverifiable, ...] = (),
) -> AuditResult:
    """What a night's audit found: nothing, unless told otherwise."""
    return AuditResult(
        id=f"{'nightly' if nightly else 'adhoc'}-{at:%Y-%m-%d}",
        nightly=nightly,
        start=at - timedelta(days=1),
        end=at,
        began_at=at,
        ended_at=at + timedelta(minutes=5),
        topics=topics or (a_count(),),
        findings=findings,
        stated=stated,
        unverifiable=unverifiable,
    )


def an_hour(
    hour: int | None = 0,
    *,
    topic: str = "events",
    source: int = 100,
    target: int | None = None,
    differs: bool = False,
) -> HourCount:
    """Records of an hour of the day before the night."""
    at = NIGHT - timedelta(hours=2)
    return HourCount(
        flow=FLOW,
        topic=topic,
        hour=None if hour is None else at - timedelta(hours=24 - hour),
        source_count=source,
        target_count=source if target is None else target,
        differs=differs,
    )


def a_finished(result: AuditResult | None = None) -> FinishedAudit:
    """A run of five minutes, four of which it read."""
    result = result or a_result()
    topics = result.topics
    return FinishedAudit(
        result=result,
        speed=Speed(
            records=sum(t.source_count + t.target_count for t in topics),
            bytes=sum(t.source_bytes + t.target_bytes for t in topics),
            reading=timedelta(minutes=4),
            total=timedelta(minutes=5),
            covered=timedelta(days=1),
        ),
    )
