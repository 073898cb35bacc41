"""Only one audit at a time works on a folder of runs."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from threading import Event, Timer

import pytest
from pyspark.sql import SparkSession

from mirrorwatch.domain.audit.plan import Plan, Unverifiable
from mirrorwatch.exceptions import AuditError, AuditRefusedError
from mirrorwatch_audit.store import lock
from mirrorwatch_audit.store.lock import leased, only_one
from mirrorwatch_audit.store.store import HadoopFolder, RunStore
from tests.support.audit_site import Site
from tests.support.audit_spark import SPARK, records, small_spark
from tests.support.logs import make_pair
from tests.support.watch import wait_until

pytestmark = SPARK

HOLD = """
import sys
from mirrorwatch_audit.store.lock import only_one
with only_one(sys.argv[1], None):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_spark() as session:
        yield session


@pytest.fixture(autouse=True)
def no_other_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for others who might just write, too."""
    monkeypatch.setattr(lock, "WRITING_SECONDS", 0)


@pytest.fixture
def files(spark: SparkSession, tmp_path: Path) -> HadoopFolder:
    return HadoopFolder(spark, str(tmp_path))


@pytest.fixture
def other(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that holds the folder."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.mark.slow
def test_a_second_audit_is_refused_until_the_first_one_ends_or_dies(
    tmp_path: Path, files: HadoopFolder, other: "subprocess.Popen[str]"
) -> None:
    # A folder is the same one, however it is written.
    for folder in (str(tmp_path), tmp_path.as_uri()):
        with refused(), only_one(folder, files):
            pass

    other.kill()
    other.wait()
    with only_one(str(tmp_path), files):
        pass


def refused() -> pytest.RaisesExc[AuditRefusedError]:
    return pytest.raises(
        AuditRefusedError, match="Another audit is running on"
    )


def test_a_folder_elsewhere_is_held_by_a_file_in_it(
    files: HadoopFolder, tmp_path: Path
) -> None:
    with leased(files), refused(), leased(files):
        pass
    assert not [*tmp_path.iterdir()]
    with leased(files):
        pass


def test_what_a_killed_audit_held_elsewhere_is_taken_over(
    files: HadoopFolder, tmp_path: Path
) -> None:
    file = tmp_path / "audit.lock"
    file.write_text("of another")
    a_while_ago = file.stat().st_mtime - 590
    os.utime(file, (a_while_ago, a_while_ago))
    with refused(), leased(files):
        pass
    os.utime(file, (a_while_ago - 20, a_while_ago - 20))
    with leased(files):
        assert file.read_text() != "of another"


def test_of_two_that_saw_no_file_and_both_wrote_it_the_first_is_refused(
    files: HadoopFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written_by_another(_: float) -> None:
        files.create("audit.lock", "of another", anew=False)

    monkeypatch.setattr(lock, "sleep", written_by_another)
    with refused(), leased(files):
        pass
    assert (tmp_path / "audit.lock").read_text() == "of another"


def test_a_long_audit_renews_what_it_holds(
    files: HadoopFolder, tmp_path: Path
) -> None:
    file = tmp_path / "audit.lock"
    with leased(files, renew_seconds=0.01):
        os.utime(file, (1, 1))
        wait_until(lambda: file.exists() and file.stat().st_mtime > 1)
        with refused(), leased(files):
            pass


def test_who_lost_what_it_held_leaves_that_of_the_other(
    files: HadoopFolder, tmp_path: Path
) -> None:
    with leased(files, renew_seconds=0.01):
        files.create("audit.lock", "of another", anew=False)
    assert (tmp_path / "audit.lock").read_text() == "of another"


def lost() -> pytest.RaisesExc[AuditError]:
    return pytest.raises(AuditError, match=r"This audit no longer holds .*: ")


def test_who_looks_again_learns_that_another_took_it_over(
    files: HadoopFolder,
) -> None:
    with leased(files) as still_held:
        still_held()
        files.create("audit.lock", "of another", anew=False)
        with lost():
            still_held()
        files.delete("audit.lock")
        with lost():
            still_held()


def test_it_is_held_while_it_is_written_anew(
    files: HadoopFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HDFS and local folders empty a file before they write it."""
    emptied, go_on = Event(), Event()
    create = files.create

    def slowly(name: str, text: str, *, anew: bool = True) -> bool:
        if not anew:
            create(name, "", anew=False)
            emptied.set()
            assert go_on.wait(60)
        return create(name, text, anew=anew)

    with leased(files, renew_seconds=0.01) as still_held:
        monkeypatch.setattr(files, "create", slowly)
        assert emptied.wait(60)
        later = Timer(0.2, go_on.set)
        later.start()
        try:
            still_held()
        finally:
            go_on.set()
            later.join()


def test_who_renews_too_late_may_have_written_over_that_of_another(
    files: HadoopFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It paused between looking and writing: what it finds is its own."""
    monkeypatch.setattr(lock, "LEASE", timedelta(hours=1))
    file = tmp_path / "audit.lock"

    def renewed(age: float) -> None:
        then = file.stat().st_mtime - age
        os.utime(file, (then, then))
        wait_until(lambda: file.stat().st_mtime > then)

    with leased(files, renew_seconds=0.01) as still_held:
        renewed(3000)
        still_held()
        renewed(4000)
        wait_until(lambda: is_lost(still_held))


def is_lost(still_held: Callable[[], None]) -> bool:
    try:
        still_held()
    except AuditError:
        return True
    return False


def test_a_folder_of_this_machine_that_was_made_again_is_no_longer_held(
    tmp_path: Path, files: HadoopFolder
) -> None:
    folder = tmp_path / "audit"
    with only_one(str(folder), files) as still_held:
        still_held()
        shutil.rmtree(folder)
        with lost():
            still_held()
        with only_one(str(folder), files) as by_another, lost():
            by_another()
            still_held()


@pytest.fixture
def site(spark: SparkSession, tmp_path: Path) -> Site:
    site = Site(spark, tmp_path)
    site.logs.write("source", records(0, 9))
    site.logs.write("target", records(1, 9))
    site.pairs = (make_pair((0, 9), (0, 8), position=9),)
    return site


def kept(folder: Path) -> dict[Path, int]:
    """Return all that is kept of runs, with the time of each file."""
    runs = folder / "runs"
    return {file: file.stat().st_mtime_ns for file in runs.rglob("*.*")}


@pytest.mark.long
def test_an_audit_that_holds_its_folder_keeps_what_it_found(
    spark: SparkSession, site: Site, files: HadoopFolder
) -> None:
    with leased(files) as still_held:
        site.store = RunStore(spark, str(site.folder), still_held)
        audit = site.night()
    assert site.store.results() == [audit]


@pytest.mark.long
def test_one_that_hung_keeps_nothing_over_what_another_found_meanwhile(
    spark: SparkSession,
    site: Site,
    files: HadoopFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left: dict[Path, int] = {}
    recheck = site.recheck

    def hang(plan: Plan) -> tuple[Plan, tuple[Unverifiable, ...]]:
        """Come back after another ran the same night to its end."""
        monkeypatch.setattr(site, "recheck", recheck)
        os.utime(tmp_path / "audit.lock", (1, 1))
        other = Site(spark, tmp_path)
        other.logs, other.pairs = site.logs, site.pairs
        with leased(files) as by_another:
            other.store = RunStore(spark, str(tmp_path), by_another)
            other.night()
        left.update(kept(tmp_path))
        return plan, ()

    monkeypatch.setattr(site, "recheck", hang)
    with leased(files) as still_held:
        site.store = RunStore(spark, str(tmp_path), still_held)
        with lost():
            site.night()
    assert left
    assert kept(tmp_path) == left
    assert len(site.store.results()) == 1
