"""Where the first night begins, by what is known of the mirror."""

import pytest

from tests.support.audit_world import World, a_copied_world, lane_of


def a_world_that_skipped(count: int, *, starts_at_end: bool | None) -> World:
    """Return one whose mirror read past its first records."""
    world = World(starts_at_end=starts_at_end)
    world.write(30)
    world.drop(count)
    world.copy(30 - count)
    world.commit()
    world.now = a_copied_world().now
    return world


def test_all_is_compared_if_the_mirror_begins_at_the_start() -> None:
    world = a_world_that_skipped(4, starts_at_end=False)
    outcome = world.night()
    source, _ = world.sides(lane_of(outcome))
    assert source == list(range(30))
    assert outcome.unverifiable == ()


def test_what_it_skipped_is_not_compared_if_it_begins_at_the_end() -> None:
    world = a_world_that_skipped(4, starts_at_end=True)
    outcome = world.night()
    assert world.sides(lane_of(outcome)) == (list(range(4, 30)),) * 2
    assert outcome.unverifiable == ()


def test_what_may_be_lost_or_skipped_is_unverifiable() -> None:
    world = a_world_that_skipped(4, starts_at_end=None)
    outcome = world.night()
    assert world.sides(lane_of(outcome)) == (list(range(4, 30)),) * 2
    (gap,) = outcome.unverifiable
    assert gap.records == 4
    assert "auto.offset.reset" in gap.reason
    assert world.night().unverifiable == ()


@pytest.mark.parametrize("starts_at_end", [None, False, True])
def test_a_mirror_that_skipped_nothing_is_compared_whole(
    starts_at_end: bool | None,
) -> None:
    world = a_copied_world()
    world.starts_at_end = starts_at_end
    outcome = world.night()
    assert world.sides(lane_of(outcome)) == (list(range(30)),) * 2
    assert outcome.unverifiable == ()
