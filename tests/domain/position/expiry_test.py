"""Records that expired before the mirror read them."""

from dataclasses import replace
from datetime import timedelta

import pytest

from mirrorwatch.domain.losses.model import LostRecords
from mirrorwatch.domain.position.model import Reset, ResetKind
from mirrorwatch.domain.report import Health

from .world import Log, World


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
    found = expiry_world.find(
        "expired-unread", topic="t", partition=0, records=150, open_resets=1
    )
    assert not found.past
    assert expiry_world.seen.lost == {}


def test_the_count_grows_while_it_stands_and_is_one_reset(
    expiry_world: World,
) -> None:
    overrun(expiry_world, 250)
    overrun(expiry_world, 300)
    assert expiry_world.reset().count == 200
    assert expiry_world.seen.counts == {"t": 1}


@pytest.mark.parametrize("copies", [0, 1])
def test_what_was_copied_before_more_expires_is_no_loss_for_sure(
    expiry_world: World, copies: int
) -> None:
    # The sync of 250 is still to come: it was counted as lost (12000000050).
    overrun(expiry_world, 250)
    expiry_world.target["t"].ends[0] += copies
    overrun(expiry_world, 262)
    reset = expiry_world.reset()
    assert (reset.first, reset.end) == (100, 262)
    assert reset.at_most is bool(copies)


def test_what_expired_stays_counted_where_more_does_at_once(
    expiry_world: World,
) -> None:
    # What lay before the only record that it copied was forgotten.
    overrun(expiry_world, 250)
    expiry_world.target["t"].ends[0] += 1
    expiry_world.sync(250, 100)
    overrun(expiry_world, 262)
    expiry_world.settle()
    first, second = expiry_world.resets
    assert (first.first, first.end, first.at_most) == (100, 250, False)
    assert (second.first, second.end, second.at_most) == (251, 262, False)
    assert (first.settled is None, second.settled) == (False, None)


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
    found = expiry_world.find("expired-unread", records=160, open_resets=0)
    assert found.past
    assert expiry_world.seen.lost == {"t": LostRecords(expired=160)}


@pytest.mark.parametrize(("start", "most"), [(250, 150), (270, 170)])
def test_syncs_that_failed_are_no_records_that_expired(
    start: int, most: int
) -> None:
    # A mirror that writes in transactions, whose copies nobody can count: all
    # up to its first sync was told to have expired (dense world 1000024).
    world = World.settled(estimates=False)
    world.source["t"].ends[0] = 500
    overrun(world, 250)
    world.commit(280)
    world.source["t"].starts[0] = start
    world.tick(2)
    world.commit(300)
    world.tick(2)
    world.sync(310, 170)
    world.settle()
    world.find("expired-unread", records=0, records_at_most=most)


@pytest.mark.parametrize("start", [90, 100, 101, 250])
@pytest.mark.parametrize("estimates", [True, False])
def test_what_expires_unseen_before_a_commit_may_be_lost(
    start: int, estimates: bool
) -> None:
    # Nobody saw the source, and syncs failed, as the mirror went on there.
    world = World.settled(estimates=estimates)
    world.answers["summit"] = False
    world.source["t"].ends[0], world.source["t"].starts[0] = 500, start
    world.commit(280)
    world.tick(3)
    world.answers["summit"] = True
    world.target["t"].ends[0] = 280
    world.settle()
    if estimates or start <= 100:
        # Copies are counted; or all had been copied.
        assert world.resets == ()
        return
    reset = world.reset()
    assert (reset.kind, reset.first, reset.end) == (
        ResetKind.UNVERIFIED,
        100,
        start,
    )
    world.find("unverifiable", records_at_most=start - 100)


def test_what_a_sync_tells_to_have_expired_is_told_once() -> None:
    world = World.settled(estimates=False)
    world.answers["summit"] = False
    world.source["t"].ends[0], world.source["t"].starts[0] = 500, 250
    world.commit(280)
    world.sync(250, 180)
    world.tick(3)
    world.answers["summit"] = True
    world.settle()
    assert world.reset().kind is ResetKind.EXPIRED


def test_counted_copies_are_of_what_lies_behind_records_that_expired(
    expiry_world: World,
) -> None:
    overrun(expiry_world, 250)
    expiry_world.target["t"].ends[0] = 130
    expiry_world.commit(280)
    expiry_world.tick(2)
    expiry_world.sync(310, 160)
    expiry_world.target["t"].ends[0] = 161
    expiry_world.settle()
    reset = expiry_world.reset()
    assert (reset.kind, reset.first, reset.end) == (
        ResetKind.EXPIRED,
        100,
        250,
    )
    assert not reset.at_most


def test_a_commit_beyond_the_first_sync_changes_nothing() -> None:
    # It was read first, and is of copies behind the one that the sync is of.
    world = World.settled(estimates=False)
    world.source["t"].ends[0] = 500
    overrun(world, 250)
    world.commit(300)
    world.tick(2)
    world.sync(260, 100)
    world.settle()
    world.find("expired-unread", records=160)


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
    expiry_world.find("expired-unread", records_at_most=15, open_resets=0)


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
    world.find("unverifiable", topic="t", partition=0, records_at_most=400)
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
    expiry_world.find("expired-unread", records=110)
    expiry_world.foreign.add(("t", 0))
    expiry_world.tick()
    expiry_world.find("expired-unread", records=0, records_at_most=150)
    expiry_world.sync(260, 900)
    expiry_world.settle()
    assert expiry_world.reset().settled is not None
    expiry_world.find("expired-unread", records=0, records_at_most=160)


def test_more_than_the_source_ever_held_is_of_others(
    expiry_world: World,
) -> None:
    expiry_world.target["t"].ends[0] = 900
    overrun(expiry_world, 250)
    assert expiry_world.resets == ()  # not sure for three minutes
    expiry_world.tick(40)
    expiry_world.find("expired-unread", records=0, records_at_most=150)
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
    world.find("expired-unread", records=150, open_resets=0)
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


@pytest.mark.parametrize("restarts", [False, True])
def test_the_start_of_the_log_may_be_read_half_a_minute_later(
    restarts: bool,
) -> None:
    world = World.settled()
    passed(world, 0, 250, 250)
    world.tick(6)
    assert world.resets == ()
    if restarts:
        # What had been passed was forgotten, and the loss with it.
        world.restart()
    world.source["t"].starts[0] = 250
    world.tick(2)
    is_told(world)


def test_a_start_that_moved_while_the_agent_was_away_tells_no_loss() -> None:
    # The mirror had passed what it dropped, and it expired like all else.
    world = World.settled()
    passed(world, 0, 250, 250)
    world.tick(6)
    world.restart()
    world.now += timedelta(minutes=2)
    world.source["t"].starts[0] = 250
    world.tick(3)
    assert world.resets == ()


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


@pytest.mark.parametrize("restarts", [False, True])
def test_commits_before_a_gap_show_what_had_been_passed(
    restarts: bool,
) -> None:
    world = World.settled()
    world.source["t"].ends[0] = 250
    world.commit(200)
    world.tick(2)
    world.source["t"] = Log("s1", {0: 500}, {0: 250})
    world.commit(350)
    world.tick(2)
    if restarts:
        # 150 records had expired after it, where it was 50.
        world.restart()
    world.sync(250, 100)
    world.tick(3)
    assert (world.reset().first, world.reset().end) == (200, 250)


def test_a_mirror_that_resumes_at_the_end_is_known_by_its_reset() -> None:
    world = World.settled()
    world.resumes_at_end = True
    world.source["t"] = Log("s1", {0: 120}, {0: 105})
    world.settle()
    assert (world.reset().count, world.reset().from_end) == (5, True)
    assert world.verdict().health is Health.CRITICAL


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


def test_a_marker_that_was_seen_before_a_restart_is_no_record() -> None:
    world = World.settled()
    world.source["t"].ends[0] = 101
    world.empty_until = {("t", 0): 101}
    world.tick()
    world.restart()
    world.empty_until = {}
    world.source["t"].starts[0] = 101
    world.tick(60)
    assert world.resets == ()


@pytest.mark.parametrize("seen", [False, True])
def test_what_expired_during_a_restart_is_lost_if_it_was_seen_to_wait(
    seen: bool,
) -> None:
    world = World.settled()
    if seen:
        world.source["t"].ends[0] = 110
        world.tick()
    world.restart()
    world.source["t"] = Log("s1", {0: 110}, {0: 110})
    world.tick(60)
    reset = world.reset()
    assert (reset.first, reset.end) == (100, 110)
    if seen:
        assert world.verdict().health is Health.CRITICAL
        world.find("expired-unread", records=10)
    else:
        assert world.verdict().health is Health.WARNING
        world.find("unverifiable", records=0, records_at_most=10)


def test_markers_of_a_truncated_log_hide_no_loss() -> None:
    world = World.settled()
    world.source["t"].ends[0] = 110
    world.empty_until = {("t", 0): 110}
    world.tick(2)
    world.empty_until = {}
    world.source["t"].ends[0] = 100
    world.tick()
    world.source["t"].ends[0] = 108
    world.tick()
    world.source["t"].starts[0] = 108
    world.tick(2)
    assert (world.reset().first, world.reset().end) == (100, 108)
    assert world.verdict().health is Health.CRITICAL


def test_a_record_that_expired_behind_a_marker_is_lost() -> None:
    world = World.settled()
    world.source["t"].ends[0] = 102  # a marker, and a record behind it
    world.empty_until = {("t", 0): 101}
    world.tick(20)
    world.source["t"] = Log("s1", {0: 103}, {0: 102})
    world.target["t"].ends[0] = 101
    world.sync(102, 100)
    world.tick(3)
    assert (world.reset().first, world.reset().end) == (101, 102)
    assert world.verdict().health is Health.CRITICAL


def test_a_marker_that_was_passed_just_before_it_expired_is_no_record() -> (
    None
):
    world = World.settled()
    world.source["t"].ends[0] = 101  # the marker of the last transaction
    world.empty_until = {("t", 0): 101}
    world.tick(20)
    world.source["t"].ends[0] = 102  # a record, as log starts are not read yet
    world.target["t"].ends[0] = 101
    world.sync(101, 100)
    world.empty_until = {}
    world.tick(2)
    world.source["t"].starts[0] = 101
    world.tick(2)
    assert world.verdict().health is not Health.CRITICAL


@pytest.mark.parametrize("restarts", [False, True])
def test_what_a_filter_dropped_is_not_lost_and_what_is_behind_it_is(
    expiry_world: World, restarts: bool
) -> None:
    expiry_world.dropped = {("t", 0): (100, 250)}
    expiry_world.tick()
    if restarts:
        expiry_world.restart()
    expiry_world.dropped = {}
    overrun(expiry_world, 250)
    assert expiry_world.resets == ()
    overrun(expiry_world, 260)
    assert (expiry_world.reset().first, expiry_world.reset().end) == (250, 260)
    assert expiry_world.verdict().health is Health.CRITICAL


@pytest.mark.parametrize(("end", "lost"), [(250, 0), (240, 10)])
def test_a_filter_that_passes_a_record_again_leaves_out_what_it_dropped(
    end: int, lost: int
) -> None:
    world = World.settled()
    world.source["t"].ends[0] = 250
    world.dropped = {("t", 0): (100, end)}
    world.tick(2)
    passed(world, 250, 250, 1)
    world.tick(3)
    assert sum(reset.count for reset in world.resets) == lost


def test_what_was_dropped_behind_another_position_hides_no_loss(
    expiry_world: World,
) -> None:
    expiry_world.dropped = {("t", 0): (150, 250)}
    overrun(expiry_world, 250)
    assert expiry_world.reset().count == 150


def test_what_is_summed_up_stays_as_certain_as_it_was(
    monkeypatch: pytest.MonkeyPatch, expiry_world: World
) -> None:
    monkeypatch.setattr("mirrorwatch.domain.position.model.KEPT", 1)
    expired = Reset(
        number=0,
        kind=ResetKind.EXPIRED,
        topic="t",
        began=expiry_world.now,
        settled=expiry_world.now,
    )
    state = expiry_world.watch.state
    for number in range(1, 8):
        state.resets[number] = replace(
            expired,
            number=number,
            partition=number,
            first=0,
            end=10,
            at_most=number < 3,
        )
    expiry_world.tick()
    assert len(state.resets) == 3
    expiry_world.find(
        "expired-unread", records=50, records_at_most=20, resets=7
    )


def test_records_of_all_topics_add_up_to_what_expired(
    expiry_world: World,
) -> None:
    overrun(expiry_world, 250)
    reset = expiry_world.reset()
    resets = tuple(
        replace(reset, topic=f"t{n}", number=n) for n in range(1200)
    )
    expiry_world.seen = replace(expiry_world.seen, resets=resets)
    found = [
        f
        for f in expiry_world.verdict().findings
        if f.code == "position.expired-unread"
    ]
    assert {f.subject["topic"] for f in found} == {r.topic for r in resets}
    assert sum(int(f.numbers["records"] or 0) for f in found) == (
        1200 * reset.count
    )
