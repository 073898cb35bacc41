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
from tests.support.findings import find
from tests.support.reports import BEHIND, NOW, QUIET, SEEN, with_late


def lag(seen: LagObservation | None) -> Verdict:
    return judge_lag("f", seen, LagLimits(), NOW)


LIMIT = SEEN.flush * 2
OVER = timedelta(seconds=1)
NEW = SEEN.refresh * 2
STANDS = {"topic": "late", "partition": 3, "records": 40, "position": 17}


@pytest.mark.parametrize(
    ("seen", "health", "code", "facts"),
    [
        (None, Health.UNKNOWN, "no-data", {}),
        (SEEN, Health.OK, "ok", {"records": 40, "topics": 2}),
        (
            with_late(status=LagStatus.STOPPED, stuck=LIMIT),
            Health.OK,
            "ok",
            {"records": 40},
        ),
        (
            with_late(status=LagStatus.STOPPED, stuck=LIMIT + OVER),
            Health.CRITICAL,
            "stopped",
            {**STANDS, "topics": 1, "seconds": 121},
        ),
        (
            with_late(status=LagStatus.STALLED, stuck=LIMIT),
            Health.OK,
            "ok",
            {},
        ),
        (
            with_late(status=LagStatus.STALLED, stuck=LIMIT + OVER),
            Health.CRITICAL,
            "stalled",
            {**STANDS, "seconds": 121},
        ),
        (
            with_late(status=LagStatus.NOT_BEGUN, stuck=NEW),
            Health.OK,
            "ok",
            {},
        ),
        (
            with_late(status=LagStatus.NOT_BEGUN, stuck=NEW + OVER),
            Health.CRITICAL,
            "never-copied",
            {"topic": "late", "records": 40, "seconds": 50},
        ),
        (
            with_late(status=LagStatus.FALLING_BEHIND),
            Health.WARNING,
            "falling-behind",
            {"topic": "late", "records": 40, "seconds": 50},
        ),
        (
            with_late(status=LagStatus.FALLING_BEHIND, at_least=True),
            Health.WARNING,
            "falling-behind",
            {"seconds": None, "seconds_at_least": 50},
        ),
        (
            replace(SEEN, problems=("summit does not answer",)),
            Health.UNKNOWN,
            "unreadable",
            {},
        ),
        (
            replace(SEEN, problems=("u is hidden",), hidden="u is hidden"),
            Health.UNKNOWN,
            "hidden-topics",
            {},
        ),
        (
            replace(SEEN, unknown_partitions=2),
            Health.UNKNOWN,
            "unknown-partitions",
            {"partitions": 2},
        ),
        (
            replace(SEEN, at=NOW - timedelta(minutes=3)),
            Health.UNKNOWN,
            "stale",
            {"seconds": 180},
        ),
    ],
)
def test_each_finding_of_lag_fires_and_stays_silent(
    seen: LagObservation | None,
    health: Health,
    code: str,
    facts: dict[str, str | float],
) -> None:
    verdict = lag(seen)
    assert (verdict.health, verdict.code) == (health, f"lag.{code}")
    find(verdict, f"lag.{code}", **facts)


def test_a_slower_mirror_is_given_more_time() -> None:
    stuck = with_late(status=LagStatus.STOPPED, stuck=timedelta(minutes=9))
    slow = replace(stuck, flush=timedelta(minutes=5))
    assert lag(stuck).health is Health.CRITICAL
    assert lag(slow).health is Health.OK


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
    find(verdict, "lag.stopped", topic="late", partition=0, seconds=180)
    moves = stands(0, LagStatus.FALLING_BEHIND, 3)
    (late,) = (t for t in beside.topics if t.standing)
    for standing in ((new,), (new, moves)):
        topic = replace(late, standing=standing)
        assert lag(replace(beside, topics=(topic,))).health is Health.OK


def test_the_finding_names_the_longest_of_those_that_stand() -> None:
    stuck = replace(
        BEHIND, status=LagStatus.STOPPED, stuck=timedelta(minutes=5)
    )
    longer = replace(stuck, topic="later", stuck=timedelta(minutes=7))
    verdict = lag(replace(SEEN, topics=(stuck, longer)))
    find(
        verdict,
        "lag.stopped",
        topic="later",
        partition=3,
        records=80,
        topics=2,
        seconds=420,
    )


def test_a_new_topic_is_given_two_refreshes() -> None:
    # Older and more, but the mirror may take as long to find it.
    new = replace(
        BEHIND,
        topic="new",
        status=LagStatus.NOT_BEGUN,
        records=9000,
        seconds=600,
        stuck=timedelta(minutes=10),
    )
    assert lag(replace(SEEN, topics=(new, QUIET, BEHIND))).code == "lag.ok"
    new = replace(new, stuck=timedelta(minutes=30))
    found = lag(replace(SEEN, topics=(new, QUIET, BEHIND)))
    find(found, "lag.never-copied", topic="new", records=9000)


def retention(seen: LagObservation | None) -> Verdict:
    return judge_retention("f", seen, RetentionLimits(), NOW)


def with_headroom(
    hours: float, share: float, drain_hours: float | None = 0.1
) -> LagObservation:
    drain = None if drain_hours is None else timedelta(hours=drain_hours)
    left = Headroom(remaining=timedelta(hours=hours), share=share)
    return with_late(headroom=left, drain=drain)


@pytest.mark.parametrize(
    ("seen", "code", "facts"),
    [
        (None, "no-data", {}),
        (replace(SEEN, configs_known=False), "no-data", {}),
        (
            replace(SEEN, at=NOW - timedelta(seconds=121)),
            "stale",
            {"seconds": 121},
        ),
        (
            replace(SEEN, problems=("summit does not answer",)),
            "unreadable",
            {},
        ),
        (
            replace(SEEN, configs_refused=("a", "b", "c")),
            "configs-unreadable",
            {"topic": "a", "topics": 3},
        ),
        (
            replace(SEEN, configs_refused=("a",), configs_known=False),
            "configs-unreadable",
            {"topic": "a", "topics": 1},
        ),
        # What cannot be counted may be lost sooner than is known.
        (
            replace(SEEN, unknown_partitions=2),
            "unknown-partitions",
            {"partitions": 2},
        ),
    ],
)
def test_what_is_not_known_of_retention(
    seen: LagObservation | None, code: str, facts: dict[str, str | float]
) -> None:
    assert retention(SEEN).code == "retention.ok"
    verdict = retention(seen)
    assert verdict.health is Health.UNKNOWN
    assert verdict.code == f"retention.{code}"
    find(verdict, f"retention.{code}", **facts)


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
    if health is Health.OK:
        assert verdict.code == "retention.ok"
        return
    find(
        verdict,
        "retention.expiring",
        topic="late",
        records=40,
        seconds=3600 * hours,
        share=share,
        drain_seconds=drain_hours and 3600 * drain_hours,
    )


def test_a_topic_of_which_nothing_waits_loses_nothing() -> None:
    short = Headroom(remaining=timedelta(minutes=1), share=0.1)
    seen = replace(SEEN, topics=(replace(QUIET, headroom=short),))
    assert retention(seen).health is Health.OK
    find(retention(seen), "retention.ok", topic="quiet", seconds=60)
    # Nor does one whose time is not known yet, where another's is.
    idle = replace(QUIET, topic="new", headroom=None, unmeasured=True)
    seen = replace(seen, topics=(*seen.topics, idle))
    assert retention(seen).code == "retention.ok"
    waiting = replace(seen, topics=(*seen.topics, replace(idle, records=1)))
    assert retention(waiting).code == "retention.unmeasured"


def test_without_configs_nobody_waits_for_a_retention() -> None:
    seen = replace(SEEN, configs_known=False)
    verdict = judge_retention("f", seen, RetentionLimits(enabled=False), NOW)
    assert verdict.health is Health.OFF
    assert verdict.code == "retention.off"


def test_a_source_that_keeps_everything_loses_nothing() -> None:
    seen = replace(SEEN, topics=(replace(BEHIND, headroom=None),))
    assert retention(seen).health is Health.OK
    assert retention(seen).code == "retention.ok"
    assert not retention(seen).findings[0].subject
    # Nor does a partition of which nothing is known.
    seen = replace(seen, unknown_partitions=1)
    assert retention(seen).health is Health.OK
