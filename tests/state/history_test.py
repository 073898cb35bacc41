"""What the history keeps of each tick, and for how long."""

import math
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.report import Flow, Health
from mirrorwatch.state import Database
from mirrorwatch.state.history import Bucket, History, LatencySketch
from tests.support.builders import FLOW, NOON, a_canary, a_report, an_arrival
from tests.support.examples import examples
from tests.support.ticks import (
    HOUR,
    MINUTE,
    MS,
    SECOND,
    a_tick,
    milliseconds,
    only,
)


def test_a_bucket_holds_what_its_ticks_saw(history: History) -> None:
    history.record(a_tick(NOON, 10 * MS, outstanding=7, delivered=1))
    history.record(
        a_tick(
            NOON + 5 * SECOND,
            12 * MS,
            900 * MS,
            outstanding=3,
            health=Health.CRITICAL,
            delivered=2,
            late=1,
            lost=4,
            duplicates=2,
        )
    )

    bucket = only(history, NOON, 10 * SECOND)

    assert milliseconds(bucket.latencies.quantile(0.5)) == pytest.approx(
        12, rel=0.01
    )
    assert bucket.worst == 900 * MS
    assert bucket.outstanding == 7
    assert bucket.health is Health.CRITICAL
    assert (bucket.delivered, bucket.late) == (2, 1)
    assert (bucket.lost, bucket.duplicates) == (4, 2)


def test_counters_are_told_as_increments(history: History) -> None:
    history.record(a_tick(NOON, delivered=100, lost=5))
    history.record(a_tick(NOON + 10 * SECOND, delivered=110, lost=5))
    history.record(a_tick(NOON + 20 * SECOND, delivered=125, lost=6))

    series = history.series(FLOW.name, NOON, NOON + 30 * SECOND, 3)

    assert [p.bucket.delivered for p in series.points] == [100, 10, 15]
    assert [p.bucket.lost for p in series.points] == [5, 0, 1]


def test_counters_that_began_again_are_not_told_as_negative(
    history: History,
) -> None:
    history.record(a_tick(NOON, delivered=100, lost=5))
    history.record(a_tick(NOON + 10 * SECOND, delivered=3))

    bucket = only(history, NOON + 10 * SECOND, 10 * SECOND)

    assert (bucket.delivered, bucket.lost) == (3, 0)


def test_a_repeated_observation_is_counted_once_and_its_line_ends(
    history: History,
) -> None:
    seen = a_tick(NOON, 10 * MS, outstanding=2, delivered=1)
    later = a_report(NOON + 10 * SECOND, observations=seen.observations)
    history.record(seen)
    history.record(later)

    before, after = (
        history.series(FLOW.name, NOON, NOON + 20 * SECOND, 2)
    ).points

    assert before.bucket.latencies.count == 1
    assert after.bucket.latencies.count == 0
    assert after.bucket.outstanding is None
    assert after.bucket.health is Health.OK


def test_flows_do_not_mix(history: History) -> None:
    other = Flow(name="ldf->summit", source="ldf", target="summit")
    history.record(
        a_report(
            NOON,
            flows=[FLOW, other],
            observations=[
                a_canary(
                    NOON, flow=other.name, arrivals=[an_arrival(NOON, MS)]
                )
            ],
        )
    )

    assert only(history, NOON, 10 * SECOND).latencies.count == 0


def test_a_restart_does_not_empty_it(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    first = Database(path)
    History(first).record(a_tick(NOON, 10 * MS, delivered=40))
    first.close()

    second = Database(path)
    history = History(second)
    history.record(a_tick(NOON + 10 * SECOND, 10 * MS, delivered=45))
    series = history.series(FLOW.name, NOON, NOON + 20 * SECOND, 2)
    second.close()

    assert [p.bucket.delivered for p in series.points] == [40, 5]


def test_it_is_bounded_by_age_also_for_flows_that_are_gone(
    tmp_path: Path,
) -> None:
    path = tmp_path / "state.db"
    database = Database(path)
    history = History(database)
    gone = Flow(name="gone", source="a", target="b")
    history.record(a_report(NOON, flows=[gone]))
    for hours in range(0, 24 * 32, 2):
        history.record(a_tick(NOON + hours * HOUR, 10 * MS))
    database.close()

    with sqlite3.connect(path) as db:
        fine = db.execute("SELECT flow, at FROM history_10s").fetchall()
        coarse = db.execute("SELECT flow, at FROM history_300s").fetchall()
    db.close()
    last = (NOON + (24 * 32 - 2) * HOUR).timestamp()
    assert {flow for flow, _ in fine + coarse} == {FLOW.name}
    assert min(at for _, at in fine) == last - 86400
    assert min(at for _, at in coarse) == last - 30 * 86400
    assert len(fine) == 13
    assert len(coarse) == 30 * 12 + 1


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


@examples(40)
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


DURATIONS = st.lists(
    st.timedeltas(min_value=-timedelta(hours=2), max_value=timedelta(days=30)),
    min_size=1,
)


def nearest_rank(durations: list[timedelta], share: float) -> timedelta:
    return sorted(durations)[max(1, math.ceil(share * len(durations))) - 1]


@given(DURATIONS, st.sampled_from([0.5, 0.9, 0.99, 1.0]))
def test_a_quantile_is_within_one_percent_of_the_true_one(
    durations: list[timedelta], share: float
) -> None:
    told = LatencySketch.of(durations).quantile(share)

    assert told is not None
    true = nearest_rank(durations, share)
    assert told.total_seconds() == pytest.approx(
        true.total_seconds(), rel=0.0101, abs=2e-6
    )


@given(DURATIONS, DURATIONS)
def test_adding_up_two_stretches_equals_counting_both_at_once(
    first: list[timedelta], second: list[timedelta]
) -> None:
    summed = LatencySketch.of(first)
    summed.add(LatencySketch.of(second))

    assert summed.cells == LatencySketch.of(first + second).cells


@given(DURATIONS)
def test_a_stored_sketch_comes_back_whole(durations: list[timedelta]) -> None:
    sketch = LatencySketch.of(durations)

    assert LatencySketch.decode(sketch.encode()).cells == sketch.cells


def test_nothing_counted_has_no_quantile() -> None:
    assert LatencySketch().quantile(0.5) is None
