"""The verdict on audits that were missed, are late, or failed."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.audit.flow_result import Attempt, Outcome
from mirrorwatch.domain.report import Health
from tests.support.audit_days import (
    DUE,
    GAP,
    HOUR,
    a_finding,
    an_attempt,
    judged,
    with_findings,
)
from tests.support.audit_report import a_night
from tests.support.builders import NOON


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
