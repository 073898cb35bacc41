"""Windows of time, and what several topics feed into one."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from mirrorwatch.domain.audit.plan import (
    AuditSpan,
    PartitionPair,
    SourceRange,
    TimeWindow,
)
from mirrorwatch_audit.compare.audit import audit
from mirrorwatch_audit.compare.digests import DigestComparison
from tests.support.audit_spark import SPARK, records, small_spark
from tests.support.logs import (
    AT,
    BUCKET,
    FLOW,
    Logs,
    Record,
    make_pair,
    make_plan,
    millis,
)

pytestmark = SPARK

OTHER = "base->ldf"

TEN = records(0, 10)
"""A second apart; the first 9999 s before the plan was frozen."""

WINDOW = TimeWindow(AT - timedelta(seconds=9997), AT - timedelta(seconds=9992))
"""From the third record to before the eighth."""


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_spark() as session:
        yield session


@pytest.fixture(scope="module")
def windowed(spark: SparkSession) -> DigestComparison:
    logs = Logs(spark)
    pairs = []
    for topic, target in {
        "whole": TEN,
        "dropped": [*TEN[:3], *TEN[4:9]],
        "doubled": [*TEN, TEN[4], TEN[9]],
    }.items():
        logs.write("source", TEN, topic=topic)
        logs.write("target", target, topic=topic)
        ends = (0, 10), (0, len(target))
        pairs.append(make_pair(*ends, topic=topic, position=10))
    # The span ends before the copies of the last two records.
    logs.write("source", TEN, topic="short")
    logs.write("target", TEN, topic="short")
    kept = (0, 10), (0, 10)
    short = make_pair((0, 10), (0, 5), topic="short", retained=kept)
    plan = make_plan(*pairs, short, window=WINDOW)
    return audit(logs, plan, bucket=BUCKET)


@pytest.fixture(scope="module")
def merged(spark: SparkSession) -> DigestComparison:
    logs = Logs(spark)
    ours, theirs = records(0, 4), records(100, 104)
    logs.write("source", ours, topic="a")
    logs.write("source", theirs, topic="b", flow=OTHER)
    altered = replace(theirs[2], value=b"?")
    foreign = Record(value=b"foreign", timestamp=millis(1))
    copies = [ours[0], theirs[0], ours[1], theirs[1], altered]
    logs.write(
        "target", [*copies, ours[3], theirs[3], theirs[3], foreign], topic="m"
    )
    pair = PartitionPair(
        flow=FLOW,
        cluster="ldf",
        target_topic="m",
        partition=0,
        sources=tuple(
            SourceRange(
                flow=flow,
                cluster="summit",
                topic=topic,
                partition=0,
                span=AuditSpan(0, 4),
                retained=AuditSpan(0, 4),
                position=4,
            )
            for flow, topic in ((FLOW, "a"), (OTHER, "b"))
        ),
        span=AuditSpan(0, 9),
        retained=AuditSpan(0, 9),
    )
    return audit(logs, make_plan(pair), bucket=BUCKET)


def found(
    comparison: DigestComparison, topic: str
) -> list[tuple[object, ...]]:
    return [
        (f.kind, f.count, f.source_offsets, f.target_offsets)
        for f in comparison.findings
        if f.topic == topic
    ]


def test_only_records_of_the_window_are_counted(
    windowed: DigestComparison,
) -> None:
    counts = {
        t.topic: (t.source_count, t.target_count) for t in windowed.topics
    }
    assert counts["whole"] == (5, 5)
    assert counts["dropped"] == (5, 4)
    assert counts["doubled"] == (5, 6)


def test_only_what_is_wrong_in_the_window_is_found(
    windowed: DigestComparison,
) -> None:
    assert found(windowed, "whole") == []
    assert found(windowed, "dropped") == [("dropped", 1, ((3, 3),), ())]
    assert found(windowed, "doubled") == [
        ("duplicated", 1, ((4, 4),), ((10, 10),))
    ]


def test_copies_beyond_what_was_read_are_looked_for(
    windowed: DigestComparison,
) -> None:
    assert found(windowed, "short") == []
    stated = [(s.kind, s.count) for s in windowed.stated if s.topic == "short"]
    assert stated == [("carried", 2)]


def test_several_topics_are_compared_with_what_they_feed(
    merged: DigestComparison,
) -> None:
    (count,) = merged.topics
    assert (count.flow, count.topic) == (FLOW, "m")
    assert (count.source_count, count.target_count) == (8, 9)
    assert merged.fed == {(FLOW, "a"): 4, (OTHER, "b"): 4}


def test_findings_of_merged_topics_name_the_one_they_are_of(
    merged: DigestComparison,
) -> None:
    assert found(merged, "a") == [("dropped", 1, ((2, 2),), ())]
    assert found(merged, "b") == [
        ("duplicated", 1, ((3, 3),), ((7, 7),)),
        ("corrupted", 1, ((2, 2),), ((4, 4),)),
    ]
    assert found(merged, "m") == [("extra", 1, (), ((8, 8),))]
    assert {f.topic: f.flow for f in merged.findings} == {
        "a": FLOW,
        "b": OTHER,
        "m": FLOW,
    }


@pytest.mark.long
def test_a_surplus_that_may_be_of_a_topic_that_is_no_more_is_unverifiable(
    spark: SparkSession,
) -> None:
    logs = Logs(spark)
    ours, theirs = records(0, 4), records(100, 102)
    logs.write("source", ours)
    logs.write("target", [*theirs, *ours[:2], ours[3]])
    pair = make_pair((0, 4), (0, 5), position=4)
    merged = replace(pair, absent=((OTHER, "a"),))
    compared = audit(logs, make_plan(merged), bucket=BUCKET)
    # The lost one is not taken for one that was altered.
    assert found(compared, "a") == [("dropped", 1, ((2, 2),), ())]
    (gap,) = compared.unverifiable
    assert (gap.topic, gap.records) == ("a", 2)
    assert f"a ({OTHER}), whose topic" in gap.reason
    assert found(audit(logs, make_plan(pair), bucket=BUCKET), "a") != [
        ("dropped", 1, ((2, 2),), ())
    ]
