"""What an audit reads and keeps follows what is unmatched."""

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

from mirrorwatch_audit.compare import digests
from mirrorwatch_audit.compare.audit import audit
from mirrorwatch_audit.digest.digest import PAIR
from mirrorwatch_audit.digest.records import small_table
from tests.support.audit_spark import SPARK, records, small_spark
from tests.support.logs import BUCKET, Logs, Record, make_pair, make_plan

pytestmark = SPARK

RETAINED = 3000

NEW = 100


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_spark() as session:
        yield session


def test_one_duplicate_reads_nothing_of_what_is_retained(
    spark: SparkSession,
) -> None:
    logs = Logs(spark)
    end = RETAINED + NEW
    logs.write("source", records(0, end))
    logs.write("target", [*records(0, end), *records(end - 1, end)])
    pair = make_pair(
        (RETAINED, end),
        (RETAINED, end + 1),
        position=end,
        retained=((0, end), (0, end + 1)),
    )

    found = audit(logs, make_plan(pair), bucket=BUCKET)

    (finding,) = found.findings
    assert (finding.kind, finding.target_offsets) == (
        "duplicated",
        ((end, end),),
    )
    # Both sides for digests, and for what differs.
    assert logs.rows_read <= 4 * (NEW + 1)


@pytest.mark.long
def test_what_lies_between_two_drops_is_not_read_again(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digests, "LEAST_GAP", 1000)
    written = records(0, RETAINED)
    lost = {5, 700, RETAINED - 700, RETAINED - 5}
    logs = Logs(spark)
    logs.write("source", written)
    logs.write("target", [r for n, r in enumerate(written) if n not in lost])
    pair = make_pair(
        (0, RETAINED), (0, RETAINED - len(lost)), position=RETAINED
    )
    digested = 2 * RETAINED - len(lost)

    found = audit(logs, make_plan(pair), bucket=BUCKET)

    (finding,) = found.findings
    assert (finding.kind, finding.count) == ("dropped", len(lost))
    assert finding.source_offsets == tuple((n, n) for n in sorted(lost))
    # Their buckets are 0 to 999 and 2200 to 2999.
    assert logs.rows_read - digested <= 2 * (1000 + 800)


def test_a_log_has_no_more_stretches_than_are_worth_a_query(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digests, "LEAST_GAP", 10)
    monkeypatch.setattr(digests, "MOST_STRETCHES", 3)
    spans = [(0, 9), (5, 14), (30, 39), (35, 37), (100, 109), (125, 130)]
    log = ["'f' AS flow", "'t' AS target_topic", "0 AS partition"]
    log += ["'f' AS origin", "'t' AS topic"]
    columns = "bucket bigint, first_offset bigint, last_offset bigint"
    rows = [(n, *span) for n, span in enumerate([*spans, (200, 209)])]
    table = small_table(spark, rows, columns).selectExpr(*log, "*")
    differing = table.where("bucket < 6").select(*PAIR, "bucket")

    found = digests.stretches(table, differing).collect()

    # Overlaps are one, and of the gaps of 15, 60 and 15 two are left out.
    assert sorted((r["first_offset"], r["last_offset"]) for r in found) == [
        (0, 14),
        (30, 39),
        (100, 130),
    ]


@pytest.mark.long
def test_one_row_is_kept_of_a_key_however_many_versions_it_has(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[int] = []
    own = type(spark.range(1))
    checkpoint = own.localCheckpoint

    def counted(table: DataFrame) -> DataFrame:
        done = checkpoint(table)
        kept.append(done.count())
        return done

    monkeypatch.setattr(own, "localCheckpoint", counted)
    log = [
        Record(key=b"%d" % (n % 50), value=b"%d" % n, timestamp=n)
        for n in range(1000)
    ]
    logs = Logs(spark)
    logs.write("source", log)
    logs.write("target", log[:-1])
    pair = make_pair((0, 1000), (0, 999), position=1000, compacted=True)

    found = audit(logs, make_plan(pair), bucket=BUCKET)

    (finding,) = found.findings
    assert (finding.kind, finding.source_offsets) == ("dropped", ((999, 999),))
    assert max(kept) == 1
