"""What the history keeps of each tick, and for how long."""

import sqlite3
from pathlib import Path

import pytest

from mirrorwatch.domain.report import Flow, Health
from mirrorwatch.state import Database
from mirrorwatch.state.history import History
from tests.support.builders import FLOW, NOON, a_canary, a_report, an_arrival
from tests.support.ticks import HOUR, MS, SECOND, a_tick, milliseconds, only


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
