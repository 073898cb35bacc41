"""Mirrors that go back."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.position.model import ResetKind
from mirrorwatch.domain.report import Health

from .world import World, grow


@pytest.fixture
def rewind_world() -> World:
    return World.settled()


def test_a_sync_that_was_overtaken_is_no_rewind(rewind_world: World) -> None:
    grow(rewind_world, 300)
    rewind_world.sync(299, 299)
    rewind_world.sync(240, 240)
    rewind_world.settle()
    assert (rewind_world.resets, rewind_world.verdict().health) == (
        (),
        Health.OK,
    )
    # The same record, copied again.
    rewind_world.sync(240, 300)
    rewind_world.tick(2)
    assert (rewind_world.reset().first, rewind_world.reset().end) == (240, 300)


def test_a_mirror_that_goes_back_is_a_warning_for_ten_minutes(
    rewind_world: World,
) -> None:
    grow(rewind_world, 300)
    rewind_world.sync(299, 299)
    rewind_world.settle()
    rewind_world.sync(240, 300)
    rewind_world.tick(2)
    assert (rewind_world.reset().first, rewind_world.reset().end) == (240, 300)
    assert rewind_world.reset().settled is None
    # What it skips meanwhile, or had skipped, is for `skips` to report.
    rewind_world.find(
        "rewound", topic="t", partition=0, records=60, open_resets=1
    )
    rewind_world.sync(310, 370)
    grow(rewind_world, 400)
    rewind_world.settle()
    assert rewind_world.reset().settled is not None
    assert rewind_world.verdict().health is Health.WARNING
    rewind_world.find("rewound", records=60, open_resets=0)
    rewind_world.now += timedelta(minutes=11)
    rewind_world.tick()
    assert rewind_world.verdict().health is Health.OK
    assert rewind_world.seen.counts == {"t": 1}


def test_it_is_seen_though_it_is_over_within_a_tick(
    rewind_world: World,
) -> None:
    grow(rewind_world, 300)
    rewind_world.sync(199, 199)
    rewind_world.sync(120, 200)
    rewind_world.sync(299, 379)
    rewind_world.settle()
    assert (rewind_world.reset().first, rewind_world.reset().end) == (120, 200)
    assert rewind_world.reset().settled is not None


def test_two_rewinds_apart_count_nothing_in_between(
    rewind_world: World,
) -> None:
    grow(rewind_world, 1000)
    rewind_world.sync(399, 399)
    rewind_world.sync(300, 400)
    rewind_world.sync(999, 1099)
    rewind_world.settle()
    rewind_world.sync(900, 1100)
    rewind_world.sync(999, 1199)
    rewind_world.settle()
    assert rewind_world.seen.counts == {"t": 2}
    rewind_world.find("rewound", records=200, resets=2)
    assert [(r.first, r.end) for r in rewind_world.resets] == [
        (300, 400),
        (900, 1000),
    ]


def test_two_mirrors_that_take_turns_are_one_rewind(
    rewind_world: World,
) -> None:
    grow(rewind_world, 1000)
    for n in range(20):
        rewind_world.sync(400 + n, 300 + 2 * n)
        rewind_world.sync(200 + n, 301 + 2 * n)
        rewind_world.tick()
    rewind_world.settle()
    assert (rewind_world.reset().first, rewind_world.reset().end) == (200, 420)
    assert rewind_world.seen.counts == {"t": 1}


def test_a_mirror_whose_clock_is_behind_is_listened_to(
    rewind_world: World,
) -> None:
    grow(rewind_world, 400)
    rewind_world.sync(199, 199)
    rewind_world.tick()
    rewind_world.sync(299, 299, behind=timedelta(seconds=30))
    rewind_world.settle()
    rewind_world.restart()
    rewind_world.settle()
    assert rewind_world.resets == ()
    rewind_world.sync(150, 300, behind=timedelta(seconds=50))
    rewind_world.settle()
    assert (rewind_world.reset().first, rewind_world.reset().end) == (150, 300)


def test_a_commit_that_goes_back_is_a_rewind(rewind_world: World) -> None:
    rewind_world.commit(20)
    rewind_world.settle()
    assert (
        rewind_world.reset().kind,
        rewind_world.reset().first,
        rewind_world.reset().end,
    ) == (
        ResetKind.REWIND,
        20,
        100,
    )
    assert rewind_world.reset().settled is None
    rewind_world.commit(100)
    rewind_world.settle()
    assert rewind_world.reset().settled is not None


def test_copies_that_were_never_told_are_counted_by_the_target(
    rewind_world: World,
) -> None:
    grow(rewind_world, 250)
    rewind_world.tick(2)
    # Killed: 150 more were copied, which neither sync nor commit tells.
    rewind_world.sync(100, 250)
    rewind_world.target["t"].ends[0] = 400
    rewind_world.settle()
    assert rewind_world.resets == ()  # no record is known to be copied twice
    rewind_world.sync(200, 350)
    rewind_world.commit(250)
    rewind_world.settle()
    # Killed once more, and now the record of the last sync comes again.
    rewind_world.sync(200, 400)
    rewind_world.settle()
    assert (rewind_world.reset().first, rewind_world.reset().end) == (200, 250)
    assert rewind_world.reset().settled is None


@pytest.mark.parametrize("again_at", [250, 400])
def test_one_that_was_killed_after_its_first_copies_is_counted_too(
    rewind_world: World, again_at: int
) -> None:
    grow(rewind_world, 250)
    rewind_world.sync(100, 100)
    rewind_world.tick(2)
    # Others may write there unknown to us: never more than the source has.
    rewind_world.sync(100, again_at)
    rewind_world.settle()
    assert (rewind_world.reset().first, rewind_world.reset().end) == (100, 250)
    assert rewind_world.reset().settled is None


def test_the_last_commit_ends_a_rewind_that_no_sync_ends(
    rewind_world: World,
) -> None:
    grow(rewind_world, 300)
    rewind_world.commit(300)
    rewind_world.settle()
    rewind_world.sync(50, 300)
    rewind_world.sync(199, 449)
    rewind_world.settle()
    assert (rewind_world.reset().first, rewind_world.reset().end) == (50, 300)
    assert rewind_world.reset().settled is None
    rewind_world.commit(299)
    rewind_world.settle()
    assert rewind_world.reset().settled is None
    rewind_world.commit(300)
    rewind_world.settle()
    assert rewind_world.reset().settled is not None
