"""What a tick knows of the nightly audit."""

from datetime import datetime, timedelta
from typing import Any

from mirrorwatch.domain.audit.flow_result import (
    AuditObservation,
    FlowResult,
    TopicTally,
)
from mirrorwatch.domain.audit.plan import Unverifiable
from mirrorwatch.domain.audit.result import AuditFinding

from .builders import FLOW, NOON

__all__ = ["a_night", "an_audit"]

HOUR = timedelta(hours=1)


def a_night(at: datetime = NOON, **more: Any) -> FlowResult:
    """An audit that found nothing, ten hours ago."""
    given: dict[str, Any] = {
        "runs": ("nightly-2026-01-02",),
        "start": at - 34 * HOUR,
        "end": at - 10 * HOUR,
        "began_at": at - 10 * HOUR,
        "ended_at": at - 9.5 * HOUR,
        "topics": (
            TopicTally(
                topic="events", source_records=1000, target_records=1000
            ),
            TopicTally(topic="telemetry"),
        ),
        "shown": "nightly-2026-01-02",
    }
    return FlowResult(**given | more)


def an_audit(at: datetime = NOON) -> AuditObservation:
    """One of every kind of finding."""
    night = a_night(
        at,
        topics=(
            TopicTally(
                topic="events",
                source_records=1000,
                target_records=986,
                found={"dropped": 17, "duplicated": 2, "extra": 1},
                unverifiable=40,
            ),
            TopicTally(
                topic="telemetry",
                source_records=5000,
                target_records=5000,
                found={"corrupted": 1},
            ),
        ),
        findings=(
            AuditFinding(
                flow=FLOW.name,
                topic="events",
                partition=3,
                kind="dropped",
                count=17,
                source_offsets=((42, 57), (99, 99)),
            ),
        ),
        gaps=(
            Unverifiable(
                flow=FLOW.name,
                topic="events",
                partition=1,
                reason="expired at the source",
                records=40,
            ),
        ),
        gaps_total=1,
    )
    return AuditObservation(
        flow=FLOW.name,
        at=at,
        since=at - 34 * HOUR,
        night=night,
        report="nightly-2026-01-02",
    )
