"""The verdict on lag: what makes it, and what leaves it silent."""

from dataclasses import replace
from datetime import timedelta

import pytest

from mirrorwatch.domain.lag.check import LagLimits, judge_lag
from mirrorwatch.domain.lag.model import LagObservation, LagStatus
from mirrorwatch.domain.report import Health, Verdict
from tests.support.lag_report import BEHIND, NOW, QUIET, SEEN, with_late


def lag(seen: LagObservation | None) -> Verdict:
    return judge_lag("f", seen, LagLimits(), NOW)


def test_lag_that_was_never_seen_is_unknown() -> None:
    assert lag(None).health is Health.UNKNOWN


def test_a_mirror_that_goes_on_is_ok_whatever_waits() -> None:
    assert lag(SEEN).health is Health.OK
    assert "40 records" in lag(SEEN).reason
    assert lag(SEEN).reason.endswith("and the mirror goes on")
    assert lag(SEEN).evidence["worst_topic"] == "late"


def test_a_mirror_that_may_stand_is_not_said_to_go_on() -> None:
    verdict = lag(
        with_late(status=LagStatus.STOPPED, stuck=timedelta(seconds=80))
    )
    assert verdict.health is Health.OK
    assert "goes on" not in verdict.reason
    assert "nothing was seen to be copied for 80 s" in verdict.reason
    assert verdict.reason.endswith("up to 2 min")


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (LagStatus.STOPPED, "Nothing of f is copied: 40 records of 1 topic"),
        (LagStatus.STALLED, "late is not copied while other topics are"),
    ],
)
def test_a_position_that_stands_too_long_is_critical(
    status: LagStatus, says: str
) -> None:
    limit = SEEN.flush * 2
    just = with_late(status=status, stuck=limit)
    assert lag(just).health is Health.OK
    late = with_late(status=status, stuck=limit + timedelta(seconds=1))
    verdict = lag(late)
    assert verdict.health is Health.CRITICAL
    assert verdict.reason.startswith(says)
    assert "late[3] stands at offset 17 (sync) for 2 min" in verdict.reason


def test_a_slower_mirror_is_given_more_time() -> None:
    stuck = with_late(status=LagStatus.STOPPED, stuck=timedelta(minutes=9))
    slow = replace(stuck, flush=timedelta(minutes=5))
    assert lag(stuck).health is Health.CRITICAL
    assert lag(slow).health is Health.OK


def test_a_new_topic_is_given_two_refreshes() -> None:
    limit = SEEN.refresh * 2
    young = with_late(status=LagStatus.NOT_BEGUN, stuck=limit)
    assert lag(young).health is Health.OK
    old = with_late(
        status=LagStatus.NOT_BEGUN, stuck=limit + timedelta(seconds=1)
    )
    assert lag(old).health is Health.CRITICAL
    assert "late was never copied" in lag(old).reason


def test_falling_behind_is_a_warning() -> None:
    verdict = lag(with_late(status=LagStatus.FALLING_BEHIND))
    assert verdict.health is Health.WARNING
    assert "late falls behind" in verdict.reason


def test_an_age_that_is_a_lower_bound_is_said_to_be_one() -> None:
    verdict = lag(with_late(status=LagStatus.FALLING_BEHIND, at_least=True))
    assert "at least 50 s" in verdict.reason


@pytest.mark.parametrize(
    "seen",
    [
        replace(SEEN, problems=("summit does not answer",)),
        replace(SEEN, unknown_partitions=2),
        replace(SEEN, at=NOW - timedelta(minutes=3)),
    ],
)
def test_lag_that_cannot_be_said_is_unknown(seen: LagObservation) -> None:
    assert lag(seen).health is Health.UNKNOWN


def test_one_partition_without_a_lag_is_told_as_one() -> None:
    assert lag(replace(SEEN, unknown_partitions=1)).reason == (
        "The lag of 1 partition cannot be said: it has no leader, or the "
        "mirror's position lies beyond its end"
    )


def test_the_reason_names_the_longest_of_those_that_stand() -> None:
    stuck = replace(
        BEHIND, status=LagStatus.STOPPED, stuck=timedelta(minutes=5)
    )
    longer = replace(stuck, topic="later", stuck=timedelta(minutes=7))
    verdict = lag(replace(SEEN, topics=(stuck, longer)))
    assert "80 records of 2 topics" in verdict.reason
    assert "later[3]" in verdict.reason


def test_the_evidence_is_about_what_the_verdict_says() -> None:
    stuck = replace(
        BEHIND, status=LagStatus.STALLED, stuck=timedelta(minutes=3)
    )
    # Older and more, but the mirror may take as long to find it.
    new = replace(
        BEHIND,
        topic="new",
        status=LagStatus.NOT_BEGUN,
        records=9000,
        seconds=600,
        stuck=timedelta(minutes=10),
    )
    for other in (stuck, BEHIND):
        found = lag(replace(SEEN, topics=(new, QUIET, other)))
        assert found.evidence["worst_topic"] == "late"
    new = replace(new, stuck=timedelta(minutes=30))
    found = lag(replace(SEEN, topics=(new, QUIET, BEHIND)))
    assert found.reason.startswith("new was never copied")
    assert found.evidence["worst_topic"] == "new"
