"""Runs in a folder, by real Spark."""

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from mirrorwatch.domain.audit.plan import AuditedEnds, TimeWindow, ends_after
from mirrorwatch.exceptions import AuditError
from mirrorwatch.state.audits import (
    latest_audit,
    read_audit,
)
from mirrorwatch_audit.digest.records import small_table
from mirrorwatch_audit.session import translated
from mirrorwatch_audit.store.store import FrozenRun, HadoopFolder, RunStore
from tests.support.audit import (
    NIGHT,
    a_finding,
    a_finished,
    a_pair,
    a_plan,
    a_result,
)
from tests.support.audit_spark import SPARK, small_spark

pytestmark = SPARK


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_spark() as session:
        yield session


@pytest.fixture
def store(spark: SparkSession, tmp_path: Path) -> RunStore:
    return RunStore(spark, str(tmp_path))


def a_table(spark: SparkSession, *numbers: int) -> DataFrame:
    rows = [(number,) for number in numbers]
    return small_table(spark, rows, "number int")


def numbers(table: DataFrame | None) -> list[int]:
    assert table is not None
    return sorted(row["number"] for row in table.collect())


FINISHED = a_finished(a_result(a_finding()))


def test_what_is_kept_of_a_run_comes_back(
    spark: SparkSession, store: RunStore
) -> None:
    plan = a_plan(a_pair(), a_pair("Ünïcode \n'\"", 3, source=(5, 2**40)))
    before = ends_after(a_plan(), AuditedEnds())
    run = FrozenRun(plan=plan, before=before, carried_from="nightly-2026")
    store.save_plan(run)
    kept = store.save_digest(plan.id, "source", a_table(spark, 1, 2))
    store.save_carry(plan.id, a_table(spark, 3))
    store.save_report(plan.id, "<!doctype html>")
    assert not store.is_finished(plan.id)
    store.save_result(FINISHED)

    assert store.plan(plan.id) == run
    assert numbers(kept) == [1, 2]
    assert numbers(store.carry(plan.id)) == [3]
    assert store.is_finished(plan.id)
    assert store.result(plan.id) == FINISHED
    assert store.last_night() == run


def test_a_folder_on_this_machine_is_read_without_spark(
    store: RunStore, tmp_path: Path
) -> None:
    store.save_report(FINISHED.result.id, "<!doctype html>")
    store.save_result(FINISHED)

    assert latest_audit(tmp_path) == FINISHED
    assert read_audit(tmp_path, FINISHED.result.id) == FINISHED


@pytest.mark.parametrize("name", ["a b", "a%20b#c?d[e]{f}*"])
def test_a_folder_is_the_same_for_spark_and_for_people_whatever_its_name(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    for given in (str(folder), folder.as_uri()):
        store = RunStore(spark, given)
        run = FrozenRun(plan=a_plan(), before=AuditedEnds())
        store.save_plan(run)
        store.save_carry(run.plan.id, a_table(spark, 3))
        store.save_result(FINISHED)

        assert store.last_night() == run
        assert numbers(store.carry(run.plan.id)) == [3]
        assert read_audit(folder, FINISHED.result.id) == FINISHED
        assert [*tmp_path.iterdir()] == [folder]


def test_an_empty_folder_has_nothing(store: RunStore) -> None:
    run = "nightly-2026-11-21"
    assert store.plan(run) is None
    assert store.carry(run) is None
    assert store.result(run) is None
    assert store.last_night() is None


def test_the_last_night_is_the_one_with_the_newest_ranges(
    store: RunStore,
) -> None:
    for days in (1, 0, 2):
        at = NIGHT - timedelta(days=days)
        name = f"nightly-{at:%Y-%m-%d}"
        plan = replace(a_plan(), id=name, at=at)
        store.save_plan(FrozenRun(plan=plan, before=AuditedEnds()))
        store.save_result(a_finished(replace(a_result(at=at), id=name)))
    window = replace(
        a_result(at=NIGHT + timedelta(days=1), nightly=False), id="adhoc"
    )
    store.save_result(a_finished(window))

    last = store.last_night()
    assert last is not None
    assert last.plan.id == "nightly-2026-11-21"


def test_a_result_without_its_plan_is_not_taken_for_a_beginning(
    store: RunStore,
) -> None:
    store.save_result(FINISHED)
    with pytest.raises(AuditError, match="and not its plan"):
        store.last_night()


def test_what_is_written_again_replaces_what_was_there(
    spark: SparkSession, store: RunStore
) -> None:
    store.save_carry("a", a_table(spark, 1))
    store.save_carry("a", a_table(spark, 2))
    store.save_result(FINISHED)
    again = a_finished()
    store.save_result(again)

    assert numbers(store.carry("a")) == [2]
    assert store.result(again.result.id) == again


def test_old_runs_are_deleted_but_not_what_the_next_night_needs(
    spark: SparkSession, store: RunStore, tmp_path: Path
) -> None:
    for days in (4, 3, 2):
        at = NIGHT - timedelta(days=days)
        name = f"nightly-{at:%Y-%m-%d}"
        plan = replace(a_plan(), id=name, at=at)
        before = f"nightly-{at - timedelta(days=1):%Y-%m-%d}"
        run = FrozenRun(plan=plan, before=AuditedEnds(), carried_from=before)
        store.save_plan(run)
        store.save_carry(name, a_table(spark, days))
        store.save_result(a_finished(replace(a_result(at=at), id=name)))
        file = tmp_path / "runs" / name / "result.json"
        os.utime(file, (at.timestamp(), at.timestamp()))
    window = replace(a_result(at=NIGHT, nightly=False), id="adhoc")
    store.save_result(a_finished(window))
    last = store.last_night()

    store.forget(NIGHT, timedelta())

    kept = {folder.name for folder in (tmp_path / "runs").iterdir()}
    assert kept == {"nightly-2026-11-18", "nightly-2026-11-19", "adhoc"}
    assert store.last_night() == last
    assert numbers(store.carry("nightly-2026-11-18")) == [3]


def test_a_text_is_created_once(spark: SparkSession, tmp_path: Path) -> None:
    """So the plan of a run is, of which two audits begin at once."""
    both = [HadoopFolder(spark, str(tmp_path)) for _ in range(2)]
    done = [
        files.write_text("runs/a/plan.json", str(n), anew=True)
        for n, files in enumerate(both)
    ]
    assert done == [True, False]
    assert both[1].read("runs/a/plan.json") == "0"
    assert both[1].write_text("runs/a/plan.json", "new")
    assert both[0].read("runs/a/plan.json") == "new"


def test_a_half_written_result_is_none(
    store: RunStore, tmp_path: Path
) -> None:
    half = tmp_path / "runs" / "a" / "result.json.new"
    half.parent.mkdir(parents=True)
    half.write_text('{"schema_version"')

    assert not store.is_finished("a")


def test_a_file_system_that_is_not_there_is_a_clear_error(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    blocked = RunStore(spark, str(tmp_path / "file"))
    with pytest.raises(AuditError, match=r"Cannot write file:.*carry") as e:
        blocked.save_carry("a", a_table(spark, 1))
    assert "\n" not in str(e.value)
    with pytest.raises(AuditError, match="No FileSystem for scheme"):
        RunStore(spark, "nowhere://a/b").last_night()


def test_the_size_of_a_table_is_that_of_its_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = HadoopFolder(spark, str(tmp_path))
    folder.write_table("t", a_table(spark, *range(100)))
    files = (tmp_path / "t").glob("*.parquet")
    assert folder.size_bytes("t") == sum(f.stat().st_size for f in files)


def test_what_spark_says_is_told_in_a_sentence(spark: SparkSession) -> None:
    with (
        pytest.raises(
            AuditError, match=r"Cannot count: .*DIVIDE_BY_ZERO"
        ) as e,
        translated("Cannot count"),
    ):
        spark.sql("SELECT 1 / id FROM range(2)").collect()
    assert "\n" not in str(e.value)
    assert "at org.apache" not in str(e.value)


DAY = timedelta(days=1)

KEEP = 10 * DAY
"""What ended longer before `NIGHT` is deleted."""


class Runs:
    """Runs in a folder, by how many days before `NIGHT` they were."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.store = RunStore(spark, str(folder))
        self.folder = folder / "runs"

    def begin(self, name: str, days: int, *, adhoc: bool = False) -> datetime:
        at = NIGHT - days * DAY
        window = TimeWindow(at - DAY, at) if adhoc else None
        plan = a_plan(run=name, at=at, window=window)
        self.store.save_plan(FrozenRun(plan=plan, before=AuditedEnds()))
        return at

    def finish(self, name: str, days: int, *, adhoc: bool = False) -> None:
        at = self.begin(name, days, adhoc=adhoc)
        result = replace(a_result(at=at, nightly=not adhoc), id=name)
        self.store.save_result(a_finished(result))
        os.utime(self.folder / name / "result.json", (at.timestamp(),) * 2)

    def night(self, days: int) -> str:
        """Finish the night of so many days before."""
        name = f"nightly-{NIGHT - days * DAY:%Y-%m-%d}"
        self.finish(name, days)
        return name

    def kept(self) -> set[str]:
        self.store.forget(NIGHT, KEEP)
        return {folder.name for folder in self.folder.iterdir()}


@pytest.fixture
def runs(spark: SparkSession, tmp_path: Path) -> Runs:
    return Runs(spark, tmp_path)


def test_an_unfinished_run_goes_once_a_later_night_took_its_records(
    runs: Runs,
) -> None:
    runs.begin("killed", 20)
    runs.begin("window", 20, adhoc=True)
    runs.begin("young", 5)
    runs.begin("young window", 5, adhoc=True)
    last = runs.night(1)
    assert runs.kept() == {"young", "young window", last}


def test_a_night_that_may_be_gone_on_with_stays_however_old(
    runs: Runs,
) -> None:
    before = runs.night(30)
    runs.begin("killed", 20)
    runs.begin("window", 20, adhoc=True)
    runs.finish("newer window", 1, adhoc=True)
    assert runs.kept() == {before, "killed", "newer window"}


def test_each_night_that_stays_has_the_one_that_it_goes_on_from(
    runs: Runs,
) -> None:
    nights = [runs.night(days) for days in (13, 12, 11, 9, 1)]
    runs.finish("window", 12, adhoc=True)
    assert runs.kept() == {*nights[2:]}


def test_a_run_without_ranges_goes_when_nobody_wrote_to_it_for_long(
    runs: Runs,
) -> None:
    last = runs.night(1)
    for name, days in (("killed", 11), ("begins", 9)):
        (runs.folder / name).mkdir(parents=True)
        at = (NIGHT - days * DAY).timestamp()
        os.utime(runs.folder / name, (at, at))
    assert runs.kept() == {"begins", last}


def test_digests_go_after_two_weeks_and_leave_the_rest_of_their_run(
    runs: Runs, spark: SparkSession
) -> None:
    old, young = runs.night(15), runs.night(13)
    runs.begin("not ended", 30)
    for name in (old, young, "not ended"):
        runs.store.save_digest(name, "source", a_table(spark, 1))

    runs.store.forget(NIGHT, 400 * DAY)

    kept = {path.parent.name for path in runs.folder.glob("*/digests")}
    assert kept == {young, "not ended"}
    assert all(map(runs.store.is_finished, (old, young)))


def test_tables_of_a_run_that_was_killed_on_a_cluster_go_as_well(
    runs: Runs,
) -> None:
    tables = runs.folder.with_name("checkpoints")
    for name, days in (("killed", 15), ("running", 1)):
        (tables / name).mkdir(parents=True)
        at = (NIGHT - days * DAY).timestamp()
        os.utime(tables / name, (at, at))
    runs.night(1)
    runs.store.forget(NIGHT, KEEP)
    assert [path.name for path in tables.iterdir()] == ["running"]


def test_an_empty_folder_has_nothing_to_forget(
    runs: Runs, spark: SparkSession, tmp_path: Path
) -> None:
    runs.store.forget(NIGHT, KEEP)
    assert HadoopFolder(spark, str(tmp_path)).folders("runs") == {}
