"""The check ``audit``: what the nightly comparison of both sides found."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ..report import (
    Evidence,
    Finding,
    Health,
    Subject,
    Verdict,
    agree,
    conclude,
    counted,
    seconds,
)
from ..topics import filtered_note
from .flow_result import (
    ERRORS,
    KINDS,
    Attempt,
    AuditObservation,
    FlowResult,
    TopicTally,
)
from .plan import Unverifiable
from .result import AuditFinding, FindingKind

__all__ = ["AuditLimits", "judge_audit"]


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


def label_of(finding: AuditFinding) -> str:
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
    for number, finding in enumerate(night.findings[:_SHOWN], start=1):
        yield (
            f"finding_{number}",
            f"{finding.count} {finding.kind}: {label_of(finding)}",
        )
    for number, gap in enumerate(night.gaps[:_SHOWN], start=1):
        yield f"unverifiable_{number}", gap_of(gap)
    for number, (topic, percent) in enumerate(night.shrunk[:_SHOWN], start=1):
        yield f"shrunk_{number}", f"{topic}: {percent} % fewer than usual"


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

WORDS = {
    "dropped": "are missing at the target",
    "corrupted": "differ at the target",
    "extra": "are at the target but not at the source",
    "duplicated": "are duplicated at the target",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditLimits:
    """Limits of the check `audit`, from the block of that name."""

    enabled: bool = True
    """Whether there is a nightly audit."""

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
        What is known of it.
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
        off = Finding(
            "audit.off",
            Health.OFF,
            "Records are not compared: audit is not configured",
        )
        return conclude([off], flow=flow, check="audit", now=now, evidence={})
    return conclude(
        _find(seen, limits, now),
        flow=flow,
        check="audit",
        now=now,
        evidence={} if seen is None else show_audit(seen),
    )


def _find(
    seen: AuditObservation | None, limits: AuditLimits, now: datetime
) -> Iterator[Finding]:
    if seen is None:
        yield Finding(
            "audit.no-data",
            Health.UNKNOWN,
            "Audit results have not been read yet",
        )
        return
    if seen.night is not None:
        yield from _judge_night(seen.night)
    yield from _judge_attempt(seen, limits, now)
    if now - seen.at > STALE:
        yield Finding(
            "audit.stale",
            Health.UNKNOWN,
            f"Audit results were last read {seconds(now - seen.at)} ago. "
            "Check that the folder audit.out answers",
            numbers={"seconds": (now - seen.at).total_seconds()},
        )
    for problem in seen.problems:
        yield Finding("audit.unreadable", Health.UNKNOWN, problem)
    if seen.night is None or seen.night.partial:
        when = f" at {time_of(seen.next_due)}" if seen.next_due else ""
        yield Finding(
            "audit.no-data",
            Health.UNKNOWN,
            f"No audit of this flow has run yet; the next one is due{when}",
        )


def _judge_night(night: FlowResult) -> Iterator[Finding]:
    by = f"in the audit up to {time_of(night.end)}"
    for kind in ERRORS:
        for topic in sorted(night.topics, key=lambda t: -t.found.get(kind, 0)):
            if topic.found.get(kind, 0):
                yield _find_errors(night, topic, kind, by)
    if night.gaps:
        rest = night.gaps_total - 1
        more = f"; and {counted(rest, 'more range')}" if rest else ""
        yield Finding(
            "audit.unverifiable",
            Health.WARNING,
            f"Some records could not be verified {by}: "
            f"{gap_of(night.gaps[0])}{more}",
            subject=_place(night.gaps[0]),
            numbers={
                "records": sum(t.unverifiable for t in night.topics),
                "ranges": night.gaps_total,
            },
        )
    if night.more:
        yield Finding(
            "audit.partial",
            Health.UNKNOWN,
            f"Only part of the records was compared {by}. The next run "
            "compares the rest",
        )
    elif not night.wrong and not night.gaps:
        yield _praise(night, by)


def _find_errors(
    night: FlowResult, topic: TopicTally, kind: FindingKind, by: str
) -> Finding:
    total = topic.found[kind]
    largest = next(
        (
            f
            for f in night.findings
            if f.kind == kind and f.topic == topic.topic
        ),
        None,
    )
    count = total if largest is None else largest.count
    where = topic.topic if largest is None else label_of(largest)
    rest = total - count
    return Finding(
        f"audit.{kind}",
        Health.CRITICAL,
        f"{counted(count, 'record')} of {where} "
        + agree(count, WORDS[kind])
        + (f"; {rest} more in other ranges" if rest > 0 else "")
        + f", {by}",
        subject={"topic": topic.topic},
        numbers={"records": total},
    )


def _place(gap: Unverifiable) -> Subject:
    named = {} if gap.partition is None else {"partition": gap.partition}
    return {"topic": gap.topic, **named}


def _praise(night: FlowResult, by: str) -> Finding:
    records = sum(topic.source_records for topic in night.topics)
    stated = sum(night.stated.values())
    differ = f"{stated:,} {agree(stated, 'differ for a known reason')}"
    rest = f"; {differ}, see the evidence" if stated else ""
    rest += _note_shrunk(night.shrunk)
    filtered = filtered_note(t.found.get("filtered", 0) for t in night.topics)
    if filtered:
        rest = f", except for {filtered}{rest}"
    return Finding(
        "audit.ok",
        Health.OK,
        f"{counted(records, 'record')} of "
        f"{counted(len(night.topics), 'topic')} compared, none missing, "
        f"altered or duplicated {by}{rest}",
        numbers={"records": records, "topics": len(night.topics)},
    )


def _note_shrunk(shrunk: Sequence[tuple[str, int]]) -> str:
    """Return what a source wrote far less than usual: no fault of a mirror."""
    if not shrunk:
        return ""
    (topic, percent), *others = shrunk
    more = f", and {counted(len(others), 'more topic')}" if others else ""
    return f"; {topic} had {percent} % fewer records than usual{more}"


def _judge_attempt(
    seen: AuditObservation, limits: AuditLimits, now: datetime
) -> Iterator[Finding]:
    night, attempt, overdue = seen.night, seen.attempt, seen.overdue
    if night is not None and night.partial:
        night = None
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
            yield Finding(
                "audit.failed", Health.WARNING, _blame(attempt, limits)
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
        yield Finding(
            "audit.late",
            Health.WARNING,
            f"The audit due at {time_of(attempt.due)} is late: it has run "
            f"for {seconds(now - attempt.began_at)} and is stopped after "
            f"{seconds(limits.timeout)} (audit.timeout)",
            numbers={"seconds": (now - attempt.began_at).total_seconds()},
        )
        return
    yield Finding(
        "audit.missed",
        Health.WARNING,
        "No audit of this flow has completed since the one due at "
        f"{time_of(overdue)}. Check that it was started and writes to "
        "audit.out",
        numbers={"seconds": (now - overdue).total_seconds()},
    )


def _blame(attempt: Attempt, limits: AuditLimits) -> str:
    which = f"The audit due at {time_of(attempt.due)}"
    match attempt.outcome:
        case "timeout":
            how = (
                f"did not complete within {seconds(limits.timeout)} "
                "(audit.timeout) and was stopped"
            )
        case "refused":
            how = "was not run: another one was running on audit.out"
        case "stopped":
            how = "was stopped together with mirrorwatch"
        case "abandoned":
            how = "was interrupted when mirrorwatch was killed"
        case _:
            how = f"failed: {attempt.error}"
    return f"{which} {how}. The next audit covers its records"
