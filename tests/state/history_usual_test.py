"""What the history calls usual."""

import pytest

from mirrorwatch.state.history import History
from tests.support.builders import FLOW, NOON
from tests.support.ticks import HOUR, MINUTE, MS, a_tick, milliseconds


def test_usual_is_the_middle_of_the_past_day(history: History) -> None:
    end = NOON
    for minutes in range(0, 60, 5):
        slow = 5000 if minutes in (10, 20) else 20
        history.record(a_tick(end - HOUR + minutes * MINUTE, slow * MS))

    usual = history.usual_p99(FLOW.name, end)

    assert milliseconds(usual) == pytest.approx(20, rel=0.01)


def test_usual_leaves_out_the_last_five_minutes_and_what_is_old(
    history: History,
) -> None:
    old = NOON - 26 * HOUR
    for minutes in range(0, 60, 5):
        history.record(a_tick(old + minutes * MINUTE, 9000 * MS))
    for minutes in range(30, 0, -5):
        history.record(a_tick(NOON - minutes * MINUTE, 20 * MS))

    assert history.usual_p99(FLOW.name, NOON) is None
    assert milliseconds(
        history.usual_p99(FLOW.name, NOON + 5 * MINUTE)
    ) == pytest.approx(20, rel=0.01)


def test_usual_is_read_again_when_a_bucket_is_complete(
    history: History,
) -> None:
    for minutes in range(0, 30, 5):
        history.record(a_tick(NOON + minutes * MINUTE, 20 * MS))
    before = history.usual_p99(FLOW.name, NOON + 35 * MINUTE)
    for minutes in range(30, 80, 5):
        history.record(a_tick(NOON + minutes * MINUTE, 50 * MS))
    after = history.usual_p99(FLOW.name, NOON + 85 * MINUTE)

    assert milliseconds(before) == pytest.approx(20, rel=0.01)
    assert milliseconds(after) == pytest.approx(50, rel=0.01)
