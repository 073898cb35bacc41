"""Lost offsets; what is usual; what is not known."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.position.check import PositionLimits, judge_position
from mirrorwatch.domain.position.model import ResetKind
from mirrorwatch.domain.report import Health

from .world import FLOW, Log, World


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
        == "Positions of the one partition are continuous"
    )


def test_a_sync_that_is_written_again_is_nothing(world: World) -> None:
    world.sync(99, 99)
    world.settle()
    world.restart()
    world.settle()
    assert world.resets == ()


def test_an_offsets_topic_that_is_gone_is_critical(world: World) -> None:
    world.homes["offsets"] = None
    world.tick(12)
    assert not world.resets
    world.tick()
    assert world.reset().kind is ResetKind.OFFSETS_GONE
    assert "positions of 1 partition" in world.verdict().reason
    assert "copies all retained records again" in world.verdict().reason
    world.homes["offsets"] = "o2"
    world.committed.clear()
    world.sync(0, 100)
    world.commit(40)
    world.settle()
    kinds = [r.kind for r in world.resets]
    assert kinds == [ResetKind.OFFSETS_GONE, ResetKind.REWIND]
    assert "was replaced" in world.verdict().reason
    assert world.seen.counts == {"t": 2}


@pytest.mark.parametrize("topic", ["offsets", "syncs"])
def test_a_topic_that_comes_back_lost_nothing(
    world: World, topic: str
) -> None:
    pinned, world.homes[topic] = world.homes[topic], None
    world.tick(6)
    world.restart()
    world.tick(6)
    world.homes[topic] = pinned
    world.settle()
    assert (world.resets, world.seen.counts) == ((), {"t": 0})
    world.homes[topic] = None
    world.tick(14)
    assert world.verdict().health is not Health.OK
    world.homes[topic] = pinned
    world.settle()
    assert world.verdict().health is Health.OK


def test_syncs_are_not_told_again_by_a_topic_that_comes_back(
    world: World,
) -> None:
    for end in (200, 300):
        grow(world, end)
        world.sync(end - 1, end - 1)
        world.tick()
    world.settle()
    unseen, world.homes["syncs"] = world.homes["syncs"], None
    world.restart()
    again = world.take_unread()
    world.tick(3)
    world.homes["syncs"] = unseen
    world.hold(again)
    world.settle()
    assert (world.resets, world.verdict().health) == ((), Health.OK)


def test_so_is_another_one_found_after_the_agent_was_away(
    world: World,
) -> None:
    world.from_end = True
    world.homes["offsets"] = "o2"
    world.committed.clear()
    world.restart()
    world.tick(2)
    assert world.verdict().health is Health.CRITICAL
    assert "records not yet copied are lost" in world.verdict().reason


def test_committed_positions_that_are_deleted_are_critical(
    world: World,
) -> None:
    world.commit(None)
    world.tick(2)
    assert world.verdict().health is Health.CRITICAL
    assert (
        "of 1 partition were deleted, including those of t"
        in world.verdict().reason
    )
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
    assert "last read" in world.verdict().reason
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


@pytest.fixture
def expiry_world() -> World:
    """The mirror is down; 400 records were written meanwhile."""
    expiry_world = World.settled()
    expiry_world.source["t"].ends[0] = 500
    expiry_world.tick()
    return expiry_world


def overrun(expiry_world: World, start: int) -> None:
    expiry_world.source["t"].starts[0] = start
    expiry_world.tick(2)


def test_records_that_wait_are_no_reset(expiry_world: World) -> None:
    overrun(expiry_world, 100)
    assert expiry_world.resets == ()
    assert expiry_world.verdict().health is Health.OK


def test_records_that_expire_are_critical_and_counted(
    expiry_world: World,
) -> None:
    overrun(expiry_world, 250)
    reset = expiry_world.reset()
    assert (reset.kind, reset.first, reset.end) == (
        ResetKind.EXPIRED,
        100,
        250,
    )
    assert expiry_world.verdict().health is Health.CRITICAL
    assert "150 records expired at summit" in expiry_world.verdict().reason
    assert "t[0] offsets [100, 250)" in expiry_world.verdict().reason


def test_the_count_grows_while_it_stands_and_is_one_reset(
    expiry_world: World,
) -> None:
    overrun(expiry_world, 250)
    overrun(expiry_world, 300)
    assert expiry_world.reset().count == 200
    assert expiry_world.seen.counts == {"t": 1}


def test_the_first_sync_afterwards_gives_the_final_count(
    expiry_world: World,
) -> None:
    overrun(expiry_world, 250)
    # By then the log began at 260; the copy of 260 is the target's 100.
    expiry_world.sync(260, 100)
    expiry_world.target["t"].ends[0] = 340
    expiry_world.settle()
    reset = expiry_world.reset()
    assert (reset.first, reset.end) == (100, 260)
    assert reset.settled is not None
    assert "160 records expired" in expiry_world.verdict().reason
    assert "They are lost for ldf" in expiry_world.verdict().reason


def test_what_was_copied_beyond_the_last_commit_is_not_lost() -> None:
    expiry_world = World()
    expiry_world.commit(80)
    expiry_world.sync(79, 79)
    expiry_world.tick(3)
    # Killed, with 100 copied.
    expiry_world.source["t"].ends[0] = 500
    overrun(expiry_world, 90)
    assert expiry_world.resets == ()
    overrun(expiry_world, 150)
    assert (expiry_world.reset().first, expiry_world.reset().end) == (100, 150)
    expiry_world.sync(150, 100)
    expiry_world.settle()
    assert expiry_world.reset().count == 50


def test_a_position_known_by_commits_alone_may_be_a_minute_old() -> None:
    expiry_world = World()
    expiry_world.commit(80)
    expiry_world.tick(3)
    expiry_world.source["t"].ends[0] = 500
    expiry_world.source["t"].starts[0] = 95
    # Only a commit is known: it may be a minute old.
    expiry_world.tick(35)
    assert expiry_world.resets == ()
    expiry_world.tick(5)
    assert expiry_world.reset().count == 15
    # No sync will say that the mirror went on, but a commit does.
    expiry_world.commit(200)
    expiry_world.settle()
    assert expiry_world.reset().settled is not None
    assert "15 records expired" in expiry_world.verdict().reason
    assert "They are lost for ldf" in expiry_world.verdict().reason


def test_buffered_records_are_copied_before_the_mirror_begins_anew(
    expiry_world: World,
) -> None:
    overrun(expiry_world, 250)
    expiry_world.sync(119, 119)
    expiry_world.target["t"].ends[0] = 120
    expiry_world.settle()
    assert (expiry_world.reset().first, expiry_world.reset().settled) == (
        120,
        None,
    )
    expiry_world.sync(250, 120)
    expiry_world.settle()
    assert (expiry_world.reset().first, expiry_world.reset().end) == (120, 250)
    assert expiry_world.seen.counts == {"t": 1}


def test_a_log_that_passes_once_and_is_passed_again_is_no_reset(
    expiry_world: World,
) -> None:
    expiry_world.source["t"].starts[0] = 250
    expiry_world.tick()
    expiry_world.sync(499, 499)
    expiry_world.target["t"].ends[0] = 500
    expiry_world.tick(3)
    assert (expiry_world.resets, expiry_world.seen.counts) == ((), {"t": 0})


def test_markers_that_expire_are_no_records(expiry_world: World) -> None:
    expiry_world.source["t"].ends[0] = 101
    expiry_world.empty_until["t", 0] = 101
    overrun(expiry_world, 101)
    assert expiry_world.resets == ()


def test_a_topic_first_seen_empty_is_not_judged() -> None:
    expiry_world = World()
    expiry_world.source["t"] = type(expiry_world.source["t"])(
        "s1", {0: 101}, {0: 101}
    )
    expiry_world.commit(100)
    expiry_world.tick(60)
    assert expiry_world.resets == ()


def test_one_first_seen_when_all_had_expired_is_unverifiable() -> None:
    world = World()
    world.source["t"] = Log("s1", {0: 500}, {0: 500})
    world.commit(100)
    world.tick(60)
    assert (world.reset().first, world.reset().end) == (100, 500)
    assert world.verdict().health is Health.WARNING
    assert world.verdict().reason.startswith(
        "Up to 400 records may have expired at summit before MirrorMaker "
        "copied them: t[0] offsets [100, 500)"
    )
    world.restart()
    world.tick(60)
    assert len(world.resets) == 1
    world.tick(12 * 60)
    assert world.verdict().health is Health.OK


def test_one_of_which_all_was_copied_before_is_ok() -> None:
    world = World()
    world.source["t"] = Log("s1", {0: 500}, {0: 500})
    world.target["t"] = Log("t1", {0: 500})
    world.commit(450)
    world.sync(449, 449)
    world.tick(60)
    assert world.resets == ()


def test_where_others_write_the_count_is_at_most(expiry_world: World) -> None:
    expiry_world.target["t"].ends[0] = 140
    overrun(expiry_world, 250)
    assert expiry_world.reset().count == 110
    assert expiry_world.verdict().reason.startswith("110 records expired")
    expiry_world.foreign.add(("t", 0))
    expiry_world.tick()
    assert expiry_world.verdict().reason.startswith(
        "At most 150 records expired"
    )
    expiry_world.sync(260, 900)
    expiry_world.settle()
    assert expiry_world.reset().settled is not None
    assert expiry_world.verdict().reason.startswith(
        "At most 160 records expired"
    )


def test_more_than_the_source_ever_held_is_of_others(
    expiry_world: World,
) -> None:
    expiry_world.target["t"].ends[0] = 900
    overrun(expiry_world, 250)
    assert expiry_world.resets == ()  # not sure for three minutes
    expiry_world.tick(40)
    assert expiry_world.verdict().reason.startswith("At most 150 records")
    expiry_world.sync(250, 900)
    expiry_world.settle()
    assert expiry_world.reset().count == 150


def test_copies_of_what_is_left_do_not_take_back_what_expired(
    expiry_world: World,
) -> None:
    overrun(expiry_world, 250)
    expiry_world.target["t"].ends[0] = 240
    expiry_world.commit(390)
    expiry_world.tick(2)
    assert expiry_world.reset().count == 150
    assert "Start MirrorMaker" not in expiry_world.verdict().reason
    expiry_world.sync(250, 100)
    expiry_world.settle()
    assert (expiry_world.reset().first, expiry_world.reset().end) == (100, 250)


def test_a_log_start_that_is_stale_once_settles_nothing() -> None:
    world = World()
    world.commit(80)
    world.tick(3)
    world.source["t"] = Log("s1", {0: 500}, {0: 95})
    world.tick(40)
    world.source["t"].starts[0] = 0
    world.tick()
    world.source["t"].starts[0] = 95
    world.tick()
    assert (world.reset().count, world.reset().settled) == (15, None)


def test_a_topic_of_which_nothing_is_left_is(expiry_world: World) -> None:
    overrun(expiry_world, 500)
    assert expiry_world.reset().count == 400


def test_all_that_expired_may_turn_out_to_be_copied() -> None:
    expiry_world = World()
    expiry_world.commit(80)
    expiry_world.sync(79, 79)
    expiry_world.tick(3)
    expiry_world.answers["ldf"] = False
    expiry_world.source["t"].ends[0] = 500
    expiry_world.source["t"].starts[0] = 90
    expiry_world.tick(40)
    assert expiry_world.reset().count == 10
    expiry_world.answers["ldf"] = True
    expiry_world.sync(100, 100)
    expiry_world.target["t"].ends[0] = 101
    expiry_world.settle()
    assert expiry_world.resets == ()


def test_another_target_topic_says_nothing_of_the_position(
    expiry_world: World,
) -> None:
    expiry_world.target["t"] = type(expiry_world.target["t"])("t2", {0: 450})
    overrun(expiry_world, 250)
    expiry_world.tick(40)
    kinds = {r.kind: r.count for r in expiry_world.resets}
    assert kinds[ResetKind.EXPIRED] == 150


def test_a_topic_first_seen_with_a_gap_is(expiry_world: World) -> None:
    expiry_world = World()
    expiry_world.source["t"].ends[0] = 500
    expiry_world.source["t"].starts[0] = 250
    expiry_world.commit(100)
    expiry_world.sync(99, 99)
    expiry_world.tick(4)
    assert expiry_world.reset().count == 150


def test_it_is_critical_for_an_hour_and_counted_for_ever(
    expiry_world: World,
) -> None:
    overrun(expiry_world, 250)
    expiry_world.sync(250, 100)
    expiry_world.settle()
    expiry_world.now += timedelta(minutes=59)
    assert expiry_world.verdict().health is Health.CRITICAL
    expiry_world.tick(20)
    assert expiry_world.verdict().health is Health.OK
    assert expiry_world.resets == ()
    assert expiry_world.seen.counts == {"t": 1}


def test_a_restart_of_the_agent_forgets_nothing(expiry_world: World) -> None:
    overrun(expiry_world, 250)
    expiry_world.restart()
    expiry_world.tick(3)
    assert (expiry_world.reset().count, expiry_world.seen.counts) == (
        150,
        {"t": 1},
    )
    expiry_world.sync(250, 100)
    expiry_world.restart()
    expiry_world.settle()
    assert (expiry_world.reset().count, expiry_world.seen.counts) == (
        150,
        {"t": 1},
    )
    assert expiry_world.reset().settled is not None


def test_a_mirror_in_transactions_is_where_it_committed() -> None:
    expiry_world = World.settled(estimates=False)
    # Markers of its own commits.
    expiry_world.target["t"].ends[0] = 130
    expiry_world.source["t"].ends[0] = 500
    overrun(expiry_world, 110)
    assert (expiry_world.reset().first, expiry_world.reset().end) == (100, 110)


def test_its_last_copies_do_not_settle_what_expired() -> None:
    expiry_world = World.settled(estimates=False)
    expiry_world.source["t"].ends[0] = 500
    overrun(expiry_world, 250)
    expiry_world.sync(119, 119)
    expiry_world.settle()
    assert (expiry_world.reset().first, expiry_world.seen.counts) == (
        120,
        {"t": 1},
    )


@pytest.fixture
def truncated_world() -> World:
    return World.settled()


def test_copies_show_that_a_log_was_truncated(truncated_world: World) -> None:
    # A slow topic: the last sync and commit are older than its last copies,
    # and the new end lies behind them (seed 700929046).
    truncated_world.source["t"].ends[0] = 120
    truncated_world.target["t"].ends[0] = 120
    truncated_world.tick()
    truncated_world.source["t"].ends[0] = 110
    truncated_world.tick(3)
    assert truncated_world.resets == ()
    truncated_world.tick(2)
    reset = truncated_world.reset()
    assert (reset.kind, reset.first, reset.end) == (
        ResetKind.BEYOND,
        110,
        120,
    )
    assert truncated_world.verdict().health is Health.CRITICAL


def test_an_end_that_is_stale_truncates_no_copies(
    truncated_world: World,
) -> None:
    truncated_world.source["t"].ends[0] = 120
    truncated_world.target["t"].ends[0] = 120
    truncated_world.tick()
    truncated_world.source["t"].ends[0] = 110
    truncated_world.tick(3)
    truncated_world.source["t"].ends[0] = 125
    truncated_world.tick(6)
    assert truncated_world.resets == ()


def test_a_position_beyond_the_end_is_critical_when_it_stays(
    truncated_world: World,
) -> None:
    truncated_world.source["t"].ends[0] = 60
    truncated_world.tick(3)
    assert truncated_world.resets == ()
    truncated_world.tick(2)
    assert truncated_world.verdict().health is Health.CRITICAL
    assert "is beyond the log end offset at summit, 60" in (
        truncated_world.verdict().reason
    )
    assert "position in t[0], 100," in truncated_world.verdict().reason


def test_a_cut_log_that_the_mirror_goes_on_with_lost_records(
    truncated_world: World,
) -> None:
    truncated_world.source["t"].ends[0] = 60
    truncated_world.tick(5)
    truncated_world.source["t"].ends[0] = 80
    truncated_world.tick(2)
    truncated_world.source["t"].ends[0] = 180
    truncated_world.sync(100, 100)
    truncated_world.settle()
    assert (truncated_world.reset().first, truncated_world.reset().end) == (
        60,
        100,
    )
    assert (
        "at least 40 new records were never copied"
        in truncated_world.verdict().reason
    )


def test_a_cut_log_that_grows_is_told_from_its_lowest_end(
    truncated_world: World,
) -> None:
    for end in (60, 65, 70, 75, 80, 85, 90, 180):
        truncated_world.source["t"].ends[0] = end
        truncated_world.tick()
    truncated_world.sync(100, 100)
    truncated_world.settle()
    assert truncated_world.reset().first == 60


def test_a_cut_log_that_the_mirror_begins_anew_with_is_a_warning(
    truncated_world: World,
) -> None:
    truncated_world.source["t"].ends[0] = 60
    truncated_world.tick(5)
    truncated_world.sync(0, 100)
    truncated_world.settle()
    assert truncated_world.verdict().health is Health.WARNING
    assert "restarted from the beginning" in truncated_world.verdict().reason


def test_one_that_grew_past_the_position_says_what_is_at_stake(
    truncated_world: World,
) -> None:
    truncated_world.source["t"].ends[0] = 60
    truncated_world.tick(5)
    truncated_world.source["t"].ends[0] = 130
    truncated_world.tick()
    assert truncated_world.verdict().health is Health.CRITICAL
    assert "has grown past it" in truncated_world.verdict().reason
    assert "40 new records are never copied, t[0] offsets [60, 100)" in (
        truncated_world.verdict().reason
    )


def test_several_partitions_are_told_by_one_sentence(
    truncated_world: World,
) -> None:
    truncated_world.source["t"].ends[1] = truncated_world.target["t"].ends[
        1
    ] = 10
    truncated_world.sync(9, 9, n=1)
    truncated_world.settle()
    truncated_world.source["t"].ends.update({0: 60, 1: 4})
    truncated_world.tick(5)
    assert len(truncated_world.resets) == 2
    assert "t[0], 100 (and 1 more of its partitions), is beyond" in (
        truncated_world.verdict().reason
    )


@pytest.mark.parametrize("quiet", [True, False])
def test_a_running_mirror_begins_anew_before_the_cut_is_believed(
    truncated_world: World, quiet: bool
) -> None:
    truncated_world.source["t"].ends[0] = 60
    truncated_world.sync(0, 100)
    truncated_world.target["t"].ends[0] = 160
    if not quiet:
        truncated_world.sync(59, 159)
    truncated_world.tick(6)
    assert truncated_world.verdict().health is Health.WARNING
    assert (
        "MirrorMaker restarted from the beginning"
        in truncated_world.verdict().reason
    )
    assert (
        truncated_world.reset().kind,
        truncated_world.reset().harmless,
    ) == (
        ResetKind.BEYOND,
        True,
    )
    # It goes on there as if nothing had been.
    truncated_world.source["t"].ends[0] = 90
    truncated_world.target["t"].ends[0] = 190
    truncated_world.sync(80, 180)
    truncated_world.settle()
    assert truncated_world.seen.counts == {"t": 1}


@pytest.mark.parametrize(
    ("position", "health", "count"),
    [(30, Health.WARNING, 0), (150, Health.CRITICAL, 40)],
)
def test_commits_tell_what_becomes_of_it_where_there_are_no_syncs(
    position: int, health: Health, count: int
) -> None:
    truncated_world = World()
    truncated_world.commit(100)
    truncated_world.tick(3)
    truncated_world.source["t"].ends[0] = 60
    truncated_world.tick(5)
    assert truncated_world.reset().settled is None
    truncated_world.source["t"].ends[0] = 160
    truncated_world.commit(position)
    truncated_world.settle()
    assert truncated_world.reset().settled is not None
    assert (
        truncated_world.verdict().health,
        truncated_world.reset().count,
    ) == (health, count)
    truncated_world.commit(155)
    truncated_world.settle()
    assert truncated_world.seen.counts == {"t": 1}


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


def test_of_one_whose_copies_cannot_be_counted_at_most_so_many() -> None:
    world = World.settled()
    world.foreign.add(("t", 0))
    world.tick()
    passed(world, 250, 250, 250)
    world.tick(3)
    assert world.reset().at_most
    assert (world.reset().first, world.reset().end) == (100, 250)


def test_what_expires_behind_a_mirror_is_not_lost_whoever_writes() -> None:
    world = World.settled()
    world.foreign.add(("t", 0))
    world.tick()
    passed(world, 100, 200, 200)
    world.tick(30)
    world.source["t"].starts[0] = 200
    world.tick(30)
    assert world.resets == ()


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


@pytest.mark.parametrize("restarts", [False, True])
def test_commits_that_are_read_before_the_copies_hide_nothing(
    restarts: bool,
) -> None:
    world = World.settled()
    world.source["t"] = Log("s1", {0: 500}, {0: 250})
    world.target["t"].ends[0] = 200
    for position in (300, 350):
        world.commit(position)
        world.tick()
    if restarts:
        world.restart()
    world.tick(2)
    assert world.resets == ()
    world.sync(250, 100)
    world.sync(349, 199)
    world.tick(3)
    is_told(world)


def test_commits_before_a_gap_show_what_had_been_passed() -> None:
    world = World.settled()
    world.source["t"].ends[0] = 250
    world.commit(200)
    world.tick(2)
    world.source["t"] = Log("s1", {0: 500}, {0: 250})
    world.commit(350)
    world.tick(2)
    world.sync(250, 100)
    world.tick(3)
    assert (world.reset().first, world.reset().end) == (200, 250)


def test_where_copies_were_not_read_so_many_may_have_expired() -> None:
    world = World.settled()
    passed(world, 250, 250, 150)
    world.take_unread()
    world.sync(399, 249, after_unread=True)
    world.tick(3)
    reset = world.reset()
    assert (reset.kind, reset.first, reset.end) == (
        ResetKind.UNVERIFIED,
        100,
        250,
    )
    assert world.verdict().health is Health.WARNING
    assert "Up to 150 records may have expired" in world.verdict().reason


def test_nothing_is_said_where_the_log_still_held_all_of_it() -> None:
    world = World.settled()
    passed(world, 100, 250, 150)
    world.take_unread()
    world.sync(399, 249, after_unread=True)
    world.tick(30)
    assert world.resets == ()


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


@pytest.fixture
def identity_world() -> World:
    return World.settled()


def test_another_cluster_is_critical_until_the_right_one_answers(
    identity_world: World,
) -> None:
    old = identity_world.source["t"].id
    identity_world.sync(20, 300)
    identity_world.tick()
    identity_world.ids["summit"] = "X"
    identity_world.source["t"].id = "sX"
    identity_world.tick()
    assert identity_world.verdict().health is Health.CRITICAL
    assert "summit answers with cluster id X, expected S" in (
        identity_world.verdict().reason
    )
    identity_world.restart()
    identity_world.tick(3)
    assert identity_world.reset().kind is ResetKind.OTHER_CLUSTER
    identity_world.ids["summit"] = "S"
    identity_world.source["t"].id = old
    identity_world.settle()
    assert (identity_world.resets, identity_world.verdict().health) == (
        (),
        Health.OK,
    )


def test_syncs_that_another_cluster_tells_are_not_booked(
    identity_world: World,
) -> None:
    identity_world.sync(20, 300)
    identity_world.tick()
    identity_world.ids["summit"] = "X"
    identity_world.tick()
    identity_world.ids["summit"] = "S"
    identity_world.settle()
    assert identity_world.resets == ()


@pytest.mark.parametrize("alias", ["summit", "ldf"])
def test_another_cluster_can_be_accepted(
    identity_world: World, alias: str
) -> None:
    identity_world.ids[alias] = "X"
    logs = (
        identity_world.source if alias == "summit" else identity_world.target
    )
    logs["t"].id = "another"
    identity_world.tick()
    identity_world.accepted = {alias: "X"}
    identity_world.restart()
    identity_world.settle()
    assert identity_world.resets == ()
    # It is pinned now, whatever the configuration says later.
    identity_world.accepted = {}
    identity_world.restart()
    identity_world.settle()
    assert identity_world.verdict().health is Health.OK


def test_a_configured_id_rules_from_the_start() -> None:
    identity_world = World()
    identity_world.accepted = {"ldf": "M"}
    identity_world.restart()
    identity_world.tick()
    assert "ldf answers with cluster id L, expected M" in (
        identity_world.verdict().reason
    )


@pytest.fixture
def leaving_world() -> World:
    """Of its topic, 150 records expired unread; the mirror is down."""
    leaving_world = World.settled()
    leaving_world.source["t"] = Log("s1", {0: 500}, {0: 250})
    leaving_world.tick(2)
    return leaving_world


def test_what_expired_of_it_is_over_after_a_minute(
    leaving_world: World,
) -> None:
    leaving_world.source.pop("t")
    leaving_world.tick(5)
    assert leaving_world.reset().settled is None
    leaving_world.tick(10)
    assert leaving_world.verdict().health is Health.CRITICAL
    assert "is no longer replicated: t[0] offsets [100, 250)" in (
        leaving_world.verdict().reason
    )
    leaving_world.now += timedelta(hours=1)
    leaving_world.tick()
    assert leaving_world.resets == ()
    assert leaving_world.seen.counts == {"t": 1}


def test_a_topic_that_a_cluster_forgets_for_seconds_is_nothing(
    leaving_world: World,
) -> None:
    log = leaving_world.source.pop("t")
    leaving_world.tick(5)
    leaving_world.source["t"] = log
    leaving_world.tick(10)
    leaving_world.source.pop("t")
    leaving_world.tick(5)
    assert (leaving_world.reset().settled, leaving_world.reset().away) == (
        None,
        False,
    )


def test_only_topics_that_are_there_are_said_to_be_kept(
    leaving_world: World,
) -> None:
    leaving_world.source["u"] = Log("s3", {0: 10})
    leaving_world.sync(9, 9, "u")
    leaving_world.settle()
    assert leaving_world.verdict().evidence["partitions"] == 2
    leaving_world.source.pop("t")
    leaving_world.tick(20)
    assert leaving_world.verdict().evidence["partitions"] == 1


def test_what_comes_back_is_told_again(leaving_world: World) -> None:
    log = leaving_world.source.pop("t")
    leaving_world.tick(20)
    leaving_world.source["t"] = log
    leaving_world.tick(3)
    assert [r.settled is None for r in leaving_world.resets] == [False, True]
    assert (
        "and more expire while replication is stopped"
        in leaving_world.verdict().reason
    )


def test_a_position_beyond_the_end_goes_with_its_log() -> None:
    leaving_world = World.settled()
    leaving_world.source["t"].ends[0] = 60
    leaving_world.tick(5)
    log = leaving_world.source.pop("t")
    leaving_world.tick(15)
    assert leaving_world.resets == ()
    leaving_world.source["t"] = log
    leaving_world.tick(5)
    assert leaving_world.reset().kind is ResetKind.BEYOND


def test_one_made_again_twice_is_held_to_the_first_position() -> None:
    leaving_world = World.settled()
    leaving_world.source["t"] = Log("s2", {0: 300})
    leaving_world.tick(2)
    leaving_world.source.pop("t")
    leaving_world.tick(15)
    assert (
        leaving_world.verdict().health is Health.OK
    )  # nothing of it is there
    assert leaving_world.verdict().evidence["open_resets"] == 0
    leaving_world.restart()
    leaving_world.source["t"] = Log("s3", {0: 300})
    leaving_world.tick(3)
    assert leaving_world.verdict().health is Health.CRITICAL
    leaving_world.sync(100, 100)
    leaving_world.settle()
    assert "100 records of the new topic were never copied" in (
        leaving_world.verdict().reason
    )


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
    assert (
        "was rewound and copies 60 records again"
        in rewind_world.verdict().reason
    )
    rewind_world.sync(310, 370)
    grow(rewind_world, 400)
    rewind_world.settle()
    assert rewind_world.reset().settled is not None
    assert rewind_world.verdict().health is Health.WARNING
    assert "copied 60 records again: t[0] offsets [240, 300)" in (
        rewind_world.verdict().reason
    )
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
    assert "copied 200 records again" in rewind_world.verdict().reason
    assert "[300, 400)" in rewind_world.verdict().reason
    assert "[900, 1000)" in rewind_world.verdict().reason


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


def test_one_made_again_at_the_target_is_critical() -> None:
    world = World.settled()
    world.target["t"] = Log("t2", {0: 0})
    world.tick()
    assert world.reset().kind is ResetKind.TARGET_RECREATED
    assert world.verdict().health is Health.CRITICAL
    assert "1 partition (100 offsets) are gone there" in world.verdict().reason
    # The mirror goes on, and its offsets say nothing about old copies.
    world.source["t"].ends[0] = 150
    world.sync(100, 0)
    world.target["t"].ends[0] = 50
    world.settle()
    assert len(world.resets) == 1
    world.restart()
    world.settle()
    assert world.seen.counts == {"t": 1}


def test_one_deleted_at_the_target_a_while_before_is_counted_too() -> None:
    world = World.settled()
    deleted = world.target.pop("t")
    world.tick()
    world.tick()
    assert deleted.ends == {0: 100}
    assert world.resets == ()
    world.target["t"] = Log("t2", {0: 0})
    world.tick()
    assert "1 partition (100 offsets) are gone there" in world.verdict().reason


def test_one_deleted_and_created_around_a_restart_has_no_number() -> None:
    world = World.settled()
    del world.target["t"]
    world.tick()
    world.restart()
    world.target["t"] = Log("t2", {0: 0})
    world.settle()
    assert "1 partition are gone there" in world.verdict().reason


# Target topics whose offsets do not count copies: others write there, or the
# mirror's transactions leave markers.

WORLDS = [{"merged": ["t"]}, {"estimates": False}]


def test_what_others_write_hides_no_loss() -> None:
    world = World.settled(merged=["t"])
    world.source["t"] = Log("s1", {0: 500}, {0: 250})
    world.target["t"].ends[0] = 700
    # A commit is up to a minute old, so it takes longer than usual.
    world.tick(45)
    assert (world.reset().first, world.reset().end) == (100, 250)
    world.sync(250, 700)
    world.settle()
    assert (world.reset().kind, world.reset().count) == (
        ResetKind.EXPIRED,
        150,
    )


def test_a_merged_topic_that_goes_on_is_ok() -> None:
    world = World.settled(merged=["t"])
    for n in range(1, 5):
        world.source["t"].ends[0] = 100 + 100 * n
        world.target["t"].ends[0] = 100 + 300 * n
        world.sync(100 * n, 300 * n)
        world.sync(100 * n, 300 * n)
        world.tick()
    world.settle()
    world.restart()
    world.settle()
    assert (world.resets, world.verdict().health) == ((), Health.OK)


@pytest.mark.parametrize("how", WORLDS, ids=["merged", "transactions"])
@pytest.mark.parametrize("first", [0, 100])
def test_a_topic_made_again_is_held_to_its_own_offsets(
    how: dict[str, object], first: int
) -> None:
    world = World.settled(**how)  # type: ignore[arg-type]
    world.target["t"].ends[0] = 350
    world.tick()
    world.source["t"] = Log("s2", {0: 300})
    world.tick()
    assert world.reset().end == 100
    world.target["t"].ends[0] = 900
    world.sync(first, 850)
    world.settle()
    assert (world.reset().count, world.reset().harmless) == (
        first,
        first == 0,
    )


def test_a_sync_of_the_old_topic_that_is_written_again_decides_nothing() -> (
    None
):
    world = World.settled(merged=["t"])
    world.source["t"] = Log("s2", {0: 300})
    world.tick(2)
    world.sync(99, 99)
    world.settle()
    assert world.reset().settled is None


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_position_that_is_not_known_is_not_out_of_range(
    is_committed: bool,
) -> None:
    """What is committed is known, whatever copies prove."""
    world = World()
    if is_committed:
        world.commit(100)
    world.sync(99, 99)
    world.tick(2)
    world.unproved = {("t", 0): "no copy is found"}
    world.source["t"].ends[0] = 200
    world.source["t"].starts[0] = 150
    world.settle()
    verdict = world.verdict()
    if is_committed:
        assert verdict.health is Health.CRITICAL
        return
    assert verdict.health is Health.UNKNOWN
    assert "t[0]: no copy is found" in verdict.reason
    assert world.resets == ()
    world.unproved = {}
    world.settle()
    assert world.verdict().health is Health.CRITICAL


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
        assert "restarted from the beginning" in verdict.reason


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
