"""What a checksum must tell apart, and what a digest adds up."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sf

from mirrorwatch.exceptions import AuditError
from mirrorwatch_audit.digest.digest import SUMS, digest, hashed, prepared
from mirrorwatch_audit.session import translated
from tests.support.audit_spark import SPARK, small_spark
from tests.support.collisions import LONG, cancelled
from tests.support.logs import BUCKET, Logs, Record, make_pair

pytestmark = SPARK

BASE = Record(key=b"k", value=b"v", timestamp=600_000)

NO_VALUE = b"\x00mirrorwatch"

DIFFERENT = [
    BASE,
    replace(BASE, key=None),
    replace(BASE, key=b""),
    replace(BASE, value=None),
    replace(BASE, value=b""),
    # Bytes that move from one field to the next.
    replace(BASE, key=b"kv", value=b""),
    replace(BASE, key=b"", value=b"kv"),
    replace(BASE, key=b"kv", value=None),
    replace(BASE, key=b"k", value=None, headers=(("v", b""),)),
    replace(BASE, key=b"v", value=b"k"),
    replace(BASE, timestamp=600_001),
    replace(BASE, timestamp=-1),
    # Headers: none, null and empty values, order, number, and what is whose.
    replace(BASE, headers=(("a", None),)),
    replace(BASE, headers=(("a", b""),)),
    replace(BASE, headers=(("a", b"b"),)),
    replace(BASE, headers=(("ab", b""),)),
    replace(BASE, headers=(("", b"ab"),)),
    replace(BASE, headers=(("a", b""), ("a", b""))),
    replace(BASE, headers=(("a", b"1"), ("b", b"2"))),
    replace(BASE, headers=(("b", b"2"), ("a", b"1"))),
    replace(BASE, headers=(("a", b"2"), ("b", b"1"))),
    replace(BASE, headers=(("a", None), ("b", b"x"))),
    replace(BASE, headers=(("a", b"b"), ("x", None))),
    replace(BASE, headers=(("a", b"x"), ("b", None))),
    # A value that looks like what headers are written as.
    replace(BASE, headers=(("a", b'[{"key":"a"}]'),)),
    replace(BASE, headers=(("a", None), ("a", None))),
    replace(BASE, headers=(("a", None), ("a", b""))),
    replace(BASE, headers=(("a", b"1,2"), ("b", b""))),
    replace(BASE, headers=(("a", b"1"), ("b", b"2,"))),
    # Nulls, which a hash skips: what follows must not move into their place.
    replace(BASE, headers=(("a", None), ("b", b"c"))),
    replace(BASE, headers=(("a", b"b"), ("c", None))),
    # The value by which nulls are looked for, alone and beside one.
    replace(BASE, headers=(("a", NO_VALUE),)),
    replace(BASE, headers=(("a", NO_VALUE), ("b", b"c"))),
    replace(BASE, headers=(("a", NO_VALUE), ("b", None))),
    replace(BASE, headers=(("b", None), ("a", NO_VALUE))),
]
"""Records of which no two are the same."""


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_spark() as session:
        yield session


def read(spark: SparkSession, records: Sequence[Record]) -> DataFrame:
    logs = Logs(spark)
    span = logs.write("target", records)
    return logs([make_pair((0, 0), (span.start, span.end))], "target")


def sums(
    spark: SparkSession, records: Sequence[Record], *, timestamps: bool = True
) -> list[Row]:
    found = prepared(
        read(spark, records), timestamps=timestamps, window=None, bucket=BUCKET
    )
    return (
        digest(found, compacted=False, bucket=BUCKET)
        .orderBy("bucket")
        .collect()
    )


def test_no_two_different_records_have_one_checksum(
    spark: SparkSession,
) -> None:
    rows = hashed(read(spark, DIFFERENT), timestamps=True).collect()
    for half in ("h1", "h2"):
        assert len({row[half] for row in rows}) == len(DIFFERENT)
    assert not {row["h1"] for row in rows} & {row["h2"] for row in rows}


def test_an_alteration_that_two_seeds_do_not_see_is_seen(
    spark: SparkSession,
) -> None:
    """With two seeds and no more, half of these have one checksum."""
    values = [bytes([n, *LONG[1:7], n * 16, *LONG[8:]]) for n in range(16)]
    records = [
        Record(value=kind)
        for value in values
        for kind in (value, cancelled(value, 1), cancelled(value, -1))
    ]
    rows = hashed(read(spark, records), timestamps=True)
    found = rows.orderBy("offset").select("h1", "h2").collect()
    first = [row["h1"] for row in found]
    alike = [
        (n, n + more)
        for n in range(0, len(found), 3)
        for more in (1, 2)
        if first[n] == first[n + more]
    ]
    assert len(alike) == len(values), "the construction no longer holds"
    assert not [n for n, m in alike if found[n]["h2"] == found[m]["h2"]]
    keys = [Record(key=record.value) for record in records]
    found = (
        hashed(read(spark, keys), timestamps=True)
        .orderBy("offset")
        .select("k1", "k2")
        .collect()
    )
    assert not [n for n, m in alike if found[n]["k2"] == found[m]["k2"]]


def test_no_headers_and_an_empty_list_of_them_are_one(
    spark: SparkSession,
) -> None:
    both = [BASE, replace(BASE, headers=())]
    rows = hashed(read(spark, both), timestamps=True).collect()
    assert len({(row["h1"], row["h2"]) for row in rows}) == 1


def test_a_timestamp_that_does_not_count_changes_nothing(
    spark: SparkSession,
) -> None:
    both = [BASE, replace(BASE, timestamp=7)]
    rows = hashed(read(spark, both), timestamps=False).collect()
    assert len({(row["h1"], row["h2"]) for row in rows}) == 1


def test_lengths_are_of_key_and_value(spark: SparkSession) -> None:
    records = [
        Record(key=None, value=None),
        replace(BASE, value=b"four"),
        replace(BASE, headers=(("é1", b"22"), ("b", None))),
    ]
    rows = hashed(read(spark, records), timestamps=True).orderBy("offset")
    assert [row["bytes"] for row in rows.collect()] == [0, 5, 2]


def test_a_digest_does_not_depend_on_the_order(spark: SparkSession) -> None:
    (one,), (other,) = (
        sums(spark, order, timestamps=False)
        for order in (DIFFERENT, DIFFERENT[::-1])
    )
    assert one["records"] == len(DIFFERENT)
    assert all(one[name] == other[name] for name in (*SUMS, "bytes"))


def test_topics_are_named_after_they_are_summed_up(
    spark: SparkSession,
) -> None:
    logs = Logs(spark)
    pairs = []
    for topic, partition in (("a", 0), ("a", 1), ("b", 0), ('b.é"', 1)):
        records = [
            replace(BASE, value=f"{topic} {partition} {n}".encode())
            for n in range(5)
        ]
        span = logs.write("target", records, topic=topic, partition=partition)
        ends = span.start, span.end
        pairs.append(make_pair((0, 0), ends, topic=topic, partition=partition))
    found = prepared(
        logs(pairs, "target"), timestamps=True, window=None, bucket=BUCKET
    )
    topics = {pair.target_topic for pair in pairs}
    for compacted in (False, True):
        plain, hashed_topics = (
            digest(found, compacted=compacted, bucket=BUCKET, topics=given)
            .orderBy("topic", "partition")
            .collect()
            for given in ((), topics)
        )
        assert len(plain) == len(pairs)
        assert hashed_topics == plain


@pytest.mark.parametrize(
    ("topics", "reason"),
    [
        # Of one name, as nobody has two names with one hash.
        (["a", "b", "b"], "Duplicate map key"),
        (["b"], "a topic that was not asked for"),
    ],
)
def test_records_of_topics_that_cannot_be_named_are_not_dropped(
    spark: SparkSession, topics: list[str], reason: str
) -> None:
    found = prepared(
        read(spark, [BASE]), timestamps=True, window=None, bucket=BUCKET
    )
    rows = digest(found, compacted=False, bucket=BUCKET, topics=topics)
    with (
        pytest.raises(AuditError, match=reason),
        translated("Spark says"),
    ):
        rows.collect()


def test_a_doubled_record_does_not_cancel(spark: SparkSession) -> None:
    (one,), (other,) = (
        sums(spark, [BASE] * count, timestamps=False) for count in (1, 3)
    )
    assert [other[name] for name in SUMS] == [3 * one[name] for name in SUMS]


def test_the_parts_of_a_checksum_are_small_enough_to_be_summed(
    spark: SparkSession,
) -> None:
    rows = [row for r in DIFFERENT[:3] for row in sums(spark, [r])]
    assert all(0 <= row[name] < 2**32 for row in rows for name in SUMS)


def test_buckets_hold_the_records_of_their_time(spark: SparkSession) -> None:
    times = [-1, 0, 599_999, 600_000, 1_300_000]
    rows = sums(spark, [replace(BASE, timestamp=time) for time in times])
    assert [(r["bucket"], r["records"], r["first_offset"]) for r in rows] == [
        (-1, 1, 0),
        (0, 2, 1),
        (600_000, 1, 3),
        (1_200_000, 1, 4),
    ]
    assert rows[0]["first_timestamp"] is None
    assert rows[1]["last_timestamp"] == 599_999


def test_of_a_compacted_topic_the_newest_of_each_key_counts(
    spark: SparkSession,
) -> None:
    records = [replace(BASE, value=b"%d" % n) for n in range(5)]
    other = replace(BASE, key=b"other")
    found = prepared(
        read(spark, [*records, other]),
        timestamps=True,
        window=None,
        bucket=BUCKET,
    )
    (all_of_them,) = digest(found, compacted=True, bucket=BUCKET).collect()
    newest = prepared(
        read(spark, [records[-1], other]),
        timestamps=True,
        window=None,
        bucket=BUCKET,
    )
    (kept,) = digest(newest, compacted=True, bucket=BUCKET).collect()
    assert [all_of_them[s] for s in SUMS] == [kept[s] for s in SUMS]
    assert (all_of_them["records"], all_of_them["records_read"]) == (2, 6)


def test_sums_that_overflow_raise_and_never_wrap(spark: SparkSession) -> None:
    ansi = spark.range(1).select(sf.lit(2**63 - 1) + sf.col("id") + 1)
    with pytest.raises(ArithmeticException, match="overflow"):
        ansi.collect()
