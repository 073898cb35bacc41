"""How long until it is copied, and until it is lost."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.cluster_view import TopicConfigs

from .view import HOUR_MS, a_tracker, a_view, only


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
