"""What the API says of the last audit of a flow."""

from collections.abc import Mapping
from typing import Any

from ..domain.audit.night import KINDS, Night
from ..domain.audit.observation import Attempt, AuditObservation
from ..domain.audit.result import Finding, OffsetRanges
from .times import time_text

__all__ = ["audit_document", "night_document"]

MOST = 50
"""Findings, gaps and topics listed; the report has all of them."""


def audit_document(seen: AuditObservation) -> dict[str, Any]:
    """Return the last audit, the last attempt at one, and the next.

    Parameters
    ----------
    seen
        What is known of the flow's audits.
    """
    return {
        "observed_at": time_text(seen.at),
        "report": None if seen.report is None else f"/audit/{seen.report}",
        "next_due": time_text(seen.next_due),
        "overdue": time_text(seen.overdue),
        "attempt": None if seen.attempt is None else _attempt(seen.attempt),
        "night": None
        if seen.night is None
        else night_document(seen.night) | _details(seen.night),
        "problems": list(seen.problems),
    }


def night_document(night: Night) -> dict[str, Any]:
    """Return the sums of an audit.

    Parameters
    ----------
    night
        The audit.
    """
    return {
        "runs": list(night.runs),
        "from": time_text(night.start),
        "to": time_text(night.end),
        "began_at": time_text(night.began_at),
        "ended_at": time_text(night.ended_at),
        "more_to_come": night.more,
        "topics": len(night.topics),
        "source_records": sum(t.source_records for t in night.topics),
        "target_records": sum(t.target_records for t in night.topics),
        "unverifiable_records": sum(t.unverifiable for t in night.topics),
        "found_records": {kind: night.found(kind) for kind in KINDS},
        "stated_records": dict(sorted(night.stated.items())),
    }


def _details(night: Night) -> dict[str, Any]:
    doubtful = [t for t in night.topics if t.found or t.unverifiable]
    return {
        "findings": [_finding(f) for f in night.findings[:MOST]],
        "gaps_total": night.gaps_total,
        "gaps": [
            {
                "topic": gap.topic,
                "partition": gap.partition,
                "records": gap.records,
                "reason": gap.reason,
            }
            for gap in night.gaps[:MOST]
        ],
        "doubtful_topics_total": len(doubtful),
        "doubtful_topics": [
            {
                "topic": topic.topic,
                "source_records": topic.source_records,
                "target_records": topic.target_records,
                "unverifiable_records": topic.unverifiable,
                "found_records": _counts(topic.found),
            }
            for topic in doubtful[:MOST]
        ],
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "due": time_text(attempt.due),
        "began_at": time_text(attempt.began_at),
        "ended_at": time_text(attempt.ended_at),
        "outcome": attempt.outcome,
        "error": attempt.error or None,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "topic": finding.topic,
        "partition": finding.partition,
        "records": finding.count,
        "source_offsets": _ranges(finding.source_offsets),
        "target_offsets": _ranges(finding.target_offsets),
        "from": time_text(finding.start),
        "to": time_text(finding.end),
    }


def _ranges(ranges: OffsetRanges) -> list[list[int]]:
    return [[first, last] for first, last in ranges]


def _counts(found: Mapping[str, int]) -> dict[str, int]:
    return {kind: found.get(kind, 0) for kind in KINDS}
