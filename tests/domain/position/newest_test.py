"""Positions that are known by the newest copies."""

import pytest

from mirrorwatch.domain.position.model import ResetKind
from mirrorwatch.domain.report import Health

from .world import Log, World


@pytest.fixture
def newest_world() -> World:
    """A mirror of which only newest copies are known.

    The position was lost sight of. Then the copy of record 349 was found as
    the 200th: 150 records before it are missing.
    """
    world = World(finds_copies=True)
    world.sync(99, 99)
    world.tick(2)
    world.unproved = {("t", 0): "its record has expired"}
    world.source["t"].ends[0] = 350
    world.tick(2)
    world.restart()
    world.tick(2)
    world.unproved = {}
    world.sync(349, 199, after_unread=True)
    world.target["t"].ends[0] = 200
    return world


@pytest.mark.parametrize("start", [200, 250, 280])
def test_what_may_have_expired_between_newest_copies_is_unverified(
    newest_world: World, start: int
) -> None:
    """Not all that was copied between was read: markers may be missing."""
    newest_world.source["t"].starts[0] = start
    newest_world.settle()
    for _ in range(2):
        reset = newest_world.reset()
        assert (reset.kind, reset.first, reset.end) == (
            ResetKind.UNVERIFIED,
            100,
            start,
        )
        assert newest_world.verdict().health is Health.WARNING
        newest_world.restart()
        newest_world.settle()


def test_newest_copies_with_nothing_missing_are_ok() -> None:
    world = World(finds_copies=True)
    world.sync(99, 99)
    world.tick(2)
    world.source["t"] = Log("s1", {0: 350}, {0: 250})
    world.sync(349, 349)
    world.target["t"].ends[0] = 350
    world.tick(40)
    assert (world.resets, world.verdict().health) == ((), Health.OK)


def test_what_is_missing_from_a_whole_log_is_left_to_the_skips(
    newest_world: World,
) -> None:
    newest_world.tick(40)
    assert (newest_world.resets, newest_world.verdict().health) == (
        (),
        Health.OK,
    )


@pytest.fixture
def cut_world() -> World:
    """A log is cut below the newest copy, whose record is gone with it."""
    world = World(finds_copies=True)
    world.sync(99, 99)
    world.tick(2)
    world.unproved = {("t", 0): "no copy is found"}
    world.source["t"].ends[0] = 40
    world.tick(2)
    # It stays told, whatever is written meanwhile.
    for end in (60, 90, 130):
        world.source["t"].ends[0] = end
        world.tick(3)
        assert world.verdict().health is Health.CRITICAL
    world.unproved = {}
    return world


@pytest.mark.parametrize("copies", [20, 50])
def test_what_newest_copies_leave_out_of_a_cut_log_is_counted(
    cut_world: World, copies: int
) -> None:
    cut_world.target["t"].ends[0] = 100 + copies
    cut_world.sync(89, 99 + copies, after_unread=True)
    cut_world.settle()
    reset, verdict = cut_world.reset(), cut_world.verdict()
    assert (reset.first, reset.end) == (40, 90 - copies)
    if copies == 20:
        assert verdict.health is Health.CRITICAL
        assert "at least 30 new records were never copied" in verdict.reason
    else:
        assert verdict.health is Health.WARNING
        assert "before the truncation offset" in verdict.reason


def test_the_first_copy_of_a_cut_log_says_where_the_mirror_went_on(
    cut_world: World,
) -> None:
    cut_world.target["t"].ends[0] = 101
    cut_world.sync(70, 100)
    cut_world.settle()
    assert (cut_world.reset().first, cut_world.reset().end) == (40, 70)
    assert cut_world.verdict().health is Health.CRITICAL


def test_where_others_write_it_cannot_be_verified(cut_world: World) -> None:
    cut_world.foreign.add(("t", 0))
    cut_world.tick()
    cut_world.target["t"].ends[0] = 300
    cut_world.sync(89, 280, after_unread=True)
    cut_world.settle()
    reset = cut_world.reset()
    assert (reset.kind, reset.first, reset.end) == (
        ResetKind.UNVERIFIED,
        40,
        89,
    )
    assert cut_world.verdict().health is Health.WARNING


def test_a_log_that_is_not_cut_is_ok_though_no_copy_is_found() -> None:
    world = World(finds_copies=True)
    world.sync(99, 99)
    world.tick(2)
    world.unproved = {("t", 0): "no copy is found"}
    world.source["t"].ends[0] = 100
    world.tick(20)
    assert world.resets == ()


@pytest.mark.parametrize("others", [False, True])
def test_a_newest_copy_ends_an_expiry_by_what_lies_before_it(
    others: bool,
) -> None:
    """Copies from behind what expired lie before the newest one."""
    world = World(finds_copies=True)
    world.sync(99, 99)
    world.tick(2)
    if others:
        world.foreign.add(("t", 0))
        world.tick()
    world.source["t"] = Log("s1", {0: 500}, {0: 250})
    world.tick(40)
    assert world.reset().settled is None
    world.sync(349, 199, after_unread=True)
    world.target["t"].ends[0] = 200
    world.settle()
    reset = world.reset()
    assert reset.settled is not None
    assert (reset.first, reset.end, reset.at_most) == (
        (100, 349, True) if others else (100, 250, False)
    )


def test_a_newest_copy_that_is_found_after_a_commit_is_no_rewind() -> None:
    world = World(finds_copies=True)
    world.commit(100)
    world.tick(2)
    world.sync(97, 97)
    world.tick(3)
    assert (world.resets, world.verdict().health) == ((), Health.OK)
    # One that is of an older record than the one before it is.
    world.sync(80, 120)
    world.settle()
    assert world.reset().kind is ResetKind.REWIND
