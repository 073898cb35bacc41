"""Nights that were cut short at a bad moment."""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrameWriter, SparkSession

from mirrorwatch.audit import planner
from mirrorwatch.config import Config
from mirrorwatch.domain.audit.plan import Plan, Unverifiable, ends_after
from mirrorwatch.exceptions import AuditError
from mirrorwatch_audit.store.store import HadoopFolder
from tests.audit.planner_test import LogsNow
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


def killed(_: Plan) -> tuple[Plan, tuple[Unverifiable, ...]]:
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
    """Lose the plan of a night, as an object store may.

    Meanwhile more is written, and a record of it is missing at the target.
    """
    (site.folder / NIGHT / "plan.json").unlink()
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


@pytest.mark.long
def test_nor_are_they_where_these_could_not_be_deleted(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_a_night(site)
    lose_the_plan(site)
    with monkeypatch.context() as then:
        then.setattr(HadoopFolder, "delete", refuse)
        with pytest.raises(AuditError, match="Cannot change"):
            site.night()
    assert site.store.plan(NIGHT.removeprefix("runs/")) is None
    assert_loss_is_found(site)


def test_a_night_that_goes_on_reads_nothing_again(site: Site) -> None:
    stop_a_night(site)
    site.reads = []
    assert site.night().result.clean
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


class Leaders:
    """Clusters as a night sees them when all was read."""

    def __init__(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = {"summit": LogsNow(), "ldf": LogsNow()}
        self.later: dict[str, LogsNow] = {}
        monkeypatch.setattr(site, "recheck", self.recheck)
        monkeypatch.setattr(
            planner, "AuditedSites", lambda _: nullcontext(self.now)
        )

    def recheck(self, plan: Plan) -> tuple[Plan, tuple[Unverifiable, ...]]:
        config = Config.model_construct(clusters={}, flows=())
        return planner.recheck(config, plan, sleep=self.sleep)

    def sleep(self, _: float) -> None:
        self.now |= self.later


def audited(site: Site, night: str) -> list[tuple[str, int, int]]:
    """Return up to where a night moved the ends."""
    kept = site.store.plan(night)
    assert kept is not None
    return [
        (end.topic, end.source_end, end.target_end)
        for end in ends_after(kept.plan, kept.before).ends
    ]


def test_a_leader_that_was_missing_for_a_moment_takes_no_loss_away(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.logs.write("source", records(0, 5))
    site.logs.write("target", records(0, 4))
    site.pairs = (make_pair((0, 5), (0, 4), position=5),)
    leaders = Leaders(site, monkeypatch)
    leaders.now["summit"] = LogsNow(end=None)
    leaders.later = {"summit": LogsNow()}

    result = site.night().result

    assert [finding.kind for finding in result.findings] == ["dropped"]
    assert result.unverifiable == ()
    assert audited(site, result.id) == [("a", 5, 4)]


def test_nor_does_one_that_stays_away_until_the_next_night(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The last record is in flight, and a night leaves it to the next.
    site.logs.write("source", records(0, 5))
    site.logs.write("target", records(0, 4))
    retained = ((0, 5), (0, 4))
    site.pairs = (make_pair((0, 5), (0, 4), position=4, retained=retained),)
    leaders = Leaders(site, monkeypatch)
    first = site.night().result
    assert [(s.kind, s.count) for s in first.stated] == [("in_flight", 1)]
    assert audited(site, first.id) == [("a", 5, 4)]

    # It was dropped, and so is another one.
    site.logs.write("source", records(5, 10))
    site.logs.write("target", [*records(5, 7), *records(8, 10)])
    site.pairs = (make_pair((5, 10), (4, 8), position=10),)
    site.days = 1
    leaders.now["ldf"] = LogsNow(start=None)
    second = site.night().result
    (gap,) = second.unverifiable
    assert gap.reason == (
        "a partition at the target lost its leader during the audit"
    )
    assert (second.findings, second.topics) == ((), ())
    assert audited(site, second.id) == [("a", 5, 4)]

    leaders.now["ldf"] = LogsNow()
    site.days = 2
    (finding,) = site.night().result.findings
    assert finding.kind == "dropped"
    assert finding.source_offsets == ((4, 4), (7, 7))


@pytest.mark.long
def test_other_pairs_are_judged_and_what_was_seen_of_them_stays(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    for topic in ("a", "b", "c"):
        site.logs.write("source", records(0, 5), topic=topic)
        site.logs.write("target", records(0, 4), topic=topic)
    pairs = [
        make_pair((0, 5), (0, 4), topic=topic, position=5)
        for topic in ("a", "b", "c")
    ]
    site.pairs = tuple(pairs)
    truncated = Unverifiable(
        flow=pairs[1].flow, topic="b", partition=0, reason="truncated"
    )
    asked: list[int] = []

    def recheck(plan: Plan) -> tuple[Plan, tuple[Unverifiable, ...]]:
        asked.append(len(plan.pairs))
        if len(asked) > 1:
            # It has grown since.
            return plan, ()
        return replace(plan, pairs=plan.pairs[1:]), (truncated,)

    monkeypatch.setattr(site, "recheck", recheck)
    result = site.night().result
    assert asked == [3, 2]
    assert [finding.topic for finding in result.findings] == ["c"]
    assert result.unverifiable == (truncated,)
    assert [topic for topic, *_ in audited(site, result.id)] == ["b", "c"]
    assert [count.topic for count in result.topics] == ["b", "c"]
