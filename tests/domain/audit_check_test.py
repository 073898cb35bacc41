"""The verdict on the nightly audit: what makes it, and what leaves it ok."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.audit.night import TopicTally
from mirrorwatch.domain.audit.observation import (
    Attempt,
    AuditObservation,
    Outcome,
)
from mirrorwatch.domain.audit.plan import Unverifiable
from mirrorwatch.domain.audit.result import Finding, FindingKind
from mirrorwatch.domain.checks import AuditLimits, judge_audit
from mirrorwatch.domain.verdicts import Health, Verdict
from tests.support.audit_report import a_night
from tests.support.builders import FLOW, NOON

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
) -> Finding:
    missing = kind == "dropped"
    return Finding(
        flow=FLOW.name,
        topic="events",
        partition=partition,
        kind=kind,
        count=count,
        source_offsets=((42, 57), (99, 99)) if missing else (),
        target_offsets=() if missing else ((5, 5),),
    )


def with_findings(*findings: Finding) -> AuditObservation:
    found: dict[str, int] = {}
    for finding in findings:
        found[finding.kind] = found.get(finding.kind, 0) + finding.count
    tally = TopicTally(topic="events", source_records=1000, found=found)
    return replace(CALM, night=a_night(topics=(tally,), findings=findings))


def test_without_an_audit_in_the_configuration_it_is_off() -> None:
    off = AuditLimits(enabled=False)
    verdict = judge_audit(FLOW.name, None, off, NOON)
    assert verdict.health is Health.OFF
    assert judged(None).health is Health.UNKNOWN


def test_before_the_first_night_nobody_knows() -> None:
    verdict = judged(night=None, overdue=None)
    assert verdict.health is Health.UNKNOWN
    assert verdict.reason == (
        "No audit of this flow has run yet, the next one is due at "
        "2026-01-03 02:00 UTC"
    )


def test_a_clean_night_is_ok_and_says_of_what() -> None:
    verdict = judged()
    assert verdict.health is Health.OK
    assert verdict.reason == (
        "Of 1000 records of 2 topics none is missing, doubled or altered, by "
        "the audit up to 2026-01-02 02:00 UTC"
    )
    assert verdict.evidence["source_records"] == 1000
    assert verdict.evidence["dropped_records"] == 0
    assert verdict.evidence["next_due"] == "2026-01-03T02:00:00+00:00"


def test_records_that_differ_for_a_reason_are_stated() -> None:
    verdict = judged(night=a_night(stated={"in_flight": 3, "expired": 9}))
    assert verdict.health is Health.OK
    assert verdict.reason.endswith(
        "; 12 differ for a reason, see the evidence"
    )
    assert verdict.evidence["in_flight_records"] == 3
    assert verdict.evidence["expired_records"] == 9


def test_findings_are_named_with_kind_count_and_place() -> None:
    verdict = judged(
        with_findings(a_finding(), a_finding(count=2, partition=1))
    )
    assert verdict.health is Health.CRITICAL
    assert verdict.reason == (
        "17 records of events partition 3 (source offsets 42 to 57, 99) are "
        "missing at the target; with them 2 more elsewhere, by the audit up "
        "to 2026-01-02 02:00 UTC"
    )
    assert verdict.evidence["dropped_records"] == 19
    assert verdict.evidence["finding_2"] == (
        "2 dropped: events partition 1 (source offsets 42 to 57, 99)"
    )


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("dropped", "are missing at the target"),
        ("corrupted", "are not the same at the target"),
        ("extra", "are at the target and not at the source"),
        ("duplicated", "are at the target more than once"),
    ],
)
def test_every_kind_is_critical(kind: FindingKind, words: str) -> None:
    verdict = judged(with_findings(a_finding(kind, 1)))
    assert verdict.health is Health.CRITICAL
    assert words in verdict.reason


def test_what_is_lost_is_told_before_what_is_doubled() -> None:
    verdict = judged(
        with_findings(a_finding("dropped", 1), a_finding("duplicated", 99))
    )
    assert "missing" in verdict.reason
    assert "(and 1 more, see the evidence)" in verdict.reason
    assert "more than once" in str(verdict.evidence["also_1"])


def test_what_could_not_be_verified_is_a_warning_with_its_reason() -> None:
    night = a_night(gaps=(GAP, GAP), gaps_total=70)
    verdict = judged(night=night)
    assert verdict.health is Health.WARNING
    assert "events partition 1: expired" in verdict.reason
    assert "nor could 69 more ranges" in verdict.reason


def test_a_part_of_a_night_is_not_yet_ok() -> None:
    night = a_night(more=True)
    assert judged(night=night, overdue=None).health is Health.UNKNOWN
    assert judged(night=night).health is Health.WARNING


def test_a_night_that_was_missed_is_a_warning() -> None:
    missed = judged(overdue=DUE + 2 * HOUR)
    assert missed.health is Health.WARNING
    assert "since the one that was due at 2026-01-02 04:00" in missed.reason
    first = judged(night=None)
    assert first.health is Health.WARNING
    assert judged(overdue=DUE).health is Health.OK


def test_one_that_still_runs_after_its_grace_is_late() -> None:
    late = an_attempt("running", began=4 * HOUR)
    verdict = judged(attempt=late, overdue=late.due)
    assert verdict.health is Health.WARNING
    assert "is late: it has run for 4 h" in verdict.reason
    # Within the grace nothing is overdue but the audit that was in time.
    assert judged(attempt=late).health is Health.OK


def test_a_new_one_that_runs_does_not_excuse_one_that_was_missed() -> None:
    newer = an_attempt("running")
    verdict = judged(attempt=newer, overdue=newer.due - 5 * HOUR)
    assert "No audit of this flow has come to its end" in verdict.reason


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("failed", "failed: no broker answers"),
        ("timeout", "had not ended after 6 h (audit.timeout)"),
        ("stopped", "was stopped together with the agent"),
        ("abandoned", "was cut short when the agent was killed"),
    ],
)
def test_one_that_did_not_come_to_its_end_is_a_warning(
    outcome: Outcome, words: str
) -> None:
    attempt = an_attempt(outcome, error="no broker answers")
    verdict = judged(attempt=attempt)
    assert verdict.health is Health.WARNING
    assert words in verdict.reason
    assert verdict.evidence["attempt_output_2"] == "Error: no broker answers"
    assert judged(attempt=attempt, night=None).health is Health.WARNING


def test_a_later_failure_never_makes_findings_better() -> None:
    verdict = judged(
        with_findings(a_finding()), attempt=an_attempt("failed", error="x")
    )
    assert verdict.health is Health.CRITICAL
    assert "failed: x" in str(verdict.evidence["also_1"])


def test_a_failure_is_forgiven_once_another_came_to_its_end() -> None:
    attempt = an_attempt("failed", began=11 * HOUR)
    assert judged(attempt=attempt).health is Health.OK
    # One that kept a part of what it compared has not come to its end.
    partly = an_attempt("failed", began=9.6 * HOUR)
    assert judged(attempt=partly).health is Health.WARNING


def test_what_keeps_it_from_knowing_is_never_ok() -> None:
    assert judged(problems=("no right",)).health is Health.UNKNOWN
    assert judged(at=NOON - 4 * HOUR / 60).health is Health.OK
    stale = judged(at=NOON - 6 * HOUR / 60)
    assert stale.health is Health.UNKNOWN
    assert "last looked at 6 min ago" in stale.reason


maybe = st.none() | st.sampled_from([DUE, DUE + HOUR, NOON])


@given(
    night=st.sampled_from(
        [
            None,
            a_night(),
            with_findings(a_finding()).night,
            a_night(gaps=(GAP,), gaps_total=1),
            a_night(more=True),
        ]
    ),
    attempt=st.none()
    | st.builds(
        an_attempt,
        st.sampled_from(
            ["running", "finished", "failed", "timeout", "abandoned"]
        ),
        began=st.integers(1, 20).map(lambda hours: hours * HOUR),
    ),
    overdue=maybe,
    problems=st.sampled_from([(), ("blind",)]),
    at=st.sampled_from([NOON, NOON - HOUR]),
)
def test_ok_means_that_the_last_audit_due_was_clean(
    night: Any,
    attempt: Attempt | None,
    overdue: datetime | None,
    problems: tuple[str, ...],
    at: datetime,
) -> None:
    verdict = judged(
        night=night, attempt=attempt, overdue=overdue, problems=problems, at=at
    )
    if night is not None and night.findings:
        assert verdict.health is Health.CRITICAL
    if verdict.health is Health.OK:
        assert night is not None
        assert (night.findings, night.gaps, night.more) == ((), (), False)
        assert not problems
        assert overdue is None or night.began_at >= overdue
        assert at == NOON
        assert (
            attempt is None
            or attempt.outcome in {"running", "finished"}
            or (attempt.ended_at or NOON) <= night.ended_at
        )
