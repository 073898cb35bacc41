"""From where on both sides can be compared, where logs are not whole."""

from dataclasses import replace
from datetime import timedelta

import pytest

from mirrorwatch.domain.audit.facts import LaneFacts, run_batched
from mirrorwatch.domain.audit.ranges import Pairing, align
from tests.support.audit_world import SLACK, World

STEP = timedelta(minutes=10)

SLACK_STEPS = SLACK // STEP


def a_long_world(*syncs: tuple[int, int]) -> World:
    """Return a hundred records, ten minutes apart, of which ten expired."""
    world = World(syncs_every=None)
    for _ in range(100):
        world.write(1)
        world.now += STEP - timedelta(seconds=1)
    world.copy(100)
    world.commit()
    world.syncs = list(syncs)
    world.source_start = world.target_start = 10
    return world


def aligned(
    world: World, *, floor: Pairing | None = None, **changes: object
) -> Pairing | None:
    lane: LaneFacts = world.freeze(write=1)
    lane = replace(lane, **changes)  # type: ignore[arg-type]
    assert lane.goal is not None
    talk = align(lane, lane.goal, SLACK, floor=floor)
    return run_batched([talk], world.answer)[0]


def at(offset: int) -> Pairing:
    return Pairing(sources=(offset,), target=offset)


def test_the_first_of_a_sync_and_a_time_counts() -> None:
    by_time = at(10 + SLACK_STEPS)
    assert aligned(a_long_world()) == by_time
    assert aligned(a_long_world((20, 20))) == at(20)
    assert aligned(a_long_world((60, 60))) == by_time


def test_nothing_is_compared_below_a_floor() -> None:
    assert aligned(a_long_world(), floor=at(70)) == at(70)
    world = a_long_world((60, 60), (80, 80))
    assert aligned(world, floor=at(70), timestamps=False) == at(80)


def test_a_target_that_was_never_written_begins_with_the_source() -> None:
    world = a_long_world()
    world.target, world.stamps, world.target_start = [], [], 0
    assert aligned(world) == Pairing(sources=(10,), target=0)


def test_a_mirror_before_that_time_may_copy_what_is_before_it() -> None:
    world = a_long_world()
    end = 5 + SLACK_STEPS
    world.target, world.stamps = world.target[:end], world.stamps[:end]
    world.committed = end
    assert aligned(world) is None
    # Past it, the copies that are missing there will not come any more.
    world.committed = 10 + SLACK_STEPS
    assert aligned(world) == Pairing(sources=(10 + SLACK_STEPS,), target=end)


@pytest.mark.parametrize("timestamps", [True, False])
def test_syncs_of_one_of_several_sources_are_none(*, timestamps: bool) -> None:
    world = a_long_world((20, 20))
    feeds = world.freeze().feeds * 2
    found = aligned(world, feeds=feeds, timestamps=timestamps)
    both = Pairing(sources=(10 + SLACK_STEPS,) * 2, target=10 + SLACK_STEPS)
    whole = Pairing(sources=(100, 100), target=100)
    assert found == (both if timestamps else whole)


def test_ends_belong_together_only_at_rest() -> None:
    rests = a_long_world().freeze().feeds
    busy = a_long_world().freeze(write=1).feeds
    world = a_long_world()
    assert aligned(world, timestamps=False, feeds=busy) is None
    assert aligned(world, timestamps=False, feeds=rests) == at(100)
    behind = tuple(replace(feed, position=99) for feed in rests)
    assert aligned(world, timestamps=False, feeds=behind) is None
