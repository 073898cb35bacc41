"""Records that expired unread before two surveys could see it."""

import pytest

from mirrorwatch.domain.position.model import ResetKind
from mirrorwatch.domain.report import Health

from .world import Log, World


def passed(world: World, start: int, first: int, copies: int) -> None:
    """The log is cut, and the mirror goes on at an offset, all at once."""
    world.source["t"].ends[0] = 500
    world.source["t"].starts[0] = start
    world.sync(first, 100)
    world.target["t"].ends[0] = 100 + copies


def is_told(world: World) -> None:
    reset = world.reset()
    assert (reset.kind, reset.first, reset.end) == (
        ResetKind.EXPIRED,
        100,
        250,
    )
    assert reset.settled is not None
    assert world.verdict().health is Health.CRITICAL
    assert "150 records expired at summit" in world.verdict().reason
    assert "t[0] offsets [100, 250). They are lost for ldf" in (
        world.verdict().reason
    )
    assert world.seen.counts == {"t": 1}


def test_a_mirror_that_is_overrun_while_it_runs_lost_records() -> None:
    world = World.settled()
    passed(world, 250, 250, 250)
    world.tick(3)
    is_told(world)
    world.restart()
    world.tick(3)
    is_told(world)


def test_the_start_of_the_log_may_be_read_half_a_minute_later() -> None:
    world = World.settled()
    passed(world, 0, 250, 250)
    world.tick(6)
    assert world.resets == ()
    world.source["t"].starts[0] = 250
    world.tick()
    is_told(world)


def test_a_mirror_that_is_started_as_soon_as_it_was_seen_once() -> None:
    world = World.settled()
    world.source["t"] = Log("s1", {0: 500}, {0: 250})
    world.tick()
    passed(world, 250, 250, 100)
    world.tick(3)
    is_told(world)


def test_one_that_went_on_while_the_agent_was_away() -> None:
    world = World.settled()
    passed(world, 250, 250, 250)
    world.sync(350, 200)
    world.restart()
    world.tick(4)
    is_told(world)


@pytest.mark.parametrize("start", [0, 100, 251, 400])
def test_what_was_there_to_be_read_is_the_business_of_skips(
    start: int,
) -> None:
    world = World.settled()
    passed(world, 0, 250, 250)
    world.tick(3)
    world.source["t"].starts[0] = start
    world.tick(40)
    # Long after, the log begins in the gap.
    world.source["t"].starts[0] = max(start, 250)
    world.sync(500, 350)
    world.source["t"].ends[0] = 600
    world.tick(4)
    assert (world.resets, world.verdict().health) == ((), Health.OK)


def test_markers_that_were_passed_are_no_records() -> None:
    world = World.settled()
    world.empty_until["t", 0] = 102
    world.source["t"].ends[0] = 102
    world.source["t"].starts[0] = 102
    world.tick(2)
    world.source["t"].ends[0] = 500
    world.sync(102, 100)
    world.target["t"].ends[0] = 300
    world.tick(3)
    assert world.resets == ()
