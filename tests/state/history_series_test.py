"""Any stretch of the history, told in as many points as are asked for."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirrorwatch.domain.report import Health
from mirrorwatch.state import Database
from mirrorwatch.state.history import Bucket, History
from tests.support.builders import FLOW, NOON
from tests.support.ticks import HOUR, MINUTE, MS, SECOND, a_tick, only


def test_time_without_ticks_is_a_gap(history: History) -> None:
    history.record(a_tick(NOON, 10 * MS))
    history.record(a_tick(NOON + MINUTE, 10 * MS))

    series = history.series(FLOW.name, NOON, NOON + 70 * SECOND, 7)

    healths = [p.bucket.health for p in series.points]
    assert healths == [Health.OK, *[None] * 5, Health.OK]


def test_what_fine_buckets_no_longer_reach_is_told_from_coarse_ones(
    history: History,
) -> None:
    history.record(a_tick(NOON, 10 * MS, delivered=1))
    history.record(a_tick(NOON + 48 * HOUR, 10 * MS, delivered=2))

    series = history.series(FLOW.name, NOON, NOON + 10 * MINUTE, 60)

    assert series.step == 5 * MINUTE
    assert [p.bucket.delivered for p in series.points] == [1, 0]


@pytest.mark.parametrize(
    ("span", "points", "step"),
    [
        (15 * MINUTE, 90, 10 * SECOND),
        (HOUR, 180, 20 * SECOND),
        (24 * HOUR, 288, 5 * MINUTE),
        (24 * HOUR, 100_000, 2 * MINUTE),
        (30 * 24 * HOUR, 300, 3 * HOUR),
        (30 * 24 * HOUR, 1, 30 * 24 * HOUR),
    ],
)
def test_points_have_round_widths_that_stay_when_only_the_end_is_asked_for(
    history: History, span: timedelta, points: int, step: timedelta
) -> None:
    series = history.series(FLOW.name, NOON - span, NOON, points)
    last = series.points[-1].at
    newest = history.series(FLOW.name, last, last + step, 1)

    assert series.step == step
    assert newest.step == step
    assert [p.at for p in newest.points] == [last]


def test_points_are_never_narrower_than_two_ticks() -> None:
    history = History(Database(None), interval=30 * SECOND)

    series = history.series(FLOW.name, NOON - 15 * MINUTE, NOON, 900)

    assert series.step == MINUTE


TICKS = st.lists(
    st.tuples(
        st.integers(min_value=1, max_value=600).map(lambda s: s * SECOND),
        st.lists(st.timedeltas(min_value=-SECOND, max_value=HOUR), max_size=4),
        st.integers(min_value=0, max_value=9),
        st.sampled_from(Health),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(TICKS)
def test_a_roll_up_says_the_same_as_its_ticks(
    ticks: list[tuple[timedelta, list[timedelta], int, Health]],
) -> None:
    history = History(Database(None))
    truth = Bucket()
    at, delivered = NOON, 0
    for pause, latencies, outstanding, health in ticks:
        at += pause
        delivered += len(latencies)
        tick = a_tick(
            at,
            *latencies,
            health=health,
            outstanding=outstanding,
            delivered=delivered,
        )
        history.record(tick)
        alone = History(Database(None))
        alone.record(tick)
        truth.add(only(alone, at, SECOND))
    truth.delivered = delivered

    for points in (1, 2, 24, 720):
        rolled = Bucket()
        series = history.series(FLOW.name, NOON, NOON + 2 * HOUR, points)
        for point in series.points:
            rolled.add(point.bucket)
        assert rolled.latencies.cells == truth.latencies.cells
        assert rolled.worst == truth.worst
        assert rolled.delivered == truth.delivered
        assert rolled.outstanding == truth.outstanding
        assert rolled.health == truth.health
