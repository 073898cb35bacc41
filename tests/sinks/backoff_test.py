"""When to try again, and with how much."""

from collections.abc import Callable
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.sinks.queued import (
    LEAST_POINTS,
    LONGEST_ASKED,
    MOST_POINTS,
    QUICK,
    Backoff,
    BatchSize,
)
from tests.support.isolation import FakeClock

JITTER = st.floats(0, 1, exclude_max=True)


def always(value: float) -> Callable[[], float]:
    return lambda: value


def test_pauses_double_up_to_a_limit_and_vary() -> None:
    clock = FakeClock()
    for share in (0.5, 1.0):
        backoff = Backoff(clock=clock, jitter=always(share * 2 - 1))
        assert backoff.remaining_seconds == 0
        pauses = []
        for _ in range(7):
            backoff.fail()
            pauses.append(backoff.remaining_seconds / share)
        assert pauses == [1, 2, 4, 8, 16, 30, 30]
        backoff.succeed()
        assert backoff.remaining_seconds == 0


@given(st.lists(JITTER, min_size=1, max_size=50))
def test_a_pause_is_never_longer_than_half_a_minute(
    jitters: list[float],
) -> None:
    clock, rest = FakeClock(), iter(jitters)
    backoff = Backoff(clock=clock, jitter=lambda: next(rest))
    for count in range(len(jitters)):
        backoff.fail()
        full = min(2**count, 30)
        assert full / 2 <= backoff.remaining_seconds + 1e-6
        assert backoff.remaining_seconds <= full


@given(JITTER, st.integers(0, 10**6), st.integers(1, 10))
def test_what_the_server_asks_for_is_granted_within_reason(
    jitter: float, asked_seconds: int, failures: int
) -> None:
    backoff = Backoff(clock=FakeClock(), jitter=always(jitter))
    for _ in range(failures):
        backoff.fail(timedelta(seconds=asked_seconds))
    granted = min(asked_seconds, LONGEST_ASKED.total_seconds())
    pause = backoff.remaining_seconds + 1e-6
    assert granted <= pause <= max(granted + 1, 30) + 1e-3


@given(
    st.lists(
        st.none()
        | st.tuples(
            st.integers(1, 10_000),
            st.timedeltas(timedelta(), timedelta(seconds=10)),
        )
    )
)
def test_the_pace_stays_within_its_bounds(
    requests: list[tuple[int, timedelta] | None],
) -> None:
    pace = BatchSize()
    for request in requests:
        before = pace.points
        if request is None:
            pace.fail()
            assert pace.points == LEAST_POINTS
            continue
        pace.went(*request)
        assert LEAST_POINTS <= pace.points <= MOST_POINTS
        if request[1] > QUICK:
            assert pace.points <= before
        else:
            assert pace.points >= before


def test_a_quick_request_with_few_points_proves_nothing() -> None:
    pace = BatchSize()
    pace.went(LEAST_POINTS, timedelta())
    pace.went(1, timedelta())
    assert pace.points == 2 * LEAST_POINTS
