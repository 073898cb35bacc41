"""Positions beyond the end of a log."""

import pytest

from mirrorwatch.domain.position.model import ResetKind
from mirrorwatch.domain.report import Health

from .world import World


@pytest.fixture
def world() -> World:
    return World.settled()


def test_a_position_beyond_the_end_is_critical_when_it_stays(
    world: World,
) -> None:
    world.source["t"].ends[0] = 60
    world.tick(3)
    assert world.resets == ()
    world.tick(2)
    assert world.verdict().health is Health.CRITICAL
    assert "lies beyond the end of the log at summit, 60" in (
        world.verdict().reason
    )
    assert "position of t[0], 100," in world.verdict().reason


def test_a_cut_log_that_the_mirror_goes_on_with_lost_records(
    world: World,
) -> None:
    world.source["t"].ends[0] = 60
    world.tick(5)
    world.source["t"].ends[0] = 80
    world.tick(2)
    world.source["t"].ends[0] = 180
    world.sync(100, 100)
    world.settle()
    assert (world.reset().first, world.reset().end) == (60, 100)
    assert "40 new records were never read" in world.verdict().reason


def test_a_cut_log_that_the_mirror_begins_anew_with_is_a_warning(
    world: World,
) -> None:
    world.source["t"].ends[0] = 60
    world.tick(5)
    world.sync(0, 100)
    world.settle()
    assert world.verdict().health is Health.WARNING
    assert "has begun anew" in world.verdict().reason


def test_one_that_grew_past_the_position_says_what_is_at_stake(
    world: World,
) -> None:
    world.source["t"].ends[0] = 60
    world.tick(5)
    world.source["t"].ends[0] = 130
    world.tick()
    assert world.verdict().health is Health.CRITICAL
    assert "has grown past it" in world.verdict().reason
    assert "40 new records are never read, t[0] offsets [60, 100)" in (
        world.verdict().reason
    )


def test_several_partitions_are_told_by_one_sentence(world: World) -> None:
    world.source["t"].ends[1] = world.target["t"].ends[1] = 10
    world.sync(9, 9, n=1)
    world.settle()
    world.source["t"].ends.update({0: 60, 1: 4})
    world.tick(5)
    assert len(world.resets) == 2
    assert "t[0], 100 (and 1 more of its partitions), lies beyond" in (
        world.verdict().reason
    )


@pytest.mark.parametrize("quiet", [True, False])
def test_a_running_mirror_begins_anew_before_the_cut_is_believed(
    world: World, quiet: bool
) -> None:
    world.source["t"].ends[0] = 60
    world.sync(0, 100)
    world.target["t"].ends[0] = 160
    if not quiet:
        world.sync(59, 159)
    world.tick(6)
    assert world.verdict().health is Health.WARNING
    assert "the mirror has begun anew" in world.verdict().reason
    assert (world.reset().kind, world.reset().harmless) == (
        ResetKind.BEYOND,
        True,
    )
    # It goes on there as if nothing had been.
    world.source["t"].ends[0] = 90
    world.target["t"].ends[0] = 190
    world.sync(80, 180)
    world.settle()
    assert world.seen.counts == {"t": 1}


@pytest.mark.parametrize(
    ("position", "health", "count"),
    [(30, Health.WARNING, 0), (150, Health.CRITICAL, 40)],
)
def test_commits_tell_what_becomes_of_it_where_there_are_no_syncs(
    position: int, health: Health, count: int
) -> None:
    world = World()
    world.commit(100)
    world.tick(3)
    world.source["t"].ends[0] = 60
    world.tick(5)
    assert world.reset().settled is None
    world.source["t"].ends[0] = 160
    world.commit(position)
    world.settle()
    assert world.reset().settled is not None
    assert (world.verdict().health, world.reset().count) == (health, count)
    world.commit(155)
    world.settle()
    assert world.seen.counts == {"t": 1}
