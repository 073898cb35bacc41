"""The verdict on lag: what makes it, and what leaves it silent."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from mirrorwatch.domain.lag.check import LagLimits, judge_lag
from mirrorwatch.domain.lag.model import (
    Headroom,
    LagObservation,
    LagStatus,
    StalledPartition,
)
from mirrorwatch.domain.lag.retention import RetentionLimits, judge_retention
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.domain.skips.model import SkipsObservation, SuspectedDrop
from tests.support.reports import BEHIND, NOW, QUIET, SEEN, with_late


def lag(seen: LagObservation | None) -> Verdict:
    return judge_lag("f", seen, LagLimits(), NOW)


def test_lag_that_was_never_seen_is_unknown() -> None:
    assert lag(None).health is Health.UNKNOWN


def test_a_mirror_that_goes_on_is_ok_whatever_waits() -> None:
    assert lag(SEEN).health is Health.OK
    assert "40 records" in lag(SEEN).reason
    assert lag(SEEN).reason.endswith("; replication is running")
    assert lag(SEEN).evidence["worst_topic"] == "late"


def test_a_mirror_that_may_stand_is_not_said_to_go_on() -> None:
    verdict = lag(
        with_late(status=LagStatus.STOPPED, stuck=timedelta(seconds=80))
    )
    assert verdict.health is Health.OK
    assert "is running" not in verdict.reason
    assert "no progress for 80 s" in verdict.reason
    assert verdict.reason.endswith("up to 2 min")


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (
            LagStatus.STOPPED,
            "Replication of f has stopped: lag 40 records on 1 topic",
        ),
        (
            LagStatus.STALLED,
            "Replication of late has stopped while other topics continue",
        ),
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
    assert "late[3] stuck at offset 17 (sync) for 2 min" in verdict.reason


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
    assert "late is falling behind" in verdict.reason


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
        "Lag of 1 partition is unknown: no leader, or MirrorMaker's "
        "position is beyond the log end offset"
    )


def test_a_partition_that_has_not_begun_hides_no_other_that_stands() -> None:
    def stands(partition: int, status: LagStatus, minutes: int) -> Any:
        return StalledPartition(
            partition=partition,
            position=17,
            origin="sync",
            status=status,
            stuck=timedelta(minutes=minutes),
        )

    new = stands(1, LagStatus.NOT_BEGUN, 9)
    beside = with_late(
        status=LagStatus.NOT_BEGUN,
        partition=1,
        stuck=new.stuck,
        standing=(new, stands(0, LagStatus.STOPPED, 3)),
    )
    verdict = lag(beside)
    assert verdict.health is Health.CRITICAL
    assert "late[0] stuck at offset 17 (sync) for 3 min" in verdict.reason
    moves = stands(0, LagStatus.FALLING_BEHIND, 3)
    (late,) = (t for t in beside.topics if t.standing)
    for standing in ((new,), (new, moves)):
        topic = replace(late, standing=standing)
        assert lag(replace(beside, topics=(topic,))).health is Health.OK


def test_the_reason_names_the_longest_of_those_that_stand() -> None:
    stuck = replace(
        BEHIND, status=LagStatus.STOPPED, stuck=timedelta(minutes=5)
    )
    longer = replace(stuck, topic="later", stuck=timedelta(minutes=7))
    verdict = lag(replace(SEEN, topics=(stuck, longer)))
    assert "lag 80 records on 2 topics" in verdict.reason
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


def test_a_tail_that_a_filter_drops_is_neither_stalled_nor_suspected() -> None:
    (drop,) = DROPPED.suspicions
    known = replace(DROPPED, suspicions=(replace(drop, filtered=True),))
    assert lag_beside(TAIL_LEFT, known).health is Health.OK


def lag_beside(seen: LagObservation, skips: SkipsObservation) -> Verdict:
    return judge_lag("f", seen, LagLimits(), NOW, skips=skips)


def test_a_tail_that_seems_dropped_is_suspected_and_not_called_stalled() -> (
    None
):
    verdict = lag_beside(TAIL_LEFT, DROPPED)
    assert verdict.health is Health.WARNING
    assert verdict.reason == (
        "10 records of late[3] from offset 17 on are not copied, while the "
        "same task copies newer records of other partitions: suspected to be "
        "dropped, not lag. See skips"
    )
    two = (DROPPED.suspicions[0], replace(DROPPED.suspicions[0], partition=4))
    standing = (TAIL, replace(TAIL, partition=4))
    both = replace(
        DROPPED,
        suspicions=two,
        left_behind=frozenset({("late", 3), ("late", 4)}),
    )
    seen = with_late(status=LagStatus.STALLED, stuck=HOURS, standing=standing)
    assert "same for 1 more partition" in (lag_beside(seen, both).reason)


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
    assert "late[5] stuck at offset 99 (sync) for 90 min" in verdict.reason
    assert "suspected to be dropped" in str(verdict.evidence["also_1"])
    assert verdict.evidence["worst_partition"] == 5


def retention(seen: LagObservation | None) -> Verdict:
    return judge_retention("f", seen, RetentionLimits(), NOW)


def with_headroom(
    hours: float, share: float, drain_hours: float | None = 0.1
) -> LagObservation:
    drain = None if drain_hours is None else timedelta(hours=drain_hours)
    left = Headroom(remaining=timedelta(hours=hours), share=share)
    return with_late(headroom=left, drain=drain)


def test_headroom_that_was_never_seen_is_unknown() -> None:
    assert retention(None).health is Health.UNKNOWN


def test_headroom_of_an_old_survey_is_unknown() -> None:
    old = replace(SEEN, at=NOW - timedelta(seconds=121))
    assert retention(old).health is Health.UNKNOWN
    assert retention(old).reason == "Topics were last listed 2 min ago"


@pytest.mark.parametrize(
    ("hours", "share", "drain_hours", "health"),
    [
        (72, 1.0, None, Health.OK),
        # Three quarters of a short retention left: nothing is wrong.
        (0.9, 0.9, None, Health.OK),
        (23, 0.7, 0.1, Health.WARNING),
        (25, 0.7, 0.1, Health.OK),
        (5, 0.4, 0.1, Health.CRITICAL),
        (7, 0.4, 0.1, Health.WARNING),
        # Will it drain before it loses?
        (30, 0.4, 0.1, Health.OK),
        (30, 0.4, 31, Health.CRITICAL),
        (30, 0.4, None, Health.CRITICAL),
        (30, 0.6, None, Health.OK),
    ],
)
def test_headroom_is_judged_by_time_share_and_drain(
    hours: float, share: float, drain_hours: float | None, health: Health
) -> None:
    verdict = retention(with_headroom(hours, share, drain_hours))
    assert verdict.health is health


def test_a_topic_of_which_nothing_waits_loses_nothing() -> None:
    short = Headroom(remaining=timedelta(minutes=1), share=0.1)
    seen = replace(SEEN, topics=(replace(QUIET, headroom=short),))
    assert retention(seen).health is Health.OK
    assert retention(seen).evidence["time_to_loss_seconds"] == 60


def test_a_retention_that_is_not_known_is_not_called_long() -> None:
    verdict = retention(replace(SEEN, configs_known=False))
    assert verdict.health is Health.UNKNOWN


def test_without_configs_nobody_waits_for_a_retention() -> None:
    seen = replace(SEEN, configs_known=False)
    verdict = judge_retention("f", seen, RetentionLimits(enabled=False), NOW)
    assert verdict.health is Health.OFF
    assert "limits.configs.enabled is false" in verdict.reason


def test_a_retention_that_could_not_be_read_is_named() -> None:
    verdict = retention(replace(SEEN, configs_refused=("a", "b", "c")))
    assert verdict.health is Health.UNKNOWN
    assert verdict.reason == (
        "Retention of a (and 2 more) at the source is not known: mirrorwatch "
        "could not read its topic configs"
    )
    none = replace(SEEN, configs_refused=("a",), configs_known=False)
    assert retention(none).reason.startswith("Retention of a at the source")


def test_what_cannot_be_counted_may_be_lost_sooner_than_is_known() -> None:
    assert retention(SEEN).health is Health.OK
    verdict = retention(replace(SEEN, unknown_partitions=2))
    assert verdict.health is Health.UNKNOWN
    assert verdict.reason.startswith("Time to loss of 2 partitions is unknown")


def test_a_source_that_keeps_everything_loses_nothing() -> None:
    seen = replace(SEEN, topics=(replace(BEHIND, headroom=None),))
    assert retention(seen).health is Health.OK
    assert retention(seen).reason == "No source topic deletes records"
    # Nor does a partition of which nothing is known.
    seen = replace(seen, unknown_partitions=1)
    assert retention(seen).health is Health.OK


def test_one_record_that_waits_is_told_as_one() -> None:
    left = Headroom(remaining=timedelta(hours=23), share=0.7)
    seen = with_late(records=1, headroom=left, drain=timedelta(minutes=6))
    assert retention(seen).reason == (
        "late loses records in 23 h: lag 1 record; lag drains in 6 min at "
        "the current rate"
    )
