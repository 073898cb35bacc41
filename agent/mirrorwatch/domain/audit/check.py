"""The check ``audit``: findings of the nightly comparison of both sides."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ..finding import Code, Finding, Health, Subject
from ..offsets import name_ranges
from ..report import Evidence, Verdict, conclude
from . import texts
from .flow_result import (
    ERRORS,
    KINDS,
    Attempt,
    AuditObservation,
    FlowResult,
)
from .plan import Unverifiable
from .result import FindingKind

__all__ = ["AuditLimits", "judge_audit"]


_CODES: dict[FindingKind, Code] = {
    "dropped": texts.DROPPED,
    "corrupted": texts.CORRUPTED,
    "extra": texts.EXTRA,
    "duplicated": texts.DUPLICATED,
}

Facts = Iterator[tuple[str, str | int | float | bool | None]]


def _evidence(seen: AuditObservation) -> Evidence:
    found = dict(_show_night(seen.night)) if seen.night is not None else {}
    if seen.report is not None:
        # The page makes a link of it.
        found["report"] = f"/audit/{seen.report}"
    if seen.attempt is not None:
        found |= dict(_show_attempt(seen.attempt))
    if seen.next_due is not None:
        found["next_due"] = seen.next_due.isoformat()
    return found


def _time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _show_night(night: FlowResult) -> Facts:
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
        if kind in ERRORS or night.found(kind):
            yield f"{kind}_records", night.found(kind)
    yield "unverifiable_records", sum(t.unverifiable for t in night.topics)
    for reason, count in sorted(night.stated.items()):
        yield f"{reason}_records", count


def _show_attempt(attempt: Attempt) -> Facts:
    yield "attempt", attempt.outcome
    yield "attempt_began", attempt.began_at.isoformat()
    if attempt.ended_at is not None:
        yield "attempt_ended", attempt.ended_at.isoformat()
    for number, line in enumerate(attempt.output, start=1):
        yield f"attempt_output_{number}", line


STALE = timedelta(minutes=5)
"""Oldest look at the results that is still believed: there is one every few
seconds, and a folder on another machine may take a while to answer."""

CLOCKS = timedelta(minutes=1)
"""By how much an audit may begin before it was due: its machine has a clock
of its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditLimits:
    """Limits of the check `audit`, from the block of that name."""

    enabled: bool = True
    """A nightly audit is configured."""

    timeout: timedelta = timedelta(hours=6)
    """Longest run."""


def judge_audit(
    flow: str,
    seen: AuditObservation | None,
    limits: AuditLimits,
    now: datetime,
) -> Verdict:
    """Judge the last audit of a flow.

    Parameters
    ----------
    flow
        Name of the flow.
    seen
        Audit observation of the flow.
    limits
        Limits of the check.
    now
        The time.

    Notes
    -----
    What an audit found holds until the next one came to its end: one that
    failed since proves nothing, so it never makes the verdict better.
    """
    if not limits.enabled:
        off = texts.OFF.found(Health.OFF)
        return conclude([off], flow=flow, check="audit", now=now, evidence={})
    return conclude(
        _find(seen, limits, now),
        flow=flow,
        check="audit",
        now=now,
        evidence={} if seen is None else _evidence(seen),
    )


def _find(
    seen: AuditObservation | None, limits: AuditLimits, now: datetime
) -> Iterator[Finding]:
    if seen is None:
        yield texts.NO_DATA.found(Health.UNKNOWN)
        return
    if seen.night is not None:
        yield from _judge_night(seen.night)
    yield from _judge_attempt(seen, limits, now)
    age = now - seen.at
    if age > STALE:
        yield texts.STALE.found(Health.UNKNOWN, seconds=age.total_seconds())
    for problem in seen.problems:
        yield texts.UNREADABLE.found(Health.UNKNOWN, problem=problem)
    if seen.night is None:
        due = _time(seen.next_due) if seen.next_due else None
        yield texts.NO_DATA.found(Health.UNKNOWN, next_due=due)


def _judge_night(night: FlowResult) -> Iterator[Finding]:
    until = _time(night.end)
    for kind in ERRORS:
        yield from _find_errors(night, kind, until)
    if night.gaps:
        worst = night.gaps[0]
        yield texts.UNVERIFIABLE.found(
            Health.WARNING,
            _place(worst),
            records=sum(t.unverifiable for t in night.topics),
            ranges=night.gaps_total,
            problem=worst.reason,
            audited_until=until,
        )
    if night.more:
        yield texts.PARTIAL.found(Health.UNKNOWN, audited_until=until)
    elif not night.wrong and not night.gaps:
        yield _praise(night, until)


def _find_errors(
    night: FlowResult, kind: FindingKind, until: str
) -> Iterator[Finding]:
    found = [t for t in night.topics if t.found.get(kind, 0)]
    worst_first = sorted(found, key=lambda t: -t.found[kind])
    for topic in worst_first:
        errors = [
            f
            for f in night.findings
            if f.kind == kind and f.topic == topic.topic
        ]
        yield _CODES[kind].found(
            Health.CRITICAL,
            {"topic": topic.topic},
            records=topic.found[kind],
            topics=len(found),
            source_ranges=name_ranges(
                (f.partition, *range_)
                for f in errors
                for range_ in f.source_offsets
            ),
            target_ranges=name_ranges(
                (f.partition, *range_)
                for f in errors
                for range_ in f.target_offsets
            ),
            audited_until=until,
        )


def _place(gap: Unverifiable) -> Subject:
    named = {} if gap.partition is None else {"partition": gap.partition}
    return {"topic": gap.topic, **named}


def _praise(night: FlowResult, until: str) -> Finding:
    return texts.OK.found(
        Health.OK,
        records=sum(topic.source_records for topic in night.topics),
        topics=len(night.topics),
        stated_records=sum(night.stated.values()) or None,
        filtered_records=night.found("filtered") or None,
        audited_until=until,
    )


def _judge_attempt(
    seen: AuditObservation, limits: AuditLimits, now: datetime
) -> Iterator[Finding]:
    night, attempt, overdue = seen.night, seen.attempt, seen.overdue
    if attempt is not None and attempt.ended_at is not None:
        # What it had compared by then was kept, the rest was not. An old
        # night that was run again since has not compared it either.
        unfinished = (
            night is None
            or night.ended_at < attempt.ended_at
            or night.end < attempt.due - CLOCKS
        )
        # One that was refused is tried again until it is overdue.
        waits = attempt.outcome == "refused" and (
            overdue is None or overdue < attempt.due
        )
        if attempt.outcome != "finished" and unfinished and not waits:
            yield texts.FAILED.found(
                Health.WARNING,
                due=_time(attempt.due),
                problem=texts.OUTCOMES.get(attempt.outcome, attempt.error),
            )
            return
    if overdue is None:
        return
    # By what was compared, not by when: an old night may be run again.
    compared = night is not None and night.end >= overdue - CLOCKS
    if night is not None and compared and not night.more:
        return
    runs = attempt is not None and attempt.outcome == "running"
    if attempt is not None and runs and attempt.due <= overdue:
        yield texts.LATE.found(
            Health.WARNING,
            due=_time(attempt.due),
            seconds=(now - attempt.began_at).total_seconds(),
            timeout_seconds=limits.timeout.total_seconds(),
        )
        return
    yield texts.MISSED.found(
        Health.WARNING,
        due=_time(overdue),
        seconds=(now - overdue).total_seconds(),
    )
