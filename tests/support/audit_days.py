"""Days on which the nightly audit is judged."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from mirrorwatch.domain.audit.check import AuditLimits, judge_audit
from mirrorwatch.domain.audit.flow_result import (
    Attempt,
    AuditObservation,
    Outcome,
    TopicTally,
)
from mirrorwatch.domain.audit.plan import Unverifiable
from mirrorwatch.domain.audit.result import AuditFinding, FindingKind
from mirrorwatch.domain.report import Verdict
from tests.support.audit_report import a_night
from tests.support.builders import FLOW, NOON

__all__ = [
    "CALM",
    "DUE",
    "GAP",
    "HOUR",
    "a_finding",
    "an_attempt",
    "judged",
    "with_findings",
]

HOUR = timedelta(hours=1)

DUE = NOON - 10 * HOUR
"""Of the audit that `a_night` is."""

NEXT = NOON + 14 * HOUR
CALM = AuditObservation(
    flow=FLOW.name,
    at=NOON,
    since=NOON - 100 * HOUR,
    night=a_night(),
    overdue=DUE,
    next_due=NEXT,
)
GAP = Unverifiable(
    flow=FLOW.name, topic="events", partition=1, reason="expired", records=9
)


def judged(seen: AuditObservation | None = CALM, **more: Any) -> Verdict:
    """Return the verdict on a calm day, changed like this."""
    found = seen if seen is None else replace(seen, **more)
    return judge_audit(FLOW.name, found, AuditLimits(), NOON)


def an_attempt(
    outcome: Outcome, *, began: timedelta = HOUR, error: str = ""
) -> Attempt:
    """One that began some time ago, and ended half an hour later."""
    at = NOON - began
    return Attempt(
        due=at,
        began_at=at,
        outcome=outcome,
        ended_at=None if outcome == "running" else at + HOUR / 2,
        error=error,
        output=("Reading", f"Error: {error}"),
    )


def a_finding(
    kind: FindingKind = "dropped", count: int = 17, partition: int = 3
) -> AuditFinding:
    """Records that are wrong in one partition."""
    missing = kind == "dropped"
    return AuditFinding(
        flow=FLOW.name,
        topic="events",
        partition=partition,
        kind=kind,
        count=count,
        source_offsets=((42, 57), (99, 99)) if missing else (),
        target_offsets=() if missing else ((5, 5),),
    )


def with_findings(*findings: AuditFinding) -> AuditObservation:
    """Return what is seen after a night that found something."""
    found: dict[str, int] = {}
    for finding in findings:
        found[finding.kind] = found.get(finding.kind, 0) + finding.count
    tally = TopicTally(topic="events", source_records=1000, found=found)
    return replace(CALM, night=a_night(topics=(tally,), findings=findings))
