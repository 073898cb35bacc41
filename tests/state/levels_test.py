"""Service levels: what is counted in 30 days, and what it means."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import pytest

from mirrorwatch.domain.levels.model import (
    MONTH,
    LevelCounts,
    LevelObjective,
    LevelsObservation,
    LevelState,
    ServiceLevel,
    sentence,
)
from mirrorwatch.domain.skips.model import SkipCounters, SkipsObservation
from mirrorwatch.exceptions import StateError
from mirrorwatch.ports import Report
from mirrorwatch.sources.levels import LevelsSource
from mirrorwatch.state import Database
from mirrorwatch.state.documents import DocumentStore
from mirrorwatch.state.levels import LevelHistory
from tests.support.builders import (
    FLOW,
    NOON,
    a_canary,
    a_partition,
    a_report,
)

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
DELIVERED = LevelObjective(
    level=ServiceLevel.DELIVERED, share=0.999, within=timedelta(seconds=5)
)
VERIFIED = LevelObjective(level=ServiceLevel.VERIFIED, share=0.99999)


def a_probe_tick(at: datetime, *parts: LevelCounts) -> Report:
    partitions = [
        replace(a_partition(n), level=counts) for n, counts in enumerate(parts)
    ]
    return a_report(
        at, flows=[FLOW], observations=[a_canary(at, partitions=partitions)]
    )


def a_record_tick(at: datetime, **tallies: SkipCounters) -> Report:
    seen = SkipsObservation(
        flow=FLOW.name, at=at, partitions=1, tallies=tuple(tallies.items())
    )
    return a_report(at, flows=[FLOW], observations=[seen])


def observed(history: LevelHistory, at: datetime) -> LevelsObservation:
    source = LevelsSource(
        flow=FLOW.name,
        target=FLOW.target,
        objectives=(DELIVERED, VERIFIED),
        history=history,
    )
    (seen,) = source.observe(at)
    return seen


def test_counters_survive_a_restart_and_nothing_counts_twice(
    tmp_path: Path,
) -> None:
    database = Database(tmp_path / "state.db")
    history = LevelHistory(database)
    for good in (10, 10, 15):
        history.record(a_probe_tick(NOON, LevelCounts(good, 1)))
    database.close()

    database = Database(tmp_path / "state.db")
    history = LevelHistory(database)
    at = NOON + HOUR
    # The agent was down for an hour: the ledger knows of it.
    history.record(a_probe_tick(at, LevelCounts(20, 1, 3600)))
    delivered, _ = observed(history, at).levels
    assert delivered.total == LevelCounts(20, 1, 3600)
    assert delivered.month == delivered.total
    database.close()


def test_records_of_the_time_without_an_agent_count(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    database = Database(path)
    first = SkipCounters(passed=1000, skipped=1)
    LevelHistory(database).record(a_record_tick(NOON, events=first))
    database.close()

    database = Database(path)
    history = LevelHistory(database)
    # What its first survey found was so already when it was first reported.
    second = SkipCounters(passed=3000, skipped=31)
    for _ in range(2):
        history.record(a_record_tick(NOON + HOUR, events=second))
    _, verified = observed(history, NOON + HOUR).levels
    assert verified.total == LevelCounts(good=1970, bad=30)
    database.close()


def test_an_undecodable_row_of_a_topic_counts_from_there_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "state.db"
    database = Database(path)
    first = SkipCounters(passed=1000)
    LevelHistory(database).record(a_record_tick(NOON, events=first))
    with database.transaction() as sql:
        sql.execute("UPDATE level_topic SET good = 'many'")
    history = LevelHistory(database)
    history.record(a_record_tick(NOON, events=SkipCounters(passed=2000)))
    _, verified = observed(history, NOON).levels
    assert verified.total == LevelCounts()
    assert database.set_aside == {"level_topic": 1}
    history.record(a_record_tick(NOON, events=SkipCounters(passed=2500)))
    with database.transaction():
        assert history.totals(FLOW.name)["verified"] == LevelCounts(500)
    database.close()


def test_a_partition_that_is_gone_and_comes_back_counts_from_there() -> None:
    history = LevelHistory(Database(None))
    one, two = LevelCounts(100), LevelCounts(50)
    history.record(a_probe_tick(NOON, one, two))
    history.record(a_probe_tick(NOON, one))
    history.record(a_probe_tick(NOON, one, LevelCounts(60)))
    delivered, _ = observed(history, NOON).levels
    assert delivered.total == LevelCounts(160)


def test_records_count_as_they_are_accounted_for() -> None:
    history = LevelHistory(Database(None))
    before = SkipCounters(passed=1000)
    history.record(a_record_tick(NOON, events=before))
    history.record(
        a_record_tick(
            NOON,
            events=SkipCounters(
                passed=2000,
                skipped=30,
                filtered=20,
                recovered=5,
                unverifiable=7,
            ),
            # Seen for the first time: what came before is not of today.
            old=SkipCounters(passed=500_000),
        )
    )
    _, verified = observed(history, NOON).levels
    # Of 1,000 that the mirror passed, 20 were dropped as configured.
    assert verified.total == LevelCounts(good=963, bad=10, unknown=7)


def test_what_could_not_be_written_counts_with_the_next_report() -> None:
    history = LevelHistory(Database(None))
    history.record(a_record_tick(NOON, events=SkipCounters(passed=1000)))
    tick = a_record_tick(NOON, events=SkipCounters(passed=2000, skipped=30))
    with (
        patch.object(DocumentStore, "save", side_effect=StateError("full")),
        pytest.raises(StateError),
    ):
        history.record(tick)
    for _ in range(2):
        history.record(tick)
        _, verified = observed(history, NOON).levels
        assert verified.total == LevelCounts(good=970, bad=30)
        assert verified.month == verified.total


def test_skips_of_before_it_was_counted_what_was_passed_hide_no_records() -> (
    None
):
    history = LevelHistory(Database(None))
    for passed in (0, 60):
        tally = SkipCounters(skipped=100, passed=passed)
        history.record(a_record_tick(NOON, events=tally))
    _, verified = observed(history, NOON).levels
    assert verified.total == LevelCounts(good=60)


def test_what_is_older_than_30_days_is_let_go() -> None:
    database = Database(None)
    history = LevelHistory(database)
    history.record(a_probe_tick(NOON, LevelCounts(0, 5)))
    at = NOON + MONTH + HOUR
    history.record(a_probe_tick(at, LevelCounts(95, 5)))
    delivered, _ = observed(history, at).levels
    assert delivered.month == LevelCounts(95)
    assert delivered.total == LevelCounts(95, 5)
    with database.transaction() as sql:
        (rows,) = sql.execute("SELECT count(*) FROM level_300s").fetchone()
    assert rows == 1


def test_a_budget_burns_only_where_both_windows_say_so() -> None:
    history = LevelHistory(Database(None))
    counts = LevelCounts()
    # Twelve hours are good, then 2 % are bad for half an hour, then none.
    for minute in range(13 * 60):
        counts.good += 60
        if 12 * 60 <= minute < 12 * 60 + 30:
            counts.bad += 1
        history.record(a_probe_tick(NOON + minute * MINUTE, counts.copy()))
    bad = observed(history, NOON + (12 * 60 + 29) * MINUTE).levels[0]
    assert bad.burns.keys() == {"1h", "6h", "3d"}
    # What is over is not told any more.
    over = observed(history, NOON + 13 * HOUR).levels[0]
    assert over.burns["1h"] == 0
    assert over.burns["6h"] == 0
    assert over.burns["3d"] > 0.5
    assert over.budget_left == pytest.approx(
        1 - 30 / (13 * 60 * 60 + 30) / 0.001
    )


def test_without_anything_known_there_is_no_burn_and_no_share() -> None:
    history = LevelHistory(Database(None))
    history.record(a_probe_tick(NOON, LevelCounts(0, 0, 500)))
    delivered, verified = observed(history, NOON).levels
    assert (delivered.burns, delivered.budget_left) == ({}, None)
    assert sentence(delivered) == "not known"
    assert sentence(verified) == "not known yet"


@pytest.mark.parametrize(
    ("objective", "month", "text"),
    [
        (
            DELIVERED,
            LevelCounts(999_610, 390),
            "99.96 % within 5 s, budget left 61 %",
        ),
        (
            DELIVERED,
            LevelCounts(900_000, 0, 100_000),
            "100.00 % within 5 s, budget left 100 %; 10.00 % not known",
        ),
        (
            DELIVERED,
            LevelCounts(999_999_999, 1),
            "99.99 % within 5 s, budget left 100 %",
        ),
        (
            DELIVERED,
            LevelCounts(997_000, 3_000),
            "99.70 % within 5 s, budget used 3.0 times",
        ),
        (
            VERIFIED,
            LevelCounts(999_995, 5),
            "99.9995 % verified, budget left 50 %",
        ),
    ],
)
def test_a_level_is_told_in_one_line(
    objective: LevelObjective, month: LevelCounts, text: str
) -> None:
    state = LevelState(objective=objective, total=month, month=month)
    assert sentence(state) == text
