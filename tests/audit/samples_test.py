"""Keys of findings, where they are asked for."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from mirrorwatch_audit.compare.audit import audit
from tests.support.cases import records
from tests.support.logs import BUCKET, Logs, Record, make_lane, make_plan
from tests.support.spark import SPARK, small_spark

pytestmark = SPARK

SENT = [replace(r, key=b"k%d" % n) for n, r in enumerate(records(0, 8))]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_spark() as session:
        yield session


def keys(
    spark: SparkSession, dropped: list[Record], most: int
) -> tuple[str, ...]:
    """Return the keys that are named of records that were dropped."""
    logs = Logs(spark)
    logs.write("source", [*SENT, *dropped])
    logs.write("target", SENT)
    end = len(SENT) + len(dropped)
    lane = make_lane((0, end), (0, len(SENT)), position=end)
    found = audit(logs, make_plan(lane), bucket=BUCKET, keys=most)
    (finding,) = found.findings
    assert finding.count == len(dropped)
    return finding.keys


def test_no_key_is_named_unless_it_is_asked_for(spark: SparkSession) -> None:
    (one,) = records(20, 21)
    assert keys(spark, [one], 0) == ()


def test_as_many_keys_are_named_as_are_asked_for(spark: SparkSession) -> None:
    lost = [replace(r, key=b"x%d" % n) for n, r in enumerate(records(20, 24))]
    assert keys(spark, lost, 2) == ("x0", "x1")


def test_keys_are_shown_as_text_or_bytes_and_not_at_length(
    spark: SparkSession,
) -> None:
    binary, none, long = records(20, 23)
    lost = [
        replace(binary, key=b"\xff\x00"),
        replace(none, key=None),
        replace(long, key=b"y" * 300),
    ]
    assert keys(spark, lost, 9) == ("FF00", "y" * 200)
