"""The verdict on what an audit found, and on what it could not."""

import pytest

from mirrorwatch.domain.audit.check import AuditLimits, judge_audit
from mirrorwatch.domain.audit.result import FindingKind
from mirrorwatch.domain.report import Health
from tests.support.audit_days import GAP, a_finding, judged, with_findings
from tests.support.audit_report import a_night
from tests.support.builders import FLOW, NOON


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
        "Of 1,000 records of 2 topics none is missing, doubled or altered, by "
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
    verdict = judged(with_findings(a_finding(kind, 2)))
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
