"""Runs from freezing to the stored result, on logs in memory."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mirrorwatch.domain.audit.plan import (
    PartitionPair,
    TimeWindow,
    Unverifiable,
)
from mirrorwatch.domain.audit.result import AuditResult, FinishedAudit
from mirrorwatch.exceptions import AuditError
from mirrorwatch.state.audits import latest_audit
from mirrorwatch_audit.compare.audit import audit as compare_both
from mirrorwatch_audit.compare.digests import DigestComparison
from mirrorwatch_audit.digest.records import SIDES
from tests.support.audit_site import Site
from tests.support.audit_spark import SPARK, small_spark
from tests.support.logs import AT, FLOW, Record, make_pair, make_plan, millis

pytestmark = SPARK


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


@pytest.mark.long
def test_a_failed_night_leaves_its_ranges_only_and_begins_again(
    site: Site,
) -> None:
    site.logs.write("source", records(0, 20))
    site.logs.write("target", [*records(0, 7), *records(8, 20)])
    site.pairs = (make_pair((0, 20), (0, 19), position=20),)
    site.broken = "target"
    with pytest.raises(AuditError, match=r"Cannot sum up the target: .*ZERO"):
        site.night()
    assert latest_audit(site.folder) is None

    site.broken, site.pairs = None, ()
    audit = site.night()

    (finding,) = audit.result.findings
    assert (finding.kind, finding.source_offsets) == ("dropped", ((7, 7),))
    assert not audit.result.clean
    assert latest_audit(site.folder) == audit
    assert audit.speed.records == 39
    (topic,) = audit.result.topics
    assert (topic.source_count, topic.target_count) == (20, 19)
    report = site.folder / "runs" / audit.result.id / "report.html"
    assert "1 record dropped" in report.read_text()


STRANGE = {
    "microseconds": 1_764_000_000_000_000,
    "the last hour that is shown": 253_370_764_799_999,
    "negative": -1_764_000_000_000_000,
}
"""Timestamps that producers wrote, and no calendar has."""


def test_no_timestamp_stops_a_night_and_its_loss_is_found(
    site: Site,
) -> None:
    odd = [
        Record(value=word.encode(), timestamp=stamp)
        for word, stamp in STRANGE.items()
    ]
    site.logs.write("source", [*odd, *odd, *records(0, 5)])
    site.logs.write("target", [*odd, *records(0, 5)])
    site.pairs = (make_pair((0, 15), (0, 10), position=15),)

    result = site.night().result

    (finding,) = result.findings
    assert (finding.kind, finding.count) == ("dropped", len(STRANGE))
    assert finding.end == datetime(9999, 1, 1, tzinfo=UTC)
    assert latest_audit(site.folder) is not None


@pytest.mark.parametrize(
    "timestamp",
    [
        1_764_000_000_000_000_000,
        pytest.param(2**63 - 1, marks=pytest.mark.long),
        pytest.param(-(2**63), marks=pytest.mark.long),
    ],
)
def test_a_record_that_spark_cannot_convert_costs_its_range_only(
    site: Site, timestamp: int
) -> None:
    odd = Record(value=b"odd", timestamp=timestamp)
    site.logs.write("source", [*records(0, 5), odd])
    site.logs.write("target", [*records(0, 4), odd])
    site.logs.write("source", records(0, 5), topic="b")
    site.logs.write("target", records(0, 4), topic="b")
    site.pairs = (
        make_pair((0, 6), (0, 5), position=6),
        make_pair((0, 5), (0, 4), topic="b", position=5),
    )

    audit = site.night()

    gaps = audit.result.unverifiable
    assert [(gap.topic, gap.partition) for gap in gaps] == [("a", 0)]
    assert "overflow" in gaps[0].reason
    (finding,) = audit.result.findings
    assert (finding.topic, finding.kind) == ("b", "dropped")

    # The next night goes on after it; a copy may lie before its range.
    site.logs.write("source", [*records(6, 9)])
    site.logs.write("target", [*records(6, 8)])
    site.days = 1
    site.pairs = (make_pair((6, 9), (5, 7), position=9),)
    assert found_in(site.night()) == [("dropped", ((8, 8),))]


def found_in(audit: FinishedAudit) -> list[tuple[str, object]]:
    return [(f.kind, f.source_offsets) for f in audit.result.findings]


@pytest.mark.long
def test_what_was_left_to_a_range_that_cannot_be_read_is_told(
    site: Site,
) -> None:
    site.logs.write("source", records(0, 10))
    site.logs.write("target", records(0, 10))
    site.pairs = (
        make_pair((0, 10), (0, 8), position=10, retained=((0, 10), (0, 10))),
    )
    assert site.night().result.clean
    odd = Record(value=b"odd", timestamp=10**18)
    site.logs.write("source", [odd, *records(11, 14)])
    site.logs.write("target", [odd, *records(11, 14)])
    site.days = 1
    site.pairs = (make_pair((10, 12), (8, 13), position=14),)
    second = site.night().result
    assert second.findings == ()
    assert [gap.records for gap in second.unverifiable] == [None, 2]
    # The copy of a record may lie before this range, in that one.
    site.days = 2
    retained = ((12, 14), (11, 14))
    site.pairs = (
        make_pair((12, 14), (13, 14), position=14, retained=retained),
    )
    third = site.night().result
    assert third.findings == ()


def stamped(records: list[Record]) -> list[Record]:
    """Return copies with timestamps of the target's."""
    return [
        replace(r, timestamp=r.timestamp + 7, appended=True) for r in records
    ]


@pytest.mark.long
def test_timestamps_of_the_broker_do_not_count_whatever_is_configured(
    site: Site,
) -> None:
    """The topic was set back to CreateTime before the audit."""
    site.logs.write("source", records(0, 10))
    site.logs.write("target", stamped([*records(0, 4), *records(5, 10)]))
    site.logs.write("source", records(0, 3), topic="b")
    site.logs.write("target", records(0, 3), topic="b")
    site.pairs = (
        make_pair((0, 10), (0, 9), position=10),
        make_pair((0, 3), (0, 3), topic="b", position=3),
    )

    result = site.night().result

    (finding,) = result.findings
    assert (finding.kind, finding.source_offsets) == ("dropped", ((4, 4),))
    assert [(t.source_count, t.target_count) for t in result.topics] == [
        (10, 9),
        (3, 3),
    ]


@pytest.mark.long
def test_nor_do_they_where_all_copies_come_after_the_range(
    site: Site,
) -> None:
    """A cut by time falls before the first timestamp of the target's own."""
    site.logs.write("source", records(0, 4))
    site.logs.write("target", stamped(records(0, 4)))
    site.pairs = (
        make_pair((0, 3), (0, 0), position=4, retained=((0, 4), (0, 4))),
    )

    first = site.night().result

    assert first.findings == ()
    assert [(s.kind, s.count) for s in first.stated] == [("carried", 3)]
    site.days = 1
    site.pairs = (
        make_pair((3, 4), (0, 4), position=4, retained=((0, 4), (0, 4))),
    )
    second = site.night().result
    assert (second.findings, second.unverifiable) == ((), ())


@pytest.mark.long
def test_nor_do_they_in_a_night_without_copies(site: Site) -> None:
    """What was left to it has the timestamps that the night before saw."""
    there = stamped([*records(0, 2), *records(3, 7)])
    site.logs.write("source", records(0, 7))
    site.logs.write("target", there)
    whole = make_pair((0, 0), (0, 6), position=7, retained=((0, 7), (0, 6)))
    site.pairs = (whole,)
    assert site.night().result.findings == ()
    site.days = 1
    site.pairs = (
        make_pair((0, 7), (6, 6), position=7, retained=((0, 7), (0, 6))),
    )

    (finding,) = site.night().result.findings

    assert (finding.kind, finding.source_offsets) == ("dropped", ((2, 2),))


@pytest.mark.long
def test_nor_do_they_for_a_copy_that_was_left_before_the_target_kept_them(
    site: Site,
) -> None:
    """Its topic was set back to CreateTime between two nights."""
    site.logs.write("source", records(0, 5))
    site.logs.write("target", [*stamped(records(0, 4)), *records(4, 5)])
    site.pairs = (
        make_pair((0, 3), (0, 4), position=5, retained=((0, 5), (0, 5))),
    )
    assert site.night().result.findings == ()
    site.days = 1
    site.pairs = (
        make_pair((3, 5), (4, 5), position=5, retained=((0, 5), (0, 5))),
    )

    second = site.night().result

    assert (second.findings, second.unverifiable) == ((), ())


def test_a_topic_deleted_after_the_freeze_costs_its_ranges_only(
    site: Site,
) -> None:
    for topic in ("a", "b"):
        site.logs.write("source", records(0, 5), topic=topic)
        site.logs.write("target", records(0, 4), topic=topic)
    site.pairs = tuple(
        make_pair((0, 5), (0, 4), topic=topic, position=5)
        for topic in ("a", "b")
    )
    site.deleted = "a"

    result = site.night().result

    (gap,) = result.unverifiable
    assert (gap.topic, gap.partition) == ("a", 0)
    assert [f.topic for f in result.findings] == ["b"]


@pytest.mark.long
def test_a_stopped_night_uses_its_finished_digest_again(site: Site) -> None:
    site.logs.write("source", records(0, 5))
    site.logs.write("target", records(0, 5))
    site.pairs = (make_pair((0, 5), (0, 5), position=5),)
    site.broken = "source"
    with pytest.raises(AuditError):
        site.night()
    site.broken, site.reads = None, []
    assert site.night().result.clean
    assert site.reads == ["source"]


def test_a_local_master_tries_a_task_as_often_as_a_cluster(
    spark: SparkSession,
) -> None:
    assert spark.sparkContext.master == "local[2,4]"


@pytest.mark.long
def test_what_expired_while_it_was_read_is_no_finding(site: Site) -> None:
    site.logs.write("source", records(0, 5))
    site.logs.write("target", records(0, 4))
    site.pairs = (make_pair((0, 5), (0, 4), position=5),)
    site.gone = (
        Unverifiable(flow=FLOW, topic="a", partition=0, reason="expired"),
    )

    result = site.night().result

    assert result.findings == ()
    assert result.unverifiable == site.gone
    assert not result.clean


@pytest.mark.long
def test_what_a_night_left_is_matched_by_the_next_unless_ranges_broke(
    site: Site,
) -> None:
    site.logs.write("source", records(0, 10))
    site.logs.write("target", records(0, 10))
    whole = make_pair(
        (0, 10), (0, 8), position=10, retained=((0, 10), (0, 10))
    )
    site.pairs = (whole,)
    first = site.night().result
    assert first.clean
    assert [(s.kind, s.count) for s in first.stated] == [("carried", 2)]

    site.days = 1
    site.pairs = (make_pair((10, 10), (8, 10), position=10),)
    second = site.night().result
    assert second.clean
    assert [(t.source_count, t.target_count) for t in second.topics] == [
        (2, 2)
    ]


def known(pair: PartitionPair) -> PartitionPair:
    """Return a pair of topics that have ids, as those of a cluster do."""
    sources = tuple(replace(s, topic_id="source") for s in pair.sources)
    return replace(pair, topic_id="target", sources=sources)


def leave_two(site: Site, *others: PartitionPair) -> AuditResult:
    """Run a night that leaves the last two of ten records to the next one,
    as they are in flight.
    """
    site.logs.write("source", records(0, 10))
    site.logs.write("target", records(0, 8))
    retained = ((0, 10), (0, 8))
    pair = make_pair((0, 10), (0, 8), position=8, retained=retained)
    site.pairs = (known(pair), *others)
    first = site.night().result
    assert [(s.kind, s.count) for s in first.stated] == [("in_flight", 2)]
    return first


@pytest.mark.long
@pytest.mark.parametrize("came", [False, True])
def test_what_was_left_and_is_missing_is_unverifiable(
    site: Site, *, came: bool
) -> None:
    first = leave_two(site)
    left = site.folder / "runs" / first.id / "carry"
    aside = site.folder.with_name("aside")
    shutil.move(left, aside)
    if came:
        site.logs.write("target", records(8, 10))

    site.days = 1
    target = (8, 10) if came else (8, 8)
    kept = ((0, 10), (0, 10))
    pair = make_pair((10, 10), target, position=10, retained=kept)
    site.pairs = (known(pair),)
    result = site.night().result

    assert result.findings == ()
    (gap,) = result.unverifiable
    assert (gap.topic, gap.records) == ("a", None)
    assert f"{left} is missing" in gap.reason

    # What is still missing no later night would look for.
    shutil.move(aside, left)
    again = site.night().result
    assert (again.findings, again.unverifiable) == ((), (gap,))
    assert not any(stated.kind == "in_flight" for stated in again.stated)


@pytest.mark.long
def test_a_finished_night_that_is_run_again_changes_nothing_for_the_next(
    site: Site,
) -> None:
    for side in SIDES:
        site.logs.write(side, records(0, 5), topic="b")
    other = make_pair((0, 5), (0, 5), topic="b", position=5)
    first = leave_two(site, other)
    frozen = site.store.plan(first.id)
    site.logs.remove("source", [8, 9])
    site.deleted = "b"
    again = site.night().result
    assert (again.stated, len(again.unverifiable)) == ((), 1)
    assert site.store.plan(first.id) == frozen

    site.logs.write("target", records(8, 10))
    site.days = 1
    site.pairs = (known(make_pair((10, 10), (8, 10), position=10)),)
    assert site.night().result.clean


@pytest.mark.long
def test_a_range_to_which_something_was_left_by_other_checksums_is_told(
    site: Site,
) -> None:
    leave_two(site)
    site.logs.write("target", stamped(records(8, 10)))

    site.days = 1
    site.pairs = (known(make_pair((10, 10), (8, 10), position=10)),)
    result = site.night().result

    assert result.findings == ()
    (gap,) = result.unverifiable
    assert (gap.topic, gap.partition) == ("a", 0)
    assert "timestamps" in gap.reason


@pytest.mark.long
def test_what_was_left_for_ranges_that_broke_is_unverifiable(
    site: Site,
) -> None:
    site.logs.write("source", records(0, 12))
    site.logs.write("target", records(0, 12))
    site.pairs = (
        make_pair((0, 10), (0, 8), position=12, retained=((0, 10), (0, 12))),
    )
    site.night()

    # The copies at 8 and 9 expired before anyone could read them.
    site.days = 1
    site.pairs = (make_pair((10, 12), (10, 12), position=12),)
    result = site.night().result

    assert result.findings == ()
    (gap,) = result.unverifiable
    assert (gap.topic, gap.partition, gap.records) == ("a", 0, 2)
    assert "the night before left" in gap.reason


@pytest.mark.long
def test_a_newer_value_since_the_freeze_explains_one_that_was_removed(
    site: Site,
) -> None:
    keys = [
        Record(key=key, value=b"%d" % n, timestamp=millis(3600 - n))
        for n, key in enumerate((b"a", b"b", b"a", b"b"))
    ]
    for side in SIDES:
        site.logs.write(side, keys)
    # Each side has cleaned another one of the two that were frozen.
    site.logs.remove("source", [0])
    site.logs.remove("target", [1])
    site.pairs = (make_pair((0, 2), (0, 2), position=2, compacted=True),)
    result = site.night().result
    assert (result.findings, result.unverifiable) == ((), ())


def test_a_run_without_anything_to_compare_is_not_clean(site: Site) -> None:
    site.pairs = None
    with pytest.raises(AuditError, match="nothing to compare"):
        site.night()


@pytest.mark.long
def test_what_was_dropped_and_written_again_is_neither_lost_nor_extra(
    site: Site,
) -> None:
    ten = records(0, 10)
    site.logs.write("source", ten)
    site.logs.write("target", [*ten[:3], *ten[4:]])
    site.pairs = (make_pair((0, 10), (0, 9), position=10),)
    (finding,) = site.night().result.findings
    assert finding.source_offsets == ((3, 3),)

    site.logs.write("target", [ten[3]])
    site.days = 1
    kept = (0, 10), (0, 10)
    site.pairs = (make_pair((10, 10), (9, 10), position=10, retained=kept),)
    assert site.night().result.clean
    # As a window that ends before the copy.
    again = make_pair((0, 10), (0, 9), position=10, retained=kept)
    window = TimeWindow(AT - timedelta(days=2), AT)
    found = compare_window(site, again, window)
    assert (found.findings, found.unverifiable) == ((), ())


def compare_window(
    site: Site, pair: PartitionPair, window: TimeWindow
) -> DigestComparison:
    plan = make_plan(pair, window=window)
    return compare_both(site.logs, plan, bucket=timedelta(minutes=10))
