"""Where the mirror is, by what it says and by what the target holds."""

from datetime import timedelta

from mirrorwatch.domain.lag.model import FirstRecord

from .view import a_tracker, a_view, only


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
    view = a_view(0, end=100, sync=(79, 79), copied=95)
    lag = only(a_tracker(estimates=False).take(view))
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
