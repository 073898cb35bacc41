"""Checkpoints: due, emitted, and stale."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from mirrorwatch.domain.checkpoints import (
    CheckpointsObservation,
    CheckpointTracker,
    GroupOffsets,
    StaleCheckpoint,
    judge_checkpoints,
)
from mirrorwatch.domain.report import Health, Verdict
from tests.support.builders import FLOW, NOON
from tests.support.findings import find

PLACE = ("g", "t", 0)
PATIENCE = timedelta(minutes=4)


def look(
    watch: CheckpointTracker,
    minute: float,
    committed: int,
    checkpoint: int,
    sync: int,
) -> tuple[StaleCheckpoint, ...]:
    reading = GroupOffsets(
        place=PLACE, committed=committed, checkpoint=checkpoint, sync=sync
    )
    now = NOON + timedelta(minutes=minute)
    return watch.look([reading], PATIENCE, now)


def test_a_group_that_moves_and_is_not_followed_is_overdue() -> None:
    watch = CheckpointTracker()
    for minute in range(5):
        assert not look(watch, minute, 200 + minute, 100, 150)
    (found,) = look(watch, 5, 205, 100, 150)
    assert (found.committed, found.checkpoint) == (205, 100)
    assert found.since == NOON


def test_a_group_that_rests_is_not() -> None:
    watch = CheckpointTracker()
    assert not any(look(watch, m, 200, 100, 150) for m in range(60))


def test_a_group_between_two_syncs_needs_no_new_checkpoint() -> None:
    watch = CheckpointTracker()
    assert not any(look(watch, m, 100 + m, 100, 100) for m in range(60))


def test_a_group_behind_the_newest_sync_is_followed_less_closely() -> None:
    watch = CheckpointTracker()
    found = [look(watch, m, m * 100, 0, m * 100 + 50) for m in range(12)]
    # 50 behind: its checkpoint may be 400 behind it, which is so until the
    # fifth minute.
    assert not any(found[:10])
    assert all(found[10:])


def test_a_group_far_behind_may_keep_its_checkpoint_for_long() -> None:
    watch = CheckpointTracker()
    assert not any(
        look(watch, m, 1000 + m, 1000, 5000 + m) for m in range(500)
    )


def test_a_group_that_a_burst_left_behind_may_keep_its_checkpoint() -> None:
    """The task forgot the sync that the group had passed before its next
    round: 200 records a second came, and the group reads 10 of them.
    """
    watch = CheckpointTracker()
    assert not look(watch, 0, 17900, 17764, 17850)
    assert not any(
        look(watch, m, 17900 + 600 * m, 17764, 22427) for m in range(1, 5)
    )
    # A newer one is due once the group has caught up.
    assert not look(watch, 8, 22400, 17764, 22427)
    assert look(watch, 13, 22500, 17764, 22427)


def test_the_wait_begins_anew_with_each_checkpoint() -> None:
    watch = CheckpointTracker()
    assert not any(
        look(watch, m, 200 + m, 200 + m - m % 4 - 1, 200 + m)
        for m in range(60)
    )


def test_a_checkpoint_that_comes_takes_it_back() -> None:
    watch = CheckpointTracker()
    for minute in range(6):
        look(watch, minute, 200 + minute, 100, 150)
    assert not look(watch, 6, 206, 206, 150)
    assert not look(watch, 7, 207, 206, 150)


def judged(**more: Any) -> Verdict:
    seen = replace(CheckpointsObservation(flow=FLOW.name, at=NOON), **more)
    return judge_checkpoints(FLOW.name, seen, NOON)


OVERDUE = StaleCheckpoint(
    place=PLACE,
    committed=205,
    checkpoint=100,
    since=NOON - timedelta(minutes=9),
)


@pytest.mark.parametrize(
    ("seen", "health", "code", "facts"),
    [
        ({"groups": 3}, Health.OK, "ok", {"groups": 3}),
        (
            {"groups": 100, "unasked": 7, "denied": 2},
            Health.OK,
            "ok",
            {"groups": 100, "groups_not_checked": 7, "groups_denied": 2},
        ),
        (
            {"groups": 3, "overdue": (OVERDUE,)},
            Health.WARNING,
            "overdue",
            {
                "group": "g",
                "topic": "t",
                "partition": 0,
                "checkpoints": 1,
                "offset": 205,
                "checkpoint_offset": 100,
                "seconds": 540,
            },
        ),
        (
            {"missing_since": NOON - timedelta(minutes=3)},
            Health.WARNING,
            "topic-missing",
            {"seconds": 180},
        ),
        ({}, Health.OFF, "off", {}),
        ({"absent": "no connector"}, Health.OFF, "off", {}),
        ({"problems": ("refused",)}, Health.UNKNOWN, "unreadable", {}),
        (
            {"groups": 3, "at": NOON - timedelta(minutes=4)},
            Health.OK,
            "ok",
            {},
        ),
        (
            {"groups": 3, "at": NOON - timedelta(minutes=6)},
            Health.UNKNOWN,
            "stale",
            {"seconds": 360},
        ),
    ],
)
def test_each_finding_fires_and_stays_silent(
    seen: dict[str, Any],
    health: Health,
    code: str,
    facts: dict[str, str | float],
) -> None:
    verdict = judged(**seen)
    assert (verdict.health, verdict.code) == (health, f"checkpoints.{code}")
    find(verdict, f"checkpoints.{code}", **facts)


def test_checkpoints_that_were_never_read_are_unknown() -> None:
    verdict = judge_checkpoints(FLOW.name, None, NOON)
    assert verdict.health is Health.UNKNOWN
    assert verdict.code == "checkpoints.no-data"
