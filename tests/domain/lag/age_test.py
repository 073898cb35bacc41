"""How long records wait."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.lag.model import FirstRecord, LagStatus
from mirrorwatch.domain.lag.tracker import KEPT, EndHistory

from .view import NOON, a_tracker, a_view, only


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


def test_an_end_that_stands_is_one_entry() -> None:
    ends = EndHistory()
    for second in range(9):
        ends.see(10, float(second))
    assert ends.entries == [(10, 0.0)]


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
