"""Nights whose sides are summed up apart, as two sites with a folder."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from mirrorwatch.domain.audit.plan import (
    AuditedEnds,
    PartitionPair,
    Plan,
    Request,
    Side,
    Unverifiable,
)
from mirrorwatch.domain.audit.result import FinishedAudit
from mirrorwatch.exceptions import AuditError
from mirrorwatch_audit.digest.records import Times
from mirrorwatch_audit.job import AuditJob
from mirrorwatch_audit.split import Split
from mirrorwatch_audit.store.store import RunStore
from tests.support.audit_site import Site
from tests.support.audit_spark import SPARK, records, small_spark
from tests.support.logs import Logs, Record, make_pair

pytestmark = SPARK


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_spark() as session:
        yield session


class OneSite:
    """What a site can reach: its own logs, and no planner's cluster."""

    def __init__(self, site: Site, side: Side) -> None:
        self._site = site
        self._side = side

    def __call__(
        self, pairs: Sequence[PartitionPair], side: Side
    ) -> DataFrame:
        assert side == self._side
        return self._site(pairs, side)

    def since(
        self, pairs: Sequence[PartitionPair], side: Side, times: Times
    ) -> list[PartitionPair]:
        raise AssertionError

    def freeze(self, request: Request, before: AuditedEnds) -> Plan:
        raise AssertionError

    def recheck(self, plan: Plan) -> tuple[Plan, tuple[Unverifiable, ...]]:
        raise AssertionError


class TwoSites:
    """Sites that share a folder, and who compares what they left there."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.whole = Site(spark, folder / "runs")
        self.shared = folder / "shared"

    def freeze(self) -> Plan:
        site = self.whole
        plan = AuditJob(site.tools, site.store).freeze(Request()).plan
        Split(site.tools, self.spark).ship(plan, self._at("plan"))
        return plan

    def digest(self, side: Side) -> None:
        own = OneSite(self.whole, side)
        tools = replace(self.whole.tools, read=own, planner=own)
        Split(tools, self.spark).digest(side, self._at("plan"), self._at(side))

    def compare(self) -> FinishedAudit:
        site = self.whole
        digests, _ = Split(site.tools, self.spark).digests(
            self._at("source"), self._at("target")
        )
        return AuditJob(site.tools, site.store).compare(digests)

    def night(self) -> FinishedAudit:
        self.freeze()
        self.digest("target")
        self.digest("source")
        return self.compare()

    def _at(self, name: str) -> str:
        return str(self.shared / name)


@pytest.fixture
def sites(spark: SparkSession, tmp_path: Path) -> TwoSites:
    return TwoSites(spark, tmp_path)


ODD = Record(value=b"odd", timestamp=1_764_000_000_000_000_000)


def write(logs: Logs) -> list[tuple[PartitionPair, ...]]:
    """Write three nights: what each of them compares."""
    source = records(0, 30)
    # One is dropped in the first night, one in the second: in a range with a
    # record that cannot be read.
    target = [r for n, r in enumerate(source) if n not in {5, 17}]
    source.insert(15, ODD)
    logs.write("source", source)
    logs.write("target", target)
    own = [
        replace(r, timestamp=r.timestamp + 7, appended=True)
        for n, r in enumerate(records(0, 20))
        if n != 12
    ]
    logs.write("source", records(0, 20), topic="stamped")
    logs.write("target", own, topic="stamped")
    # The record that cannot be read was written after the first night.
    first, kept = ((0, 15), (0, 14)), ((0, 31), (0, 28))
    # The copies of two records of the first night lie in the second.
    return [
        (make_pair((0, 10), (0, 7), position=15, retained=first),),
        (
            make_pair((10, 21), (7, 18), position=31, retained=kept),
            make_pair((0, 10), (0, 10), topic="stamped", position=20),
        ),
        (
            make_pair((21, 31), (18, 28), position=31, retained=kept),
            make_pair((10, 20), (10, 19), topic="stamped", position=20),
        ),
    ]


@pytest.mark.long
def test_three_nights_of_two_sites_find_what_one_run_finds(
    sites: TwoSites,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    single = Site(spark, tmp_path / "single")
    nights = write(single.logs)
    sites.whole.logs = single.logs
    found = []
    for day, pairs in enumerate(nights):
        for site in (single, sites.whole):
            site.days, site.pairs = day, pairs
        if day == 1:
            die_on_the_way(sites, monkeypatch)
        expected, audit = single.night(), sites.night()
        assert audit.result == expected.result
        assert audit.speed.records == expected.speed.records
        found.append(audit.result)
    assert [
        [(f.topic, f.kind, f.source_offsets) for f in result.findings]
        for result in found
    ] == [
        [("a", "dropped", ((5, 5),))],
        [],
        [("stamped", "dropped", ((12, 12),))],
    ]
    gaps = [("overflow" in g.reason, g.records) for g in found[1].unverifiable]
    assert gaps == [(True, None), (False, 2)]


def die_on_the_way(sites: TwoSites, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a digest fail, and who compares be killed at the last moment."""
    plan = sites.freeze()
    sites.digest("source")
    with pytest.raises(AuditError, match="not of one plan"):
        # What the target left there is of the night before.
        sites.compare()
    sites.whole.broken = "target"
    with pytest.raises(AuditError, match="Cannot sum up the target"):
        sites.digest("target")
    sites.whole.broken = None
    with pytest.raises(AuditError, match="no digest that came to its end"):
        sites.compare()
    sites.digest("target")

    def killed(_: RunStore, __: FinishedAudit) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RunStore, "save_result", killed)
        with pytest.raises(KeyboardInterrupt):
            sites.compare()
    assert sites.freeze().at == plan.at


@pytest.mark.long
def test_a_digest_of_two_copies_and_a_night_that_is_over_are_refused(
    sites: TwoSites,
) -> None:
    site = sites.whole
    site.logs.write("source", records(0, 6))
    site.logs.write("target", records(0, 6))
    site.pairs = (make_pair((0, 3), (0, 3), position=6),)
    sites.freeze()
    sites.digest("target")
    sites.digest("source")
    for file in (sites.shared / "source" / "digest").glob("part-*.parquet"):
        shutil.copy(file, file.with_name(f"part-again-{file.name}"))
    with pytest.raises(AuditError, match="not as digest left it"):
        sites.compare()

    # The agent of either site came first.
    site.days = 1
    site.pairs = (make_pair((0, 6), (0, 6), position=6),)
    assert site.night().result.clean
    with pytest.raises(AuditError, match="was compared to its end"):
        sites.freeze()
    # Made anew, because it was not whole.
    sites.digest("source")
    with pytest.raises(AuditError, match=r"went on\s+without it"):
        sites.compare()
