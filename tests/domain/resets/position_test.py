"""Lost offsets; what is usual; what is not known."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.position.check import PositionLimits, judge_position
from mirrorwatch.domain.position.model import ResetKind
from mirrorwatch.domain.report import Health

from .world import FLOW, World


@pytest.fixture
def world() -> World:
    return World.settled()


def grow(world: World, end: int) -> None:
    world.source["t"].ends[0] = world.target["t"].ends[0] = end


def test_a_mirror_that_goes_on_is_ok(world: World) -> None:
    grow(world, 300)
    for upstream in (199, 200, 299):
        world.sync(upstream, upstream)
        world.tick()
    world.commit(300)
    world.settle()
    assert (world.resets, world.verdict().health) == ((), Health.OK)
    assert (
        world.verdict().reason
        == "The mirror kept its place in the one partition"
    )


def test_a_sync_that_is_written_again_is_nothing(world: World) -> None:
    world.sync(99, 99)
    world.settle()
    world.restart()
    world.settle()
    assert world.resets == ()


def test_an_offsets_topic_that_is_gone_is_critical(world: World) -> None:
    world.homes["offsets"] = None
    world.committed.clear()
    world.tick()
    assert world.reset().kind is ResetKind.OFFSETS_GONE
    assert "positions of 1 partition" in world.verdict().reason
    assert "everything that the source still holds" in world.verdict().reason
    world.homes["offsets"] = "o2"
    world.sync(0, 100)
    world.commit(40)
    world.settle()
    kinds = [r.kind for r in world.resets]
    assert kinds == [ResetKind.OFFSETS_GONE, ResetKind.REWIND]
    assert "is not the one that it was" in world.verdict().reason
    assert world.seen.counts == {"t": 2}


def test_so_is_another_one_found_after_the_agent_was_away(
    world: World,
) -> None:
    world.from_end = True
    world.homes["offsets"] = "o2"
    world.committed.clear()
    world.restart()
    world.tick(2)
    assert world.verdict().health is Health.CRITICAL
    assert "what was not yet copied is never read" in world.verdict().reason


def test_committed_positions_that_are_deleted_are_critical(
    world: World,
) -> None:
    world.commit(None)
    world.tick(2)
    assert world.verdict().health is Health.CRITICAL
    assert "of 1 partition were deleted, of t among" in world.verdict().reason
    world.settle()
    assert len(world.resets) == 1


def test_another_syncs_topic_is_a_warning(world: World) -> None:
    world.homes["syncs"] = "y2"
    world.tick()
    assert world.verdict().health is Health.WARNING
    assert world.seen.counts == {"t": 0}


def test_what_is_not_known_is_not_ok(world: World) -> None:
    fresh = World()
    fresh.tick()
    assert fresh.verdict().health is Health.UNKNOWN
    nothing = judge_position(FLOW, None, PositionLimits(), world.now)
    assert nothing.health is Health.UNKNOWN
    world.now += timedelta(minutes=3)
    assert "last looked at" in world.verdict().reason
    assert world.verdict().health is Health.UNKNOWN


def test_nothing_is_judged_before_all_was_read() -> None:
    world = World()
    world.caught_up = False
    world.source["t"].starts[0] = 60
    world.commit(20)
    world.sync(19, 19)
    world.tick(3)
    assert world.verdict().health is Health.UNKNOWN
    world.commit(100)
    world.sync(99, 99)
    world.caught_up = True
    world.settle()
    assert (world.resets, world.verdict().health) == ((), Health.OK)


def test_what_is_read_again_after_a_restart_is_nothing_new() -> None:
    world = World()
    grow(world, 300)
    for upstream in (99, 199, 299):
        world.sync(upstream, upstream)
        world.tick()
    world.settle()
    world.restart()
    world.settle()
    assert world.resets == ()


def test_a_cluster_that_does_not_answer_changes_nothing(world: World) -> None:
    world.answers["summit"] = False
    grow(world, 300)
    world.sync(199, 199)
    world.tick(3)
    world.answers["summit"] = True
    world.answers["ldf"] = False
    world.settle()
    world.sync(150, 200)
    world.settle()
    # Every sync was kept meanwhile.
    assert (world.reset().first, world.reset().end) == (150, 200)


def test_a_verdict_tells_a_bounded_number_of_resets(world: World) -> None:
    log = type(world.source["t"])
    for n in range(30):
        world.source[f"t{n}"] = log(f"s{n}", {0: 10})
        world.sync(9, 9, f"t{n}")
    world.settle()
    for n in range(30):
        world.source[f"t{n}"] = log(f"new{n}", {0: 50})
    world.tick()
    assert len(world.resets) == 30
    assert len(world.verdict().evidence) < 20
