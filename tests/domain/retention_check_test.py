"""The verdict on headroom: what makes it, and what leaves it silent."""

from dataclasses import replace
from datetime import timedelta

import pytest

from mirrorwatch.domain.lag.model import Headroom, LagObservation
from mirrorwatch.domain.lag.retention import RetentionLimits, judge_retention
from mirrorwatch.domain.report import Health, Verdict
from tests.support.lag_report import BEHIND, NOW, QUIET, SEEN, with_late


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


def test_a_source_that_keeps_everything_loses_nothing() -> None:
    seen = replace(SEEN, topics=(replace(BEHIND, headroom=None),))
    assert retention(seen).health is Health.OK
    assert retention(seen).reason == "The source deletes no record"


def test_one_record_that_waits_is_told_as_one() -> None:
    left = Headroom(remaining=timedelta(hours=23), share=0.7)
    seen = with_late(records=1, headroom=left, drain=timedelta(minutes=6))
    assert retention(seen).reason == (
        "late loses records in 23 h: 1 record waits; as fast as now, the lag "
        "is gone in 6 min"
    )
