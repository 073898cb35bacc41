"""How a topic is doing."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.cluster_view import FlowView
from mirrorwatch.domain.lag.model import LagStatus, Position, PositionSource
from mirrorwatch.domain.lag.tracker import (
    BUCKET,
    LagContext,
    LagTrend,
    PartitionLag,
    summarize,
)

from .view import NOON, a_tracker, a_view, only


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


def test_a_topic_that_was_never_copied_says_so() -> None:
    lag = only(a_tracker().take(a_view(0, end=100, start=40)))
    assert lag.status is LagStatus.NOT_BEGUN
    assert (lag.records, lag.origin) == (60, "start")


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


def test_lag_that_grows_from_stretch_to_stretch_falls_behind() -> None:
    trend = LagTrend()
    for n in range(7):
        for burst in (50, 0):
            trend.see(n * BUCKET + burst, 0, 0, 40.0 + n + burst)
    assert trend.falls_behind()


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
        ),
    )
    assert lag.stuck == timedelta(seconds=50)
    assert lag.status is LagStatus.STOPPED


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
