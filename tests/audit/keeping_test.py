"""Which runs are deleted when they are old, and which must stay."""

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mirrorwatch.domain.audit.plan import AuditedEnds, TimeWindow
from mirrorwatch_audit.store.store import FrozenRun, HadoopFolder, RunStore
from tests.support.audits import NIGHT, a_finished, a_result
from tests.support.plans import a_plan
from tests.support.spark import SPARK, small_spark

pytestmark = SPARK

DAY = timedelta(days=1)

OLD = NIGHT - 10 * DAY
"""What ended before is deleted."""


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_spark() as session:
        yield session


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

    def kept(self) -> set[str]:
        self.store.forget(OLD)
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
    runs.finish("last", 1)
    assert runs.kept() == {"young", "young window", "last"}


def test_a_night_that_may_be_gone_on_with_stays_however_old(
    runs: Runs,
) -> None:
    runs.finish("before", 30)
    runs.begin("killed", 20)
    runs.begin("window", 20, adhoc=True)
    runs.finish("newer window", 1, adhoc=True)
    assert runs.kept() == {"before", "killed", "newer window"}


def test_each_night_that_stays_has_the_one_that_it_goes_on_from(
    runs: Runs,
) -> None:
    for days in (13, 12, 11, 9, 1):
        runs.finish(f"night {days}", days)
    runs.finish("window", 12, adhoc=True)
    assert runs.kept() == {"night 11", "night 9", "night 1"}


def test_a_run_without_ranges_goes_when_nobody_wrote_to_it_for_long(
    runs: Runs,
) -> None:
    runs.finish("last", 1)
    for name, days in (("killed", 11), ("begins", 9)):
        half = runs.folder / name / "plan" / "_temporary"
        half.mkdir(parents=True)
        at = (NIGHT - days * DAY).timestamp()
        os.utime(runs.folder / name, (at, at))
    assert runs.kept() == {"begins", "last"}


def test_an_empty_folder_has_nothing_to_forget(
    runs: Runs, spark: SparkSession, tmp_path: Path
) -> None:
    runs.store.forget(OLD)
    assert HadoopFolder(spark, str(tmp_path)).folders("runs") == {}
