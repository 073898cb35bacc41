"""How a topic is doing."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrorwatch.domain.cluster_view import (
    FlowView,
    Position,
    PositionSource,
    TopicConfigs,
    TopicFacts,
    TopicPartition,
)
from mirrorwatch.domain.lag.filtered_tails import FilteredTails
from mirrorwatch.domain.lag.model import (
    FirstRecord,
    LagObservation,
    LagStatus,
    TopicLag,
)
from mirrorwatch.domain.lag.partition import KEPT, EndHistory, PartitionLag
from mirrorwatch.domain.lag.retention import RetentionLimits, judge_retention
from mirrorwatch.domain.lag.topic import (
    BUCKET,
    LagContext,
    LagTrend,
    summarize,
)
from mirrorwatch.domain.lag.tracker import LagTracker
from mirrorwatch.domain.mirror_records import Committed
from mirrorwatch.domain.report import Health, Verdict
from tests.support.findings import find

from .view import HOUR_MS, NOON, a_tracker, a_view, only


def test_a_position_that_stands_is_stopped() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=100, committed=100))
    tracker.take(a_view(5, end=110, committed=100))
    lag = only(tracker.take(a_view(65, end=110, committed=100)))
    assert lag.status is LagStatus.STOPPED
    assert lag.stuck == timedelta(seconds=60)


def test_a_topic_that_was_idle_for_long_is_not_stuck_at_once() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=100, committed=100))
    lag = only(tracker.take(a_view(9999, end=110, committed=100)))
    assert lag.status is LagStatus.MOVING
    assert lag.stuck == timedelta()


def test_an_idle_mirror_that_is_rewound_is_not_stuck_at_once() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=100, committed=100))
    tracker.take(a_view(7200, end=100, committed=10))
    (wanted,) = tracker.wanted()
    tracker.resolve([FirstRecord(wanted, 10, NOON)])
    lag = only(tracker.take(a_view(7230, end=100, committed=10)))
    assert (lag.seconds, lag.stuck) == (7230, timedelta(seconds=30))
    # Nor is one that copies again.
    lag = only(tracker.take(a_view(7260, end=100, committed=50)))
    assert lag.status is LagStatus.MOVING


def test_a_record_that_waits_makes_no_rewind_an_old_one() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=100, committed=100))
    tracker.take(a_view(7200, end=101, committed=100))
    lag = only(tracker.take(a_view(7230, end=101, committed=10)))
    assert lag.stuck == timedelta(seconds=30)


def test_a_rewind_sets_nothing_else_going() -> None:
    """A mirror is stopped to be rewound: its other topics do not go on."""
    tracker = a_tracker()
    tracker.take(a_view_of_partitions(0, (0, 100, 100), (0, 100, 100)))
    tracker.take(a_view_of_partitions(5, (0, 100, 110), (0, 100, 100)))
    tracker.take(a_view_of_partitions(600, (0, 100, 110), (0, 10, 100)))
    seen = tracker.take(a_view_of_partitions(700, (0, 100, 110), (0, 10, 100)))
    assert [
        (each.status, each.stuck.total_seconds())
        for each in only(seen).standing
    ] == [(LagStatus.STOPPED, 695), (LagStatus.STOPPED, 100)]


def test_what_only_goes_back_is_stuck() -> None:
    tracker = a_tracker()
    for seconds in range(0, 300, 30):
        view = a_view(seconds, end=100, committed=100 - seconds // 30)
        lag = only(tracker.take(view))
    # It was idle before the first time.
    assert lag.stuck == timedelta(seconds=240)


def test_an_estimate_that_is_given_up_moves_nothing() -> None:
    tracker = a_tracker()
    view = a_view(0, end=85, sync=(79, 79), committed=80, copied=85)
    assert only(tracker.take(view)).records == 0
    for seconds in range(5, 300, 5):
        at = NOON + timedelta(seconds=seconds)
        lag = only(tracker.take(replace(view, at=at)))
    assert (lag.position, lag.stuck) == (80, timedelta(seconds=295))


def test_a_topic_that_was_never_copied_says_so() -> None:
    lag = only(a_tracker().take(a_view(0, end=100, start=40)))
    assert lag.status is LagStatus.NOT_BEGUN
    assert (lag.records, lag.origin) == (60, "start")


def test_how_long_a_position_stood_is_known_at_once() -> None:
    tracker = a_tracker()
    tracker.take(a_view(900, end=110, committed=100))
    (wanted,) = tracker.wanted()
    tracker.resolve([FirstRecord(wanted, 100, NOON + timedelta(seconds=300))])
    lag = only(tracker.take(a_view(905, end=110, committed=100)))
    assert lag.status is LagStatus.STOPPED
    assert lag.stuck == timedelta(seconds=605)


def test_a_record_that_came_just_now_has_not_waited_since_the_last_one() -> (
    None
):
    tracker = a_tracker()
    tracker.take(a_view(900, end=110, committed=100))
    (wanted,) = tracker.wanted()
    tracker.resolve([FirstRecord(wanted, 100, NOON + timedelta(seconds=899))])
    lag = only(tracker.take(a_view(905, end=110, committed=100)))
    assert lag.status is LagStatus.MOVING


def away(tracker: LagTracker, first: int, last: int) -> None:
    """Let the source be out of reach, for the agent alone."""
    for seconds in range(first, last, 30):
        view = replace(a_view(seconds, end=0), source=None, names={})
        seen = tracker.take(replace(view, problems=("summit is away",)))
        assert seen.problems


def test_a_mirror_that_stopped_while_nobody_looked_has_stood_since() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=100, committed=100))
    away(tracker, 30, 630)
    stopped = a_view(630, end=400, committed=200, written=90)
    seen = tracker.take(stopped)
    assert "t[0] have waited is not known yet" in seen.problems[0]
    (wanted,) = tracker.wanted()
    tracker.resolve([FirstRecord(wanted, 200, NOON + timedelta(seconds=95))])
    seen = tracker.take(replace(stopped, at=NOON + timedelta(seconds=635)))
    assert seen.problems == ()
    assert only(seen).status is LagStatus.STOPPED
    assert only(seen).stuck == timedelta(seconds=540)


def test_a_topic_that_was_hidden_is_not_running_until_its_record_is_read() -> (
    None
):
    tracker = a_tracker()
    before = a_view(0, end=100, committed=100)
    tracker.take(before)
    for seconds in (30, 330, 630):
        at = NOON + timedelta(seconds=seconds)
        tracker.take(replace(before, at=at, names={}))
    stopped = a_view(660, end=400, committed=200, written=90)
    seen = tracker.take(stopped)
    assert "t[0] have waited is not known yet" in seen.problems[0]
    (wanted,) = tracker.wanted()
    tracker.resolve([FirstRecord(wanted, 200, NOON + timedelta(seconds=95))])
    seen = tracker.take(replace(stopped, at=NOON + timedelta(seconds=665)))
    assert seen.problems == ()
    assert only(seen).status is LagStatus.STOPPED
    assert only(seen).stuck == timedelta(seconds=570)


def test_records_that_nobody_saw_come_are_not_called_new_until_read() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=100, committed=100))
    away(tracker, 30, 630)
    for seconds in (630, 635, 640):
        assert tracker.take(a_view(seconds, end=400, committed=100)).problems
    # What cannot be read counts from when it was seen, as at the start.
    lag = only(tracker.take(a_view(760, end=400, committed=100)))
    assert lag.stuck == timedelta(seconds=130)


def test_a_mirror_that_ran_while_nobody_looked_is_running() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=100, committed=100))
    away(tracker, 30, 630)
    runs = a_view(630, end=400, committed=390, written=620)
    seen = tracker.take(runs)
    assert (seen.problems, only(seen).status) == ((), LagStatus.MOVING)
    (wanted,) = tracker.wanted()
    tracker.resolve([FirstRecord(wanted, 390, NOON + timedelta(seconds=628))])
    seen = tracker.take(replace(runs, at=NOON + timedelta(seconds=635)))
    assert (seen.problems, only(seen).status) == ((), LagStatus.MOVING)


def test_a_record_that_came_last_while_nobody_looked_is_not_stuck() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=100, committed=100))
    away(tracker, 30, 630)
    assert tracker.take(a_view(630, end=101, committed=100)).problems
    (wanted,) = tracker.wanted()
    tracker.resolve([FirstRecord(wanted, 100, NOON + timedelta(seconds=628))])
    seen = tracker.take(a_view(635, end=101, committed=100))
    assert (seen.problems, only(seen).status) == ((), LagStatus.MOVING)


def test_a_mirror_that_stopped_while_the_target_was_away_is_known() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=100, committed=100, copied=100))
    for seconds in range(30, 630, 30):
        end = 100 + seconds
        tracker.take(a_view(seconds, end=end, committed=100, target=False))
    seen = tracker.take(a_view(630, end=730, committed=190, written=90))
    assert seen.problems == ()
    assert only(seen).stuck == timedelta(seconds=510)


def test_one_survey_that_failed_is_no_time_in_which_nobody_looked() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=100, committed=100))
    away(tracker, 5, 6)
    seen = tracker.take(a_view(10, end=110, committed=105, written=1))
    assert (seen.problems, only(seen).at_least) == ((), False)
    assert only(seen).stuck == timedelta()


def test_another_topic_of_the_same_name_begins_anew() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=100, committed=100))
    tracker.take(a_view(5, end=110, committed=100))
    lag = only(tracker.take(a_view(10, end=110, committed=100, id_="other")))
    assert lag.stuck == timedelta()


def test_a_target_that_does_not_answer_is_not_another_one() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=110, committed=100, copied=100))
    lag = only(tracker.take(a_view(60, end=110, committed=100, target=False)))
    assert lag.stuck is not None
    assert lag.stuck > timedelta(seconds=30)


def test_records_wait_as_before_where_their_copies_are_deleted() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=100, committed=100, copied=100))
    tracker.take(a_view(5, end=110, committed=100, copied=100))
    lag = only(tracker.take(a_view(305, end=110, committed=100)))
    assert lag.status is LagStatus.STOPPED
    assert (lag.stuck, lag.seconds) == (timedelta(minutes=5), 300)


@pytest.mark.parametrize(
    "view",
    [
        a_view(0, end=50, committed=100),
        a_view(0, end=100, committed=100, caught_up=False),
    ],
    ids=["beyond the end", "unread"],
)
def test_what_is_not_known_is_not_called_even(view: FlowView) -> None:
    seen = a_tracker().take(view)
    assert seen.unknown_partitions or seen.problems


def test_what_was_copied_before_a_leader_was_lost_does_not_stand() -> None:
    def leaderless(seconds: float, committed: int) -> FlowView:
        view = a_view(seconds, end=0, committed=committed)
        assert view.source is not None
        return replace(view, source=replace(view.source, ends={}))

    tracker = a_tracker()
    tracker.take(a_view(0, end=100, committed=90))
    # The rest was copied, and committed after the leader was lost.
    lag = only(seen := tracker.take(leaderless(300, 120)))
    assert (lag.status, lag.records) == (LagStatus.EVEN, 0)
    assert seen.unknown_partitions == 1
    # What was not stands, as far as is known.
    tracker = a_tracker()
    tracker.take(a_view(0, end=100, committed=90))
    lag = only(tracker.take(leaderless(300, 90)))
    assert (lag.status, lag.records) == (LagStatus.STOPPED, 10)


@pytest.mark.parametrize(
    ("read", "falls_behind"),
    [(0, True), (90, True), (100, True), (110, False)],
)
def test_lag_that_grows_from_stretch_to_stretch_falls_behind(
    read: int, *, falls_behind: bool
) -> None:
    """A burst of 1,000 records, then 100 in each stretch."""
    trend = LagTrend()
    for n in range(7):
        for burst in (50, 0):
            end, age = 1000 + 100 * n, 40.0 + n + burst
            trend.see(n * BUCKET + burst, read * n, end, age)
    assert trend.falls_behind() is falls_behind


def test_what_has_caught_up_falls_behind_no_more() -> None:
    trend = LagTrend()
    for n in range(6):
        trend.see(n * BUCKET, 0, 0, 40.0 + n)
    assert trend.falls_behind()
    trend.see(5 * BUCKET + 10, 0, 0, 0.0)
    assert not trend.falls_behind()


def test_bursts_do_not_fall_behind() -> None:
    trend = LagTrend()
    for n in range(20):
        trend.see(n * BUCKET, 0, 0, 100.0 * n)
        trend.see(n * BUCKET + 60, 0, 0, 0.0)
    assert not trend.falls_behind()


@pytest.mark.parametrize(
    ("others_moved", "status"),
    [(0, LagStatus.STOPPED), (30, LagStatus.STALLED)],
)
def test_a_topic_stalls_alone_and_stops_with_all_others(
    others_moved: float, status: LagStatus
) -> None:
    track = PartitionLag(epoch=("a", "b"), moved_at=NOON)
    track.move(Position(5, PositionSource.SYNC), 9, NOON)
    lag = summarize(
        "t",
        {0: track},
        LagContext(
            now=NOON + timedelta(seconds=60),
            topic_class="",
            configs=None,
            trend=LagTrend(),
            starts={},
            flow_moved_at=NOON + timedelta(seconds=others_moved),
            patience=timedelta(minutes=2),
        ),
    )
    assert lag.status is status


def test_an_idle_topic_whose_records_come_after_all_stopped_is_stopped() -> (
    None
):
    """Others went on after it had moved last, but not while it had to."""
    track = PartitionLag(epoch=("a", "b"), moved_at=NOON)
    track.move(Position(9, PositionSource.SYNC), 9, NOON)
    track.move(
        Position(9, PositionSource.SYNC), 9, NOON + timedelta(seconds=49)
    )
    track.move(
        Position(9, PositionSource.SYNC), 15, NOON + timedelta(seconds=50)
    )
    lag = summarize(
        "t",
        {0: track},
        LagContext(
            now=NOON + timedelta(seconds=100),
            topic_class="",
            configs=None,
            trend=LagTrend(),
            starts={},
            flow_moved_at=NOON + timedelta(seconds=45),
            patience=timedelta(minutes=2),
        ),
    )
    assert lag.stuck == timedelta(seconds=50)
    assert lag.status is LagStatus.STOPPED


def statuses(flush: int, copied: float) -> list[LagStatus]:
    """Follow for twenty commits a topic that gets ten records a second, of
    which so many are copied; only commits show that.
    """
    tracker = a_tracker()
    found = []
    for seconds in range(0, 20 * flush, flush // 8):
        committed = round(copied * (seconds - seconds % flush))
        # Learned, and never twice the same.
        cadence = timedelta(seconds=flush + seconds % 70 / 100)
        view = a_view(seconds, end=10 * seconds, committed=committed)
        found.append(only(tracker.take(view, cadence=cadence)).status)
    return found


@pytest.mark.parametrize("flush", [60, 90, 120, 300, 600])
def test_a_topic_falls_behind_however_seldom_positions_are_committed(
    flush: int,
) -> None:
    found = statuses(flush, 4.5)
    first = found.index(LagStatus.FALLING_BEHIND)
    assert first <= 8 * 12
    assert {*found[first:]} == {LagStatus.FALLING_BEHIND}


@pytest.mark.parametrize("flush", [60, 300, 900])
def test_a_topic_does_not_fall_behind_between_two_commits(flush: int) -> None:
    assert LagStatus.FALLING_BEHIND not in statuses(flush, 10)


def test_a_topic_falls_behind_for_as_long_as_it_does() -> None:
    tracker = a_tracker()
    found = []
    for seconds in range(0, 3 * 3600, 5):
        committed = round(4.5 * (seconds - seconds % 60))
        view = a_view(seconds, end=10 * seconds, committed=committed)
        lag = only(tracker.take(view))
        found.append(lag.status)
        # What waits was written when a tenth of its offset had passed.
        assert lag.seconds == pytest.approx(seconds - committed / 10, abs=20)
    first = found.index(LagStatus.FALLING_BEHIND)
    assert {*found[first:]} == {LagStatus.FALLING_BEHIND}


def test_stretches_that_were_not_seen_make_no_trend() -> None:
    trend = LagTrend()
    for n in range(7):
        trend.see(3 * n * BUCKET, 0, 0, 40.0 + n)
    assert not trend.falls_behind()


def test_what_grows_does_not_drain() -> None:
    trend = LagTrend()
    trend.see(0, 0, 0, 0)
    trend.see(10, 100, 200, 0)
    assert trend.drain(100) is None


def test_nothing_that_waits_is_zero_and_even() -> None:
    lag = only(a_tracker().take(a_view(0, end=100, committed=100)))
    assert (lag.records, lag.seconds) == (0, 0)
    assert lag.status is LagStatus.EVEN


def test_seconds_count_from_when_the_record_was_first_seen() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=100, committed=100))
    tracker.take(a_view(5, end=110, committed=100))
    lag = only(tracker.take(a_view(30, end=200, committed=100)))
    assert (lag.seconds, lag.at_least) == (25, False)
    lag = only(tracker.take(a_view(31, end=200, committed=110)))
    assert (lag.seconds, lag.at_least) == (1, False)


def test_an_idle_topic_does_not_age() -> None:
    tracker = a_tracker()
    for seconds in (0, 1000, 9999):
        lag = only(tracker.take(a_view(seconds, end=100, committed=100)))
        assert lag.seconds == 0


def test_a_record_older_than_the_agent_is_read_for_its_age() -> None:
    tracker = a_tracker()
    lag = only(tracker.take(a_view(0, end=100, committed=90)))
    assert (lag.seconds, lag.at_least) == (0, True)
    (wanted,) = tracker.wanted()
    assert (wanted.place, wanted.position, wanted.end) == (("t", 0), 90, 100)
    written = NOON - timedelta(hours=2)
    tracker.resolve([FirstRecord(wanted, 90, written)])
    lag = only(tracker.take(a_view(5, end=100, committed=90)))
    assert (lag.seconds, lag.at_least) == (7205, False)
    assert list(tracker.wanted()) == []


def test_what_a_slow_mirror_copies_is_as_old_as_it_is() -> None:
    # It had a hundred records to copy when the agent was started, written one
    # each half minute, and goes on by one in each look: the record that was
    # read is never the one that is next.
    tracker = a_tracker(TopicConfigs(retention_ms=HOUR_MS))
    started = 100 * 30
    for look in range(20):
        now, position = started + 30 * look, look
        lag = only(
            tracker.take(a_view(now, end=100 + look, committed=position))
        )
        assert lag.headroom is not None
        if look:
            age = now - 30 * position
            assert (lag.seconds, lag.at_least) == (age, False)
            left = lag.headroom.remaining.total_seconds()
            assert lag.just_seen or left == HOUR_MS / 1000 - age
        (wanted,) = tracker.wanted()
        written = NOON + timedelta(seconds=30 * position)
        tracker.resolve([FirstRecord(wanted, position, written)])
    assert not lag.just_seen


def test_what_is_read_again_is_no_younger_than_what_was_passed() -> None:
    tracker = a_tracker()
    tracker.take(a_view(3000, end=100, committed=50))
    (wanted,) = tracker.wanted()
    tracker.resolve([FirstRecord(wanted, 50, NOON)])
    lag = only(tracker.take(a_view(3030, end=100, committed=75)))
    # Half of what there was is passed, half of the time has gone by then.
    assert lag.seconds == 1530
    lag = only(tracker.take(a_view(3060, end=100, committed=10)))
    assert (lag.seconds, lag.at_least) == (60, True)


def test_markers_at_the_end_are_no_lag() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=101, committed=100))
    (wanted,) = tracker.wanted()
    tracker.resolve([FirstRecord(wanted, None)])
    lag = only(tracker.take(a_view(5, end=101, committed=100)))
    assert (lag.records, lag.seconds) == (0, 0)
    # What comes behind them does wait, and is looked at again.
    lag = only(tracker.take(a_view(10, end=103, committed=100)))
    assert lag.records == 2
    tracker.take(a_view(15, end=103, committed=100))
    (wanted,) = tracker.wanted()
    assert (wanted.position, wanted.end) == (101, 103)


def test_what_expired_unread_is_no_lag_and_is_not_proved_to_be_empty() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=110, committed=100, start=110))
    assert list(tracker.wanted()) == []  # nothing can be read there
    lag = only(tracker.take(a_view(9000, end=110, committed=100, start=110)))
    assert (lag.records, lag.status) == (0, LagStatus.EVEN)
    # What comes behind it does wait, and markers before that do not.
    lag = only(tracker.take(a_view(9005, end=112, committed=100, start=110)))
    assert (lag.records, lag.position, lag.stuck) == (2, 100, timedelta())
    lag = only(tracker.take(a_view(9010, end=112, committed=100, start=110)))
    (wanted,) = tracker.wanted()
    assert (wanted.position, wanted.end) == (110, 112)
    tracker.resolve([FirstRecord(wanted, 111, NOON)])
    lag = only(tracker.take(a_view(9015, end=112, committed=100, start=110)))
    assert (lag.records, lag.position) == (1, 100)
    assert tracker.empty_until() == {}


def test_markers_before_what_expired_unread_stay_proved() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=105, committed=100))
    (wanted,) = tracker.wanted()
    tracker.resolve([FirstRecord(wanted, 102, NOON)])
    tracker.take(a_view(5, end=105, committed=100, start=104))
    (wanted,) = tracker.wanted()
    tracker.resolve([FirstRecord(wanted, None)])
    assert only(tracker.take(a_view(10, end=105, committed=100))).records == 0
    assert tracker.empty_until() == {("t", 0): 102}


def test_a_stopped_mirror_stays_stopped_as_what_waits_expires() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=100, committed=100))
    tracker.take(a_view(5, end=110, committed=100))
    tracker.take(a_view(7200, end=111, committed=100))
    lag = only(tracker.take(a_view(7205, end=111, committed=100, start=110)))
    assert (lag.records, lag.seconds) == (1, 5)
    assert (lag.status, lag.stuck) == (
        LagStatus.STOPPED,
        timedelta(seconds=7200),
    )
    # Once all of it has expired, what comes next has not waited since then.
    tracker.take(a_view(7300, end=111, committed=100, start=111))
    lag = only(tracker.take(a_view(7305, end=112, committed=100, start=111)))
    assert (lag.status, lag.stuck) == (LagStatus.MOVING, timedelta())


def test_what_follows_a_position_that_is_counted_back_is_not_proved() -> None:
    # Copies that two tasks made make the mirror seem further on.
    tracker = a_tracker()
    view = a_view(0, end=111, committed=100, sync=(99, 99), copied=110)
    tracker.take(view)
    (wanted,) = tracker.wanted()
    tracker.resolve([FirstRecord(wanted, None)])
    assert tracker.position(("t", 0)) == (111, False)
    assert tracker.empty_until() == {}


def test_markers_that_were_truncated_leave_room_for_records() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=101, committed=100))
    (wanted,) = tracker.wanted()
    tracker.resolve([FirstRecord(wanted, None)])
    tracker.take(a_view(5, end=100, committed=100))
    lag = only(tracker.take(a_view(10, end=101, committed=100)))
    assert lag.records == 1


def test_offsets_without_data_before_the_next_record_do_not_wait() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=100, committed=50))
    (wanted,) = tracker.wanted()
    tracker.resolve([FirstRecord(wanted, 70, NOON)])
    lag = only(tracker.take(a_view(5, end=100, committed=50)))
    assert (lag.records, lag.position) == (30, 70)


def test_an_answer_is_void_when_the_mirror_moved_meanwhile() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=100, committed=50))
    (wanted,) = tracker.wanted()
    tracker.take(a_view(5, end=100, committed=60))
    tracker.resolve([FirstRecord(wanted, None)])
    lag = only(tracker.take(a_view(10, end=100, committed=60)))
    assert lag.records == 40


def test_a_mirror_that_goes_on_is_not_read_after() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=100, committed=100))
    tracker.take(a_view(5, end=120, committed=110))
    assert list(tracker.wanted()) == []


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=300),
    st.integers(0, 2000),
)
def test_the_age_of_what_waits_is_never_lost(
    written: list[int], position: int
) -> None:
    true: dict[int, float] = {}
    ends, end = EndHistory(), 0
    for second, count in enumerate(written):
        before, end = end, end + count
        ends.see(end, float(second))
        true.update(dict.fromkeys(range(before, end), float(second)))
        position_now = min(position, end)
        ends.pass_(position_now)
        assert len(ends.entries) <= KEPT
        assert ends.last == end
        if position_now < end:
            found = ends.written_at(position_now)
            assert found is not None
            # Thinned out, it may only be said to be younger, never older.
            assert found[0] >= true[position_now]
            if position_now == position and second < KEPT:
                assert found[0] == true[position_now]


def test_a_record_that_waits_keeps_its_age_however_much_follows() -> None:
    ends = EndHistory()
    for second in range(KEPT * 5):
        ends.see(10 * (second + 1), float(second))
    assert ends.written_at(0) == (0.0, True)
    assert len(ends.entries) <= KEPT


def test_a_record_between_ends_that_became_one_is_about_as_old_as_it_is() -> (
    None
):
    ends = EndHistory()
    for second in range(KEPT * 20):
        ends.see(10 * (second + 1), float(second))
    for position in range(10, KEPT * 200, 10):
        about = ends.written_about(position)
        assert about == pytest.approx(position // 10, abs=1)
    # Before the first end that was seen nothing is known.
    assert ends.written_about(0) == 0


def test_an_end_that_stands_is_one_entry() -> None:
    ends = EndHistory()
    for second in range(9):
        ends.see(10, float(second))
    assert ends.entries == [(10, 0.0, 0.0)]


def test_the_age_of_what_was_passed_before_is_a_lower_bound() -> None:
    ends = EndHistory()
    ends.see(100, 0.0)
    ends.see(200, 5.0)
    ends.pass_(100)
    assert ends.written_at(100) == (5.0, False)
    assert ends.written_at(50) == (5.0, True)


def test_what_comes_while_a_tail_is_read_does_wait() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=101, committed=100))
    (wanted,) = tracker.wanted()
    tracker.take(a_view(5, end=105, committed=100))
    tracker.resolve([FirstRecord(wanted, None)])
    lag = only(tracker.take(a_view(10, end=105, committed=100)))
    assert lag.records == 4


def test_it_is_estimated_as_soon_as_a_mirror_goes_on() -> None:
    trend = LagTrend()
    # It stands for two minutes; 1,200 records are written meanwhile.
    for second in range(120):
        trend.see(second, 0, min(1200, 20 * second), second)
        assert trend.drain(1200) is None
    for second in range(120, 140):
        copied = 30 * (second - 119)
        trend.see(second, copied, 1200, second)
        estimate = trend.drain(1200 - copied)
        if second < 129:
            assert estimate is None  # perhaps it is one batch
        else:
            assert estimate == timedelta(seconds=(1200 - copied) / 30)


def test_what_is_written_meanwhile_is_taken_off() -> None:
    trend = LagTrend()
    for second in range(90):
        trend.see(second, 30 * second, 1000 + 10 * second, 5)
    assert trend.drain(200) == timedelta(seconds=10)


def test_a_mirror_that_stands_again_drains_slower_and_then_not_at_all() -> (
    None
):
    trend = LagTrend()
    for second in range(31):
        trend.see(second, 30 * second, 2000, 5)
    fast = trend.drain(1000)
    for second in range(31, 60):
        trend.see(second, 900, 2000, 5)
    slow = trend.drain(1000)
    assert fast is not None
    assert slow is not None
    assert slow > fast
    for second in range(60, 120):
        trend.see(second, 900, 2000, 5)
    assert trend.drain(1000) is None


def test_it_drains_as_fast_as_in_the_last_minute() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=1000, committed=100))
    lag = only(tracker.take(a_view(10, end=1010, committed=210)))
    # 11 records a second copied, 1 written: 800 are gone in 80 s.
    assert lag.drain == timedelta(seconds=80)
    lag = only(tracker.take(a_view(90, end=1010, committed=210)))
    lag = only(tracker.take(a_view(95, end=1010, committed=210)))
    assert lag.drain is None


def test_headroom_by_time_is_what_the_oldest_has_left() -> None:
    configs = TopicConfigs(retention_ms=HOUR_MS, retention_bytes=-1)
    tracker = a_tracker(configs)
    headroom = only(tracker.take(a_view(0, end=100, committed=100))).headroom
    assert headroom is not None
    assert (headroom.remaining, headroom.share) == (timedelta(hours=1), 1)
    tracker.take(a_view(5, end=110, committed=100))
    headroom = only(
        tracker.take(a_view(1805, end=110, committed=100))
    ).headroom
    assert headroom is not None
    assert headroom.remaining == timedelta(minutes=30)
    assert headroom.share == 0.5


def test_what_expired_uncopied_is_not_what_expires_next() -> None:
    tracker = a_tracker(TopicConfigs(retention_ms=HOUR_MS))
    tracker.take(a_view(0, end=100, committed=90))
    (wanted,) = tracker.wanted()
    tracker.resolve([FirstRecord(wanted, 90, NOON)])
    # Ten records came later, and those before them were deleted.
    for seconds, start in ((3000, 0), (3600, 0), (3660, 100)):
        view = a_view(seconds, end=110, committed=90, start=start)
        lag = only(tracker.take(view))
        assert lag.headroom is not None
        left = lag.headroom.remaining.total_seconds()
        assert left == (3600 - 660 if start else 3600 - seconds)


def test_headroom_by_size_is_an_estimate() -> None:
    configs = TopicConfigs(retention_ms=-1, retention_bytes=1000)
    tracker = a_tracker(configs)
    tracker.take(a_view(0, end=1000, committed=1000, start=500))
    lag = only(tracker.take(a_view(10, end=1100, committed=1000, start=600)))
    assert lag.headroom is not None
    assert lag.headroom.estimated
    # 10 a second are written; the log start is 400 behind the position.
    assert lag.headroom.remaining == timedelta(seconds=40)
    assert lag.headroom.share == 0.8


@pytest.mark.parametrize("by_time", [True, False])
def test_a_log_that_is_shortened_by_time_is_not_full(by_time: bool) -> None:
    """Its oldest record is as old as records become, or half as old."""
    configs = TopicConfigs(retention_ms=24 * HOUR_MS, retention_bytes=1000)
    tracker = a_tracker(configs)
    verdicts = []
    oldest = NOON - timedelta(hours=24 if by_time else 12)
    for seconds in range(0, 130, 10):
        # A burst: at this rate, all that is retained is gone in minutes.
        view = a_view(
            seconds, end=1000 + 10 * seconds, committed=1000, start=500
        )
        seen = tracker.take(view)
        verdicts.append(
            judge_retention("f", seen, RetentionLimits(), seen.at).health
        )
        found = [FirstRecord(w, 500, oldest) for w in tracker.wanted_starts()]
        assert len(found) <= 1
        assert not (found and found[0].wanted.position != 500)
        tracker.resolve_starts(found)
    expected = Health.OK if by_time else Health.CRITICAL
    assert verdicts[-1] is expected
    assert list(tracker.wanted_starts()) == []
    # With the next segment it is asked again.
    tracker.take(a_view(140, end=2400, committed=1000, start=600))
    assert [w.position for w in tracker.wanted_starts()] == [600]


@pytest.mark.parametrize("waits", [0, 900])
def test_how_fast_a_topic_fills_up_is_not_known_at_once(waits: int) -> None:
    known: dict[str, TopicConfigs] = {}
    tracker = LagTracker(
        flow="f", class_of=lambda _: "", configs=lambda: known
    )

    def look(seconds: float) -> Verdict:
        end = 10_000 + round(10 * seconds)
        view = a_view(
            seconds, end=end, committed=end - waits, start=end - 1000
        )
        seen = tracker.take(view)
        return judge_retention("f", seen, RetentionLimits(), seen.at)

    assert look(0).health is Health.UNKNOWN
    known["t"] = TopicConfigs(retention_ms=-1, retention_bytes=1000)
    verdict = look(5)
    assert verdict.health is Health.UNKNOWN
    find(verdict, "retention.unmeasured", topic="t", topics=1)
    assert look(10).health is (Health.CRITICAL if waits else Health.OK)


def test_a_topic_that_stands_is_soon_known_not_to_fill_up() -> None:
    configs = TopicConfigs(retention_ms=-1, retention_bytes=1000)
    tracker = a_tracker(configs)
    found = []
    for seconds in (0, 5, 10):
        view = a_view(seconds, end=1000, committed=1000, start=500)
        found.append(only(tracker.take(view)).unmeasured)
    assert found == [True, False, False]


def test_a_topic_that_never_lost_records_by_size_waits_for_nothing() -> None:
    configs = TopicConfigs(retention_ms=-1, retention_bytes=1000)
    lag = only(a_tracker(configs).take(a_view(0, end=1000, committed=10)))
    assert not lag.unmeasured


@pytest.mark.parametrize(
    ("retention_ms", "retention_bytes", "moves", "health"),
    [
        (-1, 1000, False, Health.UNKNOWN),
        # It is copied; it keeps records for ever; the time says when.
        (-1, 1000, True, Health.OK),
        (-1, -1, False, Health.OK),
        (24 * HOUR_MS, 1000, False, Health.OK),
    ],
)
def test_a_log_that_has_not_reached_its_size_may_soon(
    retention_ms: int, retention_bytes: int, *, moves: bool, health: Health
) -> None:
    tracker = a_tracker(
        TopicConfigs(
            retention_ms=retention_ms, retention_bytes=retention_bytes
        )
    )
    for seconds in range(0, 600, 5):
        committed = 1000 + 10 * (seconds if moves else 0)
        view = a_view(seconds, end=1020 + 10 * seconds, committed=committed)
        seen = tracker.take(view)
    verdict = judge_retention("f", seen, RetentionLimits(), seen.at)
    assert verdict.health is health
    if health is Health.UNKNOWN:
        find(verdict, "retention.by-size-only", topic="t", topics=1)


def a_view_of_partitions(
    seconds: float, *logs: tuple[int, int, int]
) -> FlowView:
    """Return a view of partitions by their log start, position and end."""
    view = a_view(seconds, end=0)
    assert view.source is not None
    facts = TopicFacts(
        id="source id", partitions=len(logs), replication_factor=1
    )
    places = [("t", p) for p in range(len(logs))]
    return replace(
        view,
        committed={
            (topic, p): Committed(
                topic=topic, partition=p, position=logs[p][1], written_at=NOON
            )
            for topic, p in places
        },
        source=replace(
            view.source,
            topics={"t": facts},
            starts={place: logs[place[1]][0] for place in places},
            ends={place: logs[place[1]][2] for place in places},
        ),
    )


def retained_by_size(
    *others: tuple[int, int, int],
) -> tuple[LagObservation, Verdict]:
    """Judge a partition of 90,000 records that gets 100 a second, of which
    80,000 wait, beside others that get none.
    """
    configs = TopicConfigs(retention_ms=-1, retention_bytes=1000)
    tracker = a_tracker(configs)
    for seconds in range(0, 65, 5):
        end = 100_000 + 100 * seconds
        busy = (end - 90_000, end - 80_000, end)
        seen = tracker.take(a_view_of_partitions(seconds, busy, *others))
    verdict = judge_retention("f", seen, RetentionLimits(), seen.at)
    return seen, verdict


@pytest.mark.parametrize(
    "others",
    [
        (),
        # Old records of it expired by time once; all others are copied.
        ((500, 510, 510),),
        # One waits, and it may wait for years.
        ((500, 509, 510),),
        ((500, 509, 510),) * 9,
    ],
)
def test_a_partition_that_fills_up_is_not_hidden_by_idle_ones(
    others: tuple[tuple[int, int, int], ...],
) -> None:
    seen, verdict = retained_by_size(*others)
    headroom = only(seen).headroom
    assert headroom is not None
    assert headroom.remaining == timedelta(seconds=100)
    assert verdict.health is Health.CRITICAL
    find(verdict, "retention.expiring", topic="t", seconds=100)


def test_what_ends_first_hides_nothing_of_which_less_is_left() -> None:
    """Of the time a third is left, an hour. A burst of records fills the log,
    of which four fifths are left.
    """
    configs = TopicConfigs(retention_ms=3 * HOUR_MS, retention_bytes=1000)
    tracker = a_tracker(configs)
    tracker.take(a_view(0, end=50_000, committed=50_000, start=20_000))
    tracker.take(a_view(5, end=51_000, committed=50_000, start=20_000))
    for seconds in range(7200, 7265, 5):
        end = 51_000 + 100 * (seconds - 7200)
        view = a_view(seconds, end=end, committed=50_000, start=20_000)
        seen = tracker.take(view)
    headroom = only(seen).headroom
    assert headroom is not None
    assert headroom.remaining == timedelta(seconds=300)
    assert headroom.share > 0.8
    verdict = judge_retention("f", seen, RetentionLimits(), seen.at)
    assert verdict.health is Health.CRITICAL
    find(verdict, "retention.expiring", topic="t", seconds=3545)


@pytest.mark.parametrize(
    "configs",
    [
        TopicConfigs(retention_ms=-1, retention_bytes=-1),
        TopicConfigs(
            retention_ms=HOUR_MS, cleanup_policy=frozenset({"compact"})
        ),
        None,
    ],
)
def test_what_is_never_deleted_has_no_headroom(
    configs: TopicConfigs | None,
) -> None:
    lag = only(a_tracker(configs).take(a_view(0, end=9, committed=1)))
    assert lag.headroom is None


def test_the_committed_position_counts_where_it_is_ahead() -> None:
    lag = only(a_tracker().take(a_view(0, end=100, committed=90)))
    assert (lag.records, lag.position, lag.origin) == (10, 90, "committed")


def test_a_sync_is_ahead_of_an_old_commit() -> None:
    view = a_view(0, end=100, committed=50, sync=(79, 79))
    lag = only(a_tracker().take(view))
    assert (lag.records, lag.origin) == (20, "sync")


def test_the_targets_end_tells_what_was_copied_since() -> None:
    # Ten were dropped before the sync: offsets differ by ten.
    view = a_view(0, end=100, sync=(79, 69), copied=85)
    lag = only(a_tracker().take(view))
    assert (lag.records, lag.position, lag.origin) == (5, 95, "estimate")


def test_an_estimate_never_passes_the_sources_end() -> None:
    view = a_view(0, end=100, sync=(79, 79), copied=500)
    assert only(a_tracker().take(view)).records == 0


def test_an_estimate_that_is_never_proved_is_not_believed() -> None:
    tracker = a_tracker()
    for seconds in range(0, 180, 10):
        view = a_view(seconds, end=100, sync=(79, 79), copied=500)
        assert only(tracker.take(view)).records == 0
    lag = only(tracker.take(a_view(190, end=100, sync=(79, 79), copied=500)))
    assert (lag.records, lag.origin) == (20, "sync")


def test_an_estimate_that_is_proved_again_and_again_is_believed() -> None:
    tracker = a_tracker()
    for seconds in range(0, 1000, 10):
        copied = 100 + seconds
        proved = 60 * ((copied - 1) // 60)
        view = a_view(
            seconds, end=copied + 5, sync=(proved, proved), copied=copied
        )
        assert only(tracker.take(view)).records == 5


def test_a_transactional_mirror_is_not_counted_back() -> None:
    view = a_view(0, end=100, sync=(79, 79), copied=95, exactly_once=True)
    lag = only(a_tracker().take(view))
    assert (lag.records, lag.origin) == (20, "sync")


def test_a_mirror_that_goes_back_has_not_gone_on() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=110, committed=100))
    tracker.take(a_view(60, end=110, committed=90))
    lag = only(tracker.take(a_view(120, end=110, committed=90)))
    assert lag.stuck == timedelta(seconds=120)


def test_what_was_read_at_a_position_is_void_when_it_goes_back() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=101, committed=100))
    (wanted,) = tracker.wanted()
    tracker.resolve([FirstRecord(wanted, None)])
    lag = only(tracker.take(a_view(5, end=101, committed=50)))
    assert lag.records == 51


CONFIGS = TopicConfigs(retention_ms=HOUR_MS, retention_bytes=1000)

steps = st.tuples(
    st.sampled_from([5, 15, 61, 300]),  # seconds that pass
    st.sampled_from([0, 0, 0, 7, 400]),  # records written
    st.sampled_from([0, 1, 1, 1]),  # whether the mirror is at the end
    st.sampled_from([0, 0, 0, 5]),  # records deleted
)


def a_forgetful_tracker() -> LagTracker:
    """Return one to which configurations look new at every survey."""
    return LagTracker(
        flow="f",
        class_of=lambda _: "telemetry",
        configs=lambda: {"t": replace(CONFIGS)},
    )


@settings(deadline=None)
@given(st.lists(steps, max_size=20))
def test_lag_that_is_kept_is_the_lag_that_would_be_found(
    steps: list[tuple[int, int, int, int]],
) -> None:
    keeps, forgets = a_tracker(CONFIGS), a_forgetful_tracker()
    at = end = committed = start = 0
    for seconds, written, copies, deleted in steps:
        at, end = at + seconds, end + written
        committed = end if copies else committed
        start = min(start + deleted, committed)
        view = a_view(at, end=end, committed=committed, start=start)
        assert keeps.take(view) == forgets.take(view)


def test_a_topic_on_which_nothing_moves_is_not_summarized_again() -> None:
    tracker = a_tracker(CONFIGS)
    view = a_view(0, end=9, committed=9)
    first = only(tracker.take(view))
    again = replace(view, at=view.at + timedelta(seconds=5))
    assert only(tracker.take(again)) is first


def lag_of_two(
    committed: Callable[[int, int], int],
) -> list[tuple[timedelta | None, Health]]:
    """Judge a topic that keeps its records for a week: in one partition 40
    wait since four days, the other gets ten every five seconds, which are
    committed every minute.

    Parameters
    ----------
    committed
        Returns the position in the first by time and start.
    """
    configs = TopicConfigs(retention_ms=7 * 24 * HOUR_MS, retention_bytes=-1)
    tracker, begin, found = a_tracker(configs), 4 * 86_400, []
    tracker.take(a_view_of_partitions(0, (0, 1000, 1000), (0, 0, 0)))
    for seconds in (5, *range(begin, begin + 600, 5)):
        minute, written = seconds // 60 * 60, max(0, seconds - begin) * 2
        seen = tracker.take(
            a_view_of_partitions(
                seconds,
                (0, committed(minute, begin), 1040),
                (0, max(0, minute - begin) * 2, written),
            )
        )
        verdict = judge_retention("f", seen, RetentionLimits(), seen.at)
        found.append((only(seen).drain, verdict.health))
    return found[1:]


def test_a_partition_that_stands_does_not_drain_with_the_others() -> None:
    found = lag_of_two(lambda _now, _begin: 1000)
    assert {*found} == {(None, Health.CRITICAL)}


def test_partitions_that_all_move_drain() -> None:
    found = lag_of_two(lambda now, begin: 1000 + max(0, now - begin) // 60)
    assert any(drain for drain, _ in found)
    assert Health.OK in {health for _, health in found}


WEEK_MS = 7 * 24 * HOUR_MS
DAY = 86_400


class Dropped(FilteredTails):
    """Tails that are dropped up to some source offsets."""

    def __init__(self, until: Mapping[TopicPartition, int]) -> None:
        super().__init__()
        self.until = until

    def dropped(self) -> dict[TopicPartition, tuple[int, int]]:
        return {place: (0, end) for place, end in self.until.items()}


@pytest.mark.parametrize(
    ("until", "health"),
    [
        # A filter drops all that waits: its records may expire.
        (1040, Health.OK),
        # It is not known of any, or of those before only.
        (0, Health.CRITICAL),
        (1000, Health.CRITICAL),
    ],
)
def test_what_a_filter_drops_may_expire(until: int, health: Health) -> None:
    tracker = LagTracker(
        flow="f",
        class_of=lambda _: "",
        configs=lambda: {"t": TopicConfigs(retention_ms=WEEK_MS)},
    )
    tracker.tails = Dropped({("t", 0): until})
    tracker.take(a_view_of_partitions(0, (0, 1000, 1000), (0, 10, 10)))
    for seconds in (5, 600, 4 * DAY, 4 * DAY + 5, 6 * DAY + DAY // 2):
        view = a_view_of_partitions(seconds, (0, 1000, 1040), (0, 10, 10))
        seen = tracker.take(view)
    verdict = judge_retention("f", seen, RetentionLimits(), seen.at)
    assert verdict.health is health


@pytest.mark.parametrize("filtered", [True, False])
@pytest.mark.parametrize("found", [True, False])
def test_an_agent_that_starts_has_yet_to_find_what_a_filter_drops(
    *, filtered: bool, found: bool
) -> None:
    """40 records wait since four days; it is known after three minutes that
    they were dropped, or it never is.
    """
    dropped: dict[tuple[str, int], int] = {}
    tracker = LagTracker(
        flow="f",
        class_of=lambda _: "",
        configs=lambda: {"t": TopicConfigs(retention_ms=WEEK_MS)},
        filtered=lambda _: filtered,
    )
    tracker.tails = Dropped(dropped)
    told = {}
    for seconds in range(0, 600, 5):
        seen = tracker.take(
            a_view_of_partitions(4 * DAY + seconds, (0, 1000, 1040))
        )
        tracker.resolve(
            FirstRecord(wanted, wanted.position, NOON)
            for wanted in [*tracker.wanted()]
        )
        if seconds == 180 and found:
            dropped["t", 0] = 1040
        verdict = judge_retention("f", seen, RetentionLimits(), seen.at)
        told[seconds] = verdict.health
    assert told[60] is (Health.UNKNOWN if filtered else Health.CRITICAL)
    assert told[595] is (Health.OK if found else Health.CRITICAL)
    if filtered and found:
        assert Health.CRITICAL not in told.values()


def test_what_came_behind_what_a_filter_dropped_may_be_lost() -> None:
    """The mirror stopped a day later, and the source got more."""
    tracker = LagTracker(
        flow="f",
        class_of=lambda _: "",
        configs=lambda: {"t": TopicConfigs(retention_ms=WEEK_MS)},
    )
    tracker.tails = Dropped({("t", 0): 1040})
    found = []
    tracker.take(a_view_of_partitions(0, (0, 1000, 1000)))
    tracker.take(a_view_of_partitions(5, (0, 1000, 1040)))
    for day in range(1, 7):
        view = a_view_of_partitions(day * DAY, (0, 1000, 1050))
        seen = tracker.take(view)
        verdict = judge_retention("f", seen, RetentionLimits(), seen.at)
        found.append(verdict.health)
    assert found == [Health.OK] * 4 + [Health.CRITICAL] * 2
    find(verdict, "retention.expiring", topic="t", seconds=2 * DAY)


@pytest.mark.parametrize("dropped", [0, 990])
def test_what_a_filter_drops_may_go_by_size(dropped: int) -> None:
    """Of a log of 1,000 records, 900 wait: 890 of them are dropped."""
    tracker = LagTracker(
        flow="f",
        class_of=lambda _: "",
        configs=lambda: {
            "t": TopicConfigs(retention_ms=-1, retention_bytes=9)
        },
    )
    for count in range(14):
        tracker.tails = Dropped({("t", 0): dropped + 10 * count})
        end = 1000 + 10 * count
        start = 10 * count
        view = a_view_of_partitions(count * 5, (start + 1, 101, end))
        seen = tracker.take(view)
    verdict = judge_retention("f", seen, RetentionLimits(), seen.at)
    assert verdict.health is (Health.OK if dropped else Health.CRITICAL)


def restarted(
    tracker: LagTracker, since: dict[str, datetime] | None = None
) -> tuple[LagTracker, dict[str, datetime]]:
    """Return a tracker that begins with what another one has written down."""
    kept = {} if since is None else since
    for condition in tracker.changes.ended:
        del kept[condition]
    kept |= tracker.changes.began
    return LagTracker(
        flow="f", class_of=lambda _: "", configs=dict, uncopied=kept
    ), kept


def never_copied(tracker: LagTracker, seconds: float, **more: Any) -> TopicLag:
    """Return the lag of a topic that was never copied, once its next record
    was read, which was written at the first survey.
    """
    tracker.take(a_view(seconds, end=100, **more))
    tracker.resolve([FirstRecord(w, 0, NOON) for w in tracker.wanted()])
    return only(tracker.take(a_view(seconds, end=101, **more)))


def test_what_was_never_copied_has_waited_since_before_a_restart() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=100))
    assert list(tracker.changes.began.values()) == [NOON]
    tracker, kept = restarted(tracker)
    # It is not called new before its record is read.
    assert tracker.take(a_view(600, end=100)).problems
    lag = never_copied(tracker, 630)
    assert (lag.status, lag.stuck) == (
        LagStatus.NOT_BEGUN,
        timedelta(seconds=630),
    )
    assert not tracker.changes.began
    # A topic that was recreated meanwhile is new.
    tracker, _ = restarted(tracker, kept)
    tracker.take(a_view(660, end=100, id_="another"))
    assert tracker.changes.ended == kept.keys()
    assert never_copied(tracker, 690, id_="another").stuck == timedelta(
        seconds=30
    )


def test_what_was_copied_meanwhile_is_remembered_no_more() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=100))
    tracker, kept = restarted(tracker)
    view = a_view(600, end=110, committed=100, written=590)
    lag = only(tracker.take(view))
    assert (lag.status, lag.stuck) == (LagStatus.MOVING, timedelta())
    assert restarted(tracker, kept)[1] == {}
    # Nor is what does not wait.
    tracker = a_tracker()
    tracker.take(a_view(0, end=0))
    assert not tracker.changes.began


def test_what_is_not_seen_for_a_moment_waits_as_before() -> None:
    tracker = a_tracker()
    tracker.take(a_view(0, end=100))
    _, kept = restarted(tracker)
    assert never_copied(tracker, 600).stuck == timedelta(seconds=600)
    view = a_view(630, end=101)
    assert view.source is not None
    hidden = replace(view, names={})
    leaderless = replace(view, source=replace(view.source, ends={}))
    for unseen in (hidden, leaderless):
        tracker.take(unseen)
        _, kept = restarted(tracker, kept)
        assert never_copied(tracker, 660).stuck == timedelta(seconds=660)
    # For as long as it has no leader, whatever becomes of its track.
    tracker, kept = restarted(tracker, kept)
    for seconds in (700, 1000):
        at = NOON + timedelta(seconds=seconds)
        tracker.take(replace(leaderless, at=at))
        assert not tracker.changes.ended
    # One that is gone is not remembered.
    for seconds in (1030, 1060, 1090):
        assert kept
        at = NOON + timedelta(seconds=seconds)
        tracker.take(replace(hidden, at=at))
        _, kept = restarted(tracker, kept)
    assert not kept


def test_what_was_there_at_the_first_look_has_not_come_since() -> None:
    """It may be markers alone, where nobody may read what it is."""
    tracker = a_tracker()
    tracker.take(a_view(0, end=100))
    tracker, _ = restarted(tracker)
    tracker.unreadable = {"t": "No READ"}
    problem = "Whether records of t[0] wait is not known. No READ"
    for seconds in (600, 2400):
        assert problem in tracker.take(a_view(seconds, end=100)).problems
    seen = tracker.take(a_view(2430, end=101))
    assert problem not in seen.problems


@pytest.mark.parametrize("passed", [100, 150])
def test_a_record_read_beyond_a_position_that_moved_back_tells_no_age(
    passed: int,
) -> None:
    track = PartitionLag(
        epoch=("id", None),
        moved_at=NOON,
        position=Position(50, PositionSource.COMMITTED),
        end=100,
        passed=(passed, 0.0),
    )
    track.ends.see(100, NOON.timestamp())
    assert track.waiting_since() == (NOON.timestamp(), True)
