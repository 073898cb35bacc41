"""Which offsets a window of time is compared by."""

from dataclasses import replace
from datetime import timedelta

import pytest

from mirrorwatch.domain.audit.facts import LaneFacts, Retention, run_batched
from mirrorwatch.domain.audit.plan import AuditSpan, TimeWindow
from mirrorwatch.domain.audit.ranges import PlanningOutcome
from mirrorwatch.domain.audit.window import AdHoc, plan_window
from tests.support.audit_world import SLACK, World, lane_of
from tests.support.builders import NOON

HOUR = timedelta(hours=1)
WINDOW = TimeWindow(NOON + 10 * HOUR, NOON + 12 * HOUR)


def a_world(**settings: object) -> World:
    """Return a world with a record each hour for two days."""
    world = World(**settings)  # type: ignore[arg-type]
    for _ in range(48):
        world.write(1, early=timedelta(seconds=1))
        world.copy(1)
        world.now += HOUR - timedelta(seconds=1)
    world.commit()
    return world


def plan(world: World, facts: LaneFacts | None = None) -> PlanningOutcome:
    adhoc = AdHoc(now=world.now, window=WINDOW, slack=SLACK)
    lane = facts or world.freeze()
    return run_batched([plan_window(lane, adhoc)], world.answer)[0]


def test_a_window_begins_exactly_and_ends_a_slack_later() -> None:
    outcome = plan(a_world())
    lane = lane_of(outcome)
    assert lane.sources[0].span == lane.span == AuditSpan(10, 18)
    assert (lane.cut, outcome.unverifiable) == ("window", ())


def test_a_window_that_is_not_over_ends_with_the_log() -> None:
    world = World()
    world.write(5)
    world.copy(5)
    world.now += 20 * HOUR
    lane = lane_of(plan(world))
    assert lane.sources[0].span == lane.span == AuditSpan(5, 5)


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_window_of_which_something_may_be_gone_is_unverifiable(
    side: str,
) -> None:
    world = a_world()
    setattr(world, f"{side}_start", 11)
    outcome = plan(world)
    assert outcome.lane is None
    assert f"expired at the {side}" in outcome.unverifiable[0].reason
    # The record before the window is still there: nothing of it is gone.
    setattr(world, f"{side}_start", 10)
    assert plan(world).lane is not None


def test_an_idle_topic_is_judged_where_nothing_expires_so_early() -> None:
    world = a_world()
    world.source_start = world.target_start = 48
    facts = world.freeze()
    assert plan(world, facts).lane is None
    week = Retention.of(7 * 86_400_000, -1)
    (feed,) = facts.feeds
    assert facts.goal is not None
    kept = replace(
        facts,
        feeds=(replace(feed, log=replace(feed.log, retention=week)),),
        goal=replace(facts.goal, retention=week),
    )
    assert len(lane_of(plan(world, kept)).span) == 0


def test_without_timestamps_a_window_lies_between_syncs() -> None:
    lane = lane_of(plan(a_world(timestamps=False)))
    assert lane.sources[0].span == lane.span == AuditSpan(9, 18)
    lane = lane_of(plan(a_world(timestamps=False, syncs_every=None)))
    assert lane.sources[0].span == lane.span == AuditSpan(0, 48)
    world = a_world(timestamps=False, syncs_every=None)
    world.write(1)
    outcome = plan(world)
    assert outcome.lane is None
    assert "timestamps of its own" in outcome.unverifiable[0].reason


def test_without_a_target_only_what_was_read_is_compared() -> None:
    world = a_world()
    facts = replace(world.freeze(), goal=None)
    lane = lane_of(plan(world, facts))
    assert (lane.sources[0].span, lane.span) == (
        AuditSpan(10, 18),
        AuditSpan(0, 0),
    )
    world.committed, world.syncs = None, []
    outcome = plan(world, replace(world.freeze(), goal=None))
    assert outcome.lane is None
    assert [gap.records for gap in outcome.unverifiable] == [8]
