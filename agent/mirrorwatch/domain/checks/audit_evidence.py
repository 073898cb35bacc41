"""What the check ``audit`` shows beside its verdict."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from ..audit.night import KINDS, Night
from ..audit.observation import Attempt, AuditObservation
from ..audit.plan import Unverifiable
from ..audit.result import Finding
from ..verdicts import Evidence

__all__ = ["gap_of", "place_of", "show_audit", "time_of"]

_RANGES_SHOWN = 3
_SHOWN = 20

Facts = Iterator[tuple[str, str | int | float | bool | None]]


def show_audit(seen: AuditObservation) -> Evidence:
    """Return the sums of the last audit, and what stands out in it.

    Parameters
    ----------
    seen
        What is known of the flow's audits.
    """
    found = dict(_show_night(seen.night)) if seen.night is not None else {}
    if seen.report is not None:
        # The page makes a link of it.
        found["report"] = f"/audit/{seen.report}"
    if seen.attempt is not None:
        found |= dict(_show_attempt(seen.attempt))
    if seen.next_due is not None:
        found["next_due"] = seen.next_due.isoformat()
    return found


def time_of(at: datetime) -> str:
    """Return a time as a person reads it."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def place_of(finding: Finding) -> str:
    """Return topic, partition and offsets, as a person reads them."""
    where = f"{finding.topic} partition {finding.partition}"
    sides = [
        f"{side} offsets {_show_ranges(ranges)}"
        for side, ranges in (
            ("source", finding.source_offsets),
            ("target", finding.target_offsets),
        )
        if ranges
    ]
    return f"{where} ({'; '.join(sides)})" if sides else where


def gap_of(gap: Unverifiable) -> str:
    """Return what could not be judged, and why."""
    where = "" if gap.partition is None else f" partition {gap.partition}"
    return f"{gap.topic}{where}: {gap.reason}"


def _show_ranges(ranges: Sequence[tuple[int, int]]) -> str:
    names = ", ".join(
        str(first) if first == last else f"{first} to {last}"
        for first, last in ranges[:_RANGES_SHOWN]
    )
    return names + (" and others" if len(ranges) > _RANGES_SHOWN else "")


def _show_night(night: Night) -> Facts:
    yield "run", ", ".join(night.runs)
    yield "from", night.start.isoformat()
    yield "to", night.end.isoformat()
    yield "ended", night.ended_at.isoformat()
    took = (night.ended_at - night.began_at).total_seconds()
    yield "took_seconds", round(took, 1)
    yield "topics", len(night.topics)
    yield "source_records", sum(t.source_records for t in night.topics)
    yield "target_records", sum(t.target_records for t in night.topics)
    for kind in KINDS:
        yield f"{kind}_records", night.found(kind)
    yield "unverifiable_records", sum(t.unverifiable for t in night.topics)
    for reason, count in sorted(night.stated.items()):
        yield f"{reason}_records", count
    for number, finding in enumerate(night.findings[:_SHOWN], start=1):
        yield (
            f"finding_{number}",
            f"{finding.count} {finding.kind}: {place_of(finding)}",
        )
    for number, gap in enumerate(night.gaps[:_SHOWN], start=1):
        yield f"unverifiable_{number}", gap_of(gap)


def _show_attempt(attempt: Attempt) -> Facts:
    yield "attempt", attempt.outcome
    yield "attempt_began", attempt.began_at.isoformat()
    if attempt.ended_at is not None:
        yield "attempt_ended", attempt.ended_at.isoformat()
    for number, line in enumerate(attempt.output, start=1):
        yield f"attempt_output_{number}", line
