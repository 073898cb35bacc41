"""A tail that seems dropped is not called a stalled one, and hides none."""

from dataclasses import replace
from datetime import timedelta

from mirrorwatch.domain.lag.check import LagLimits, judge_lag
from mirrorwatch.domain.lag.model import (
    LagObservation,
    LagStatus,
    StalledPartition,
)
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.domain.skips.model import SkipsObservation, SuspectedDrop
from tests.support.lag_report import NOW, with_late

HOURS = timedelta(hours=3)
TAIL = StalledPartition(
    partition=3,
    position=17,
    origin="sync",
    status=LagStatus.STALLED,
    stuck=HOURS,
)
TAIL_LEFT = with_late(status=LagStatus.STALLED, stuck=HOURS, standing=(TAIL,))
DROPPED = SkipsObservation(
    flow="f",
    at=NOW,
    partitions=9,
    suspicions=(
        SuspectedDrop(
            topic="late",
            partition=3,
            first=17,
            end=27,
            count=10,
            since=NOW - HOURS,
        ),
    ),
    left_behind=frozenset({("late", 3)}),
)


def lag_beside(seen: LagObservation, skips: SkipsObservation) -> Verdict:
    return judge_lag("f", seen, LagLimits(), NOW, skips=skips)


def test_a_tail_that_seems_dropped_is_suspected_and_not_called_stalled() -> (
    None
):
    verdict = lag_beside(TAIL_LEFT, DROPPED)
    assert verdict.health is Health.WARNING
    assert verdict.reason == (
        "10 records of late[3] from offset 17 on wait while their task "
        "copies newer ones of other partitions: suspected to be dropped, not "
        "late; see skips"
    )
    two = (DROPPED.suspicions[0], replace(DROPPED.suspicions[0], partition=4))
    standing = (TAIL, replace(TAIL, partition=4))
    both = replace(
        DROPPED,
        suspicions=two,
        left_behind=frozenset({("late", 3), ("late", 4)}),
    )
    seen = with_late(status=LagStatus.STALLED, stuck=HOURS, standing=standing)
    assert "so are those of 1 more partition" in (
        lag_beside(seen, both).reason
    )


def test_a_tail_that_will_soon_be_suspected_is_not_called_stalled() -> None:
    soon = replace(DROPPED, suspicions=())
    assert lag_beside(TAIL_LEFT, soon).health is Health.OK


def test_a_tail_is_not_suspected_before_a_stalled_one_would_be_told() -> None:
    young = replace(TAIL, stuck=timedelta(minutes=2))
    seen = with_late(
        status=LagStatus.STALLED, stuck=young.stuck, standing=(young,)
    )
    assert lag_beside(seen, DROPPED).health is Health.OK


def test_what_nobody_suspects_is_stalled() -> None:
    calm = replace(DROPPED, suspicions=(), left_behind=frozenset())
    assert lag_beside(TAIL_LEFT, calm).health is Health.CRITICAL
    other = replace(calm, left_behind=frozenset({("late", 4)}))
    assert lag_beside(TAIL_LEFT, other).health is Health.CRITICAL


def test_suspicions_of_long_ago_excuse_nothing() -> None:
    stale = replace(DROPPED, at=NOW - timedelta(minutes=3))
    assert lag_beside(TAIL_LEFT, stale).health is Health.CRITICAL


def test_a_dropped_tail_hides_no_other_partition_that_stands() -> None:
    real = replace(TAIL, partition=5, position=99, stuck=HOURS / 2)
    seen = with_late(
        status=LagStatus.STALLED, stuck=HOURS, standing=(TAIL, real)
    )
    verdict = lag_beside(seen, DROPPED)
    assert verdict.health is Health.CRITICAL
    assert "late[5] stands at offset 99 (sync) for 90 min" in verdict.reason
    assert "suspected to be dropped" in str(verdict.evidence["also_1"])
    assert verdict.evidence["worst_partition"] == 5
