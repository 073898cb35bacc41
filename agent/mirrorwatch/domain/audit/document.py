"""What `mirrorwatch audit run --json` prints."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from .result import AuditResult, Finding, OffsetRanges, TopicCount

__all__ = ["combined", "result_document"]


def result_document(result: AuditResult) -> dict[str, Any]:
    """Return the result as JSON has it; other programs rely on its keys."""
    return {
        "from": result.start.isoformat(),
        "to": result.end.isoformat(),
        "clean": result.clean,
        "topics": [
            {
                "flow": topic.flow,
                "topic": topic.topic,
                "source_count": topic.source_count,
                "target_count": topic.target_count,
            }
            for topic in result.topics
        ],
        "findings": [_finding(finding) for finding in result.findings],
        "unverifiable": [
            {
                "flow": gap.flow,
                "topic": gap.topic,
                "partition": gap.partition,
                "reason": gap.reason,
            }
            for gap in result.unverifiable
        ],
    }


def combined(results: Sequence[AuditResult]) -> AuditResult:
    """Return several nights that were made up for in one run as one result.

    Parameters
    ----------
    results
        At least one, in the order of their ranges.
    """
    first, last = results[0], results[-1]
    if first is last:
        return first
    return replace(
        last,
        start=min(result.start for result in results),
        began_at=first.began_at,
        topics=tuple(_summed(t for result in results for t in result.topics)),
        findings=tuple(f for result in results for f in result.findings),
        stated=tuple(s for result in results for s in result.stated),
        unverifiable=tuple(
            gap for result in results for gap in result.unverifiable
        ),
    )


def _summed(topics: Iterable[TopicCount]) -> Iterable[TopicCount]:
    sums: dict[tuple[str, str], TopicCount] = {}
    for topic in topics:
        key = (topic.flow, topic.topic)
        so_far = sums.get(key)
        sums[key] = topic if so_far is None else _sum(so_far, topic)
    return (sums[key] for key in sorted(sums))


def _sum(a: TopicCount, b: TopicCount) -> TopicCount:
    return TopicCount(
        flow=a.flow,
        topic=a.topic,
        source_count=a.source_count + b.source_count,
        target_count=a.target_count + b.target_count,
        source_bytes=a.source_bytes + b.source_bytes,
        target_bytes=a.target_bytes + b.target_bytes,
    )


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "flow": finding.flow,
        "topic": finding.topic,
        "partition": finding.partition,
        "kind": finding.kind,
        "count": finding.count,
        "source_offsets": _pairs(finding.source_offsets),
        "target_offsets": _pairs(finding.target_offsets),
        "from": _time(finding.start),
        "to": _time(finding.end),
    }


def _pairs(ranges: OffsetRanges) -> list[list[int]]:
    return [[first, last] for first, last in ranges]


def _time(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()
