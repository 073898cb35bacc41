"""Records that expired before they were copied."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.position.model import ResetKind
from mirrorwatch.domain.report import Health

from .world import World


@pytest.fixture
def world() -> World:
    """The mirror is down; 400 records were written meanwhile."""
    world = World.settled()
    world.source["t"].ends[0] = 500
    world.tick()
    return world


def overrun(world: World, start: int) -> None:
    world.source["t"].starts[0] = start
    world.tick(2)


def test_records_that_wait_are_no_reset(world: World) -> None:
    overrun(world, 100)
    assert world.resets == ()
    assert world.verdict().health is Health.OK


def test_records_that_expire_are_critical_and_counted(world: World) -> None:
    overrun(world, 250)
    reset = world.reset()
    assert (reset.kind, reset.first, reset.end) == (
        ResetKind.EXPIRED,
        100,
        250,
    )
    assert world.verdict().health is Health.CRITICAL
    assert "150 records expired at summit" in world.verdict().reason
    assert "t[0] offsets [100, 250)" in world.verdict().reason


def test_the_count_grows_while_it_stands_and_is_one_reset(
    world: World,
) -> None:
    overrun(world, 250)
    overrun(world, 300)
    assert world.reset().count == 200
    assert world.seen.counts == {"t": 1}


def test_the_first_sync_afterwards_gives_the_final_count(world: World) -> None:
    overrun(world, 250)
    # By then the log began at 260; the copy of 260 is the target's 100.
    world.sync(260, 100)
    world.target["t"].ends[0] = 340
    world.settle()
    reset = world.reset()
    assert (reset.first, reset.end) == (100, 260)
    assert reset.settled is not None
    assert "160 records expired" in world.verdict().reason
    assert "They are lost for ldf" in world.verdict().reason


def test_what_was_copied_beyond_the_last_commit_is_not_lost() -> None:
    world = World()
    world.commit(80)
    world.sync(79, 79)
    world.tick(3)
    # Killed, with 100 copied.
    world.source["t"].ends[0] = 500
    overrun(world, 90)
    assert world.resets == ()
    overrun(world, 150)
    assert (world.reset().first, world.reset().end) == (100, 150)
    world.sync(150, 100)
    world.settle()
    assert world.reset().count == 50


def test_a_position_known_by_commits_alone_may_be_a_minute_old() -> None:
    world = World()
    world.commit(80)
    world.tick(3)
    world.source["t"].ends[0] = 500
    world.source["t"].starts[0] = 95
    # Only a commit is known: it may be a minute old.
    world.tick(35)
    assert world.resets == ()
    world.tick(5)
    assert world.reset().count == 15
    # No sync will say that the mirror went on, but a commit does.
    world.commit(200)
    world.settle()
    assert world.reset().settled is not None
    assert "15 records expired" in world.verdict().reason
    assert "They are lost for ldf" in world.verdict().reason


def test_buffered_records_are_copied_before_the_mirror_begins_anew(
    world: World,
) -> None:
    overrun(world, 250)
    world.sync(119, 119)
    world.target["t"].ends[0] = 120
    world.settle()
    assert (world.reset().first, world.reset().settled) == (120, None)
    world.sync(250, 120)
    world.settle()
    assert (world.reset().first, world.reset().end) == (120, 250)
    assert world.seen.counts == {"t": 1}


def test_a_log_that_passes_once_and_is_passed_again_is_no_reset(
    world: World,
) -> None:
    world.source["t"].starts[0] = 250
    world.tick()
    world.sync(499, 499)
    world.target["t"].ends[0] = 500
    world.tick(3)
    assert (world.resets, world.seen.counts) == ((), {"t": 0})


def test_markers_that_expire_are_no_records(world: World) -> None:
    world.source["t"].ends[0] = 101
    world.empty_until["t", 0] = 101
    overrun(world, 101)
    assert world.resets == ()


def test_a_topic_first_seen_empty_is_not_judged() -> None:
    world = World()
    world.source["t"] = type(world.source["t"])("s1", {0: 101}, {0: 101})
    world.commit(100)
    world.tick(60)
    assert world.resets == ()


def test_a_topic_of_which_nothing_is_left_is(world: World) -> None:
    overrun(world, 500)
    assert world.reset().count == 400


def test_all_that_expired_may_turn_out_to_be_copied() -> None:
    world = World()
    world.commit(80)
    world.sync(79, 79)
    world.tick(3)
    world.answers["ldf"] = False
    world.source["t"].ends[0] = 500
    world.source["t"].starts[0] = 90
    world.tick(40)
    assert world.reset().count == 10
    world.answers["ldf"] = True
    world.sync(100, 100)
    world.target["t"].ends[0] = 101
    world.settle()
    assert world.resets == ()


def test_another_target_topic_says_nothing_of_the_position(
    world: World,
) -> None:
    world.target["t"] = type(world.target["t"])("t2", {0: 450})
    overrun(world, 250)
    world.tick(40)
    kinds = {r.kind: r.count for r in world.resets}
    assert kinds[ResetKind.EXPIRED] == 150


def test_a_topic_first_seen_with_a_gap_is(world: World) -> None:
    world = World()
    world.source["t"].ends[0] = 500
    world.source["t"].starts[0] = 250
    world.commit(100)
    world.sync(99, 99)
    world.tick(4)
    assert world.reset().count == 150


def test_it_is_critical_for_an_hour_and_counted_for_ever(world: World) -> None:
    overrun(world, 250)
    world.sync(250, 100)
    world.settle()
    world.now += timedelta(minutes=59)
    assert world.verdict().health is Health.CRITICAL
    world.tick(20)
    assert world.verdict().health is Health.OK
    assert world.resets == ()
    assert world.seen.counts == {"t": 1}


def test_a_restart_of_the_agent_forgets_nothing(world: World) -> None:
    overrun(world, 250)
    world.restart()
    world.tick(3)
    assert (world.reset().count, world.seen.counts) == (150, {"t": 1})
    world.sync(250, 100)
    world.restart()
    world.settle()
    assert (world.reset().count, world.seen.counts) == (150, {"t": 1})
    assert world.reset().settled is not None


def test_a_mirror_in_transactions_is_where_it_committed() -> None:
    world = World.settled(estimates=False)
    # Markers of its own commits.
    world.target["t"].ends[0] = 130
    world.source["t"].ends[0] = 500
    overrun(world, 110)
    assert (world.reset().first, world.reset().end) == (100, 110)


def test_its_last_copies_do_not_settle_what_expired() -> None:
    world = World.settled(estimates=False)
    world.source["t"].ends[0] = 500
    overrun(world, 250)
    world.sync(119, 119)
    world.settle()
    assert (world.reset().first, world.seen.counts) == (120, {"t": 1})
