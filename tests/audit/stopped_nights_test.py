"""Nights that were cut short at a bad moment."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrameWriter, SparkSession

from mirrorwatch.domain.audit.plan import Plan, Unverifiable
from mirrorwatch.exceptions import AuditError
from mirrorwatch_audit.store.store import HadoopFolder
from tests.support.audit_site import Site
from tests.support.audit_spark import SPARK, small_spark
from tests.support.logs import Record, make_pair, millis

pytestmark = SPARK

NIGHT = "runs/nightly-2026-11-21"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_spark() as session:
        yield session


@pytest.fixture
def site(spark: SparkSession, tmp_path: Path) -> Site:
    return Site(spark, tmp_path)


def records(first: int, end: int) -> list[Record]:
    return [
        Record(value=b"v%d" % n, timestamp=millis(3600 - n))
        for n in range(first, end)
    ]


def killed(_: Plan) -> tuple[Unverifiable, ...]:
    raise AuditError("it was killed")


def stop_a_night(site: Site, broken: str | None = None) -> None:
    """Leave a plan and the digests of both sides, or of the target."""
    site.logs.write("source", records(0, 5))
    site.logs.write("target", records(0, 5))
    site.pairs = (make_pair((0, 5), (0, 5), position=5),)
    with pytest.MonkeyPatch.context() as then:
        then.setattr(site, "recheck", killed)
        then.setattr(site, "broken", broken)
        with pytest.raises(AuditError):
            site.night()
    assert (site.folder / NIGHT / "digests" / "target" / "_SUCCESS").exists()


def lose_the_plan(site: Site) -> None:
    """Do what Spark does on a full disk: what is there goes first.

    Meanwhile more is written, and a record of it is missing at the target.
    """
    shutil.rmtree(site.folder / NIGHT / "plan")
    site.logs.write("source", records(5, 9))
    site.logs.write("target", [*records(5, 6), *records(7, 9)])
    site.pairs = (make_pair((0, 9), (0, 8), position=9),)


def assert_loss_is_found(site: Site) -> None:
    (finding,) = site.night().result.findings
    assert (finding.kind, finding.source_offsets) == ("dropped", ((6, 6),))


@pytest.mark.parametrize("broken", [None, "source"])
def test_digests_of_a_plan_that_is_gone_are_not_those_of_the_next_one(
    site: Site, broken: str | None
) -> None:
    stop_a_night(site, broken)
    lose_the_plan(site)
    assert_loss_is_found(site)


def refuse(*_: object) -> None:
    raise AuditError("Cannot change it")


def delete_in_part(folder: HadoopFolder, name: str) -> None:
    if name.endswith("digests"):
        shutil.rmtree(f"{folder.url.removeprefix('file:')}/{name}/source")
        refuse()


def delete_nothing(*_: object) -> None:
    """Do as a local file system that may not."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("method", "fails"),
    [
        ("delete", delete_in_part),
        ("delete", delete_nothing),
        ("write_text", refuse),
    ],
)
def test_nor_are_they_where_the_next_one_could_not_be_kept_at_once(
    site: Site, monkeypatch: pytest.MonkeyPatch, method: str, fails: object
) -> None:
    stop_a_night(site)
    lose_the_plan(site)
    with monkeypatch.context() as then:
        then.setattr(HadoopFolder, method, fails)
        with pytest.raises(AuditError, match=r"Cannot (change|delete)"):
            site.night()
    assert site.store.plan(NIGHT.removeprefix("runs/")) is None
    assert_loss_is_found(site)


def test_a_night_that_goes_on_with_its_plan_does_not_write_it_again(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_a_night(site)
    site.reads = []
    written: list[str] = []
    write = HadoopFolder.write_text

    def note(folder: HadoopFolder, name: str, text: str) -> None:
        written.append(name)
        write(folder, name, text)

    monkeypatch.setattr(HadoopFolder, "write_text", note)
    assert site.night().result.clean
    assert written == [f"{NIGHT}/hours", f"{NIGHT}/result"]
    assert site.reads == []


@pytest.mark.long
def test_a_digest_that_was_deleted_in_part_is_not_taken_for_whole(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_a_night(site)
    run, bucket = NIGHT.removeprefix("runs/"), site.tools.settings.bucket
    digest = site.store.digest(run, "source", bucket)
    assert digest is not None
    # Spark deletes the old one file by file, and was killed meanwhile.
    with monkeypatch.context() as then:
        then.setattr(DataFrameWriter, "parquet", refuse)
        with pytest.raises(AuditError, match="Cannot change"):
            site.store.save_digest(run, "source", digest)
    assert site.store.digest(run, "source", bucket) is None
