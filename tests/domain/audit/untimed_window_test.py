"""What a window compares where the target puts its own times on records."""

from dataclasses import replace

import pytest

from mirrorwatch.domain.audit.plan import AuditSpan
from tests.domain.audit.adhoc_test import a_world, plan
from tests.support.audit_world import World, lane_of


def a_world_with_one_sync() -> World:
    """Return one whose only pair lies behind the window."""
    world = a_world(timestamps=False, syncs_every=None)
    world.syncs = [(30, 30)]
    return world


def test_a_whole_log_begins_at_its_start() -> None:
    lane = lane_of(plan(a_world_with_one_sync()))
    assert lane.sources[0].span == lane.span == AuditSpan(0, 30)


@pytest.mark.parametrize("starts_at_end", [True, None])
def test_one_whose_mirror_may_have_begun_later_does_not(
    *, starts_at_end: bool | None
) -> None:
    world = a_world_with_one_sync()
    world.starts_at_end = starts_at_end
    outcome = plan(world)
    assert outcome.lane is None
    assert "no syncs are known" in outcome.unverifiable[0].reason


def test_one_that_is_not_whole_does_not() -> None:
    world = a_world_with_one_sync()
    world.source_start = 5
    outcome = plan(world)
    assert outcome.lane is None
    assert "no syncs are known" in outcome.unverifiable[0].reason


def test_syncs_of_one_of_several_sources_are_none() -> None:
    facts = a_world(timestamps=False).freeze()
    outcome = plan(a_world(), replace(facts, feeds=facts.feeds * 2))
    assert outcome.lane is None
    assert len(outcome.unverifiable) == 2
