"""What an audit reads and keeps follows what is unmatched."""

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

from mirrorwatch_audit.compare.audit import audit
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
