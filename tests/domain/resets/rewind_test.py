"""Mirrors that copy again what they had copied."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.position.model import ResetKind
from mirrorwatch.domain.report import Health

from .world import World


@pytest.fixture
def world() -> World:
    return World.settled()


def grow(world: World, end: int) -> None:
    world.source["t"].ends[0] = world.target["t"].ends[0] = end


def test_a_mirror_that_goes_back_is_a_warning_for_ten_minutes(
    world: World,
) -> None:
    grow(world, 300)
    world.sync(299, 299)
    world.settle()
    world.sync(240, 300)
    world.tick(2)
    assert (world.reset().first, world.reset().end) == (240, 300)
    assert world.reset().settled is None
    assert "went back and copies 60 records again" in world.verdict().reason
    world.sync(310, 370)
    grow(world, 400)
    world.settle()
    assert world.reset().settled is not None
    assert world.verdict().health is Health.WARNING
    assert "copied 60 records again: t[0] offsets [240, 300)" in (
        world.verdict().reason
    )
    world.now += timedelta(minutes=11)
    world.tick()
    assert world.verdict().health is Health.OK
    assert world.seen.counts == {"t": 1}


def test_it_is_seen_though_it_is_over_within_a_tick(world: World) -> None:
    grow(world, 300)
    world.sync(199, 199)
    world.sync(120, 200)
    world.sync(299, 379)
    world.settle()
    assert (world.reset().first, world.reset().end) == (120, 200)
    assert world.reset().settled is not None


def test_two_rewinds_apart_count_nothing_in_between(world: World) -> None:
    grow(world, 1000)
    world.sync(399, 399)
    world.sync(300, 400)
    world.sync(999, 1099)
    world.settle()
    world.sync(900, 1100)
    world.sync(999, 1199)
    world.settle()
    assert world.seen.counts == {"t": 2}
    assert "copied 200 records again" in world.verdict().reason
    assert "[300, 400)" in world.verdict().reason
    assert "[900, 1000)" in world.verdict().reason


def test_two_mirrors_that_take_turns_are_one_rewind(world: World) -> None:
    grow(world, 1000)
    for n in range(20):
        world.sync(400 + n, 300 + 2 * n)
        world.sync(200 + n, 301 + 2 * n)
        world.tick()
    world.settle()
    assert (world.reset().first, world.reset().end) == (200, 420)
    assert world.seen.counts == {"t": 1}


def test_a_mirror_whose_clock_is_behind_is_listened_to(world: World) -> None:
    grow(world, 400)
    world.sync(199, 199)
    world.tick()
    world.sync(299, 299, behind=timedelta(seconds=30))
    world.settle()
    world.restart()
    world.settle()
    assert world.resets == ()
    world.sync(150, 300, behind=timedelta(seconds=50))
    world.settle()
    assert (world.reset().first, world.reset().end) == (150, 300)


def test_a_commit_that_goes_back_is_a_rewind(world: World) -> None:
    world.commit(20)
    world.settle()
    assert (world.reset().kind, world.reset().first, world.reset().end) == (
        ResetKind.REWIND,
        20,
        100,
    )
    assert world.reset().settled is None
    world.commit(100)
    world.settle()
    assert world.reset().settled is not None


def test_copies_that_were_never_told_are_counted_by_the_target(
    world: World,
) -> None:
    grow(world, 250)
    world.tick(2)
    # Killed: 150 more were copied, which neither sync nor commit tells.
    world.sync(100, 250)
    world.target["t"].ends[0] = 400
    world.settle()
    assert world.resets == ()  # no record is known to be copied twice
    world.sync(200, 350)
    world.commit(250)
    world.settle()
    # Killed once more, and now the record of the last sync comes again.
    world.sync(200, 400)
    world.settle()
    assert (world.reset().first, world.reset().end) == (200, 250)
    assert world.reset().settled is None


@pytest.mark.parametrize("again_at", [250, 400])
def test_one_that_was_killed_after_its_first_copies_is_counted_too(
    world: World, again_at: int
) -> None:
    grow(world, 250)
    world.sync(100, 100)
    world.tick(2)
    # Others may write there unknown to us: never more than the source has.
    world.sync(100, again_at)
    world.settle()
    assert (world.reset().first, world.reset().end) == (100, 250)
    assert world.reset().settled is None


def test_the_last_commit_ends_a_rewind_that_no_sync_ends(
    world: World,
) -> None:
    grow(world, 300)
    world.commit(300)
    world.settle()
    world.sync(50, 300)
    world.sync(199, 449)
    world.settle()
    assert (world.reset().first, world.reset().end) == (50, 300)
    assert world.reset().settled is None
    world.commit(299)
    world.settle()
    assert world.reset().settled is None
    world.commit(300)
    world.settle()
    assert world.reset().settled is not None
