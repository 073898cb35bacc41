"""Counts and checksums of the records of a bucket."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import TimeWindow

__all__ = [
    "HASHED",
    "PAIR",
    "SUMS",
    "DigestSummary",
    "digest",
    "hashed",
    "in_buckets",
    "prepared",
    "reading_of",
    "stamped",
    "to_millis",
    "to_time",
]


PAIR = ("flow", "target_topic", "partition")
"""Columns that identify a pair in every table."""

SUMS = ("s1", "s2", "s3", "s4")
"""Sums of the four 32-bit parts of the checksums."""

DIGEST: tuple[str, ...] = (*PAIR, "origin", "topic", "bucket")
DIGEST += ("records", "records_read")
DIGEST += ("bytes", *SUMS, "first_offset", "last_offset")
DIGEST += ("first_timestamp", "last_timestamp", "appended")
DIGEST += ("bucket_ms",)
"""Columns of a digest: pair, where the records were read, begin of the bucket
(milliseconds since 1970; -1 for records without a timestamp, 0 where
timestamps do not count), what is in it, and where; how many timestamps are
the broker's (`appended`)."""

_ORDER = (*PAIR, "origin", "topic")

_NO: Mapping[str, Column] = MappingProxyType({})


def in_buckets(
    records: DataFrame, bucket: timedelta, *, timestamps: bool
) -> DataFrame:
    """Add the bucket of each record, as `bucket`.

    Parameters
    ----------
    records
        Hashed records, as in `HASHED`.
    bucket
        Length of a bucket.
    timestamps
        Timestamps are compared; if not, there is one bucket.
    """
    length = bucket // timedelta(milliseconds=1)
    when = sf.col("timestamp")
    begin = sf.when(when < 0, sf.lit(-1)).otherwise(when - when % length)
    chosen = begin if timestamps else sf.lit(0)
    return records.withColumn("bucket", chosen.cast("long"))


def digest(
    records: DataFrame,
    *,
    compacted: bool,
    bucket: timedelta,
    known: Mapping[str, Column] = _NO,
    topics: Collection[str] = (),
) -> DataFrame:
    """Return one row for each bucket of each topic of each pair.

    Parameters
    ----------
    records
        Hashed records in buckets.
    compacted
        Only the newest record of each key counts.
    bucket
        Length of a bucket.
    known
        Columns that say where records were read, and need not be looked at
        in each record, as they follow from the others.
    topics
        Topics that the records are of, where that is known.

    Returns
    -------
    DataFrame
        Columns as in `DIGEST`.

    Notes
    -----
    Sums, because two equal records would vanish from a XOR. A sum of 64-bit
    numbers overflows at once; one of 32-bit parts not before there are 2^31
    records in a bucket of one partition, and Spark's ANSI arithmetic would
    raise rather than wrap. Summed apart, the four parts show as much as the
    two sums of 64 bits would, and more: no carry is lost.

    What is grouped by costs as much as the checksums do: names, of each
    record. So topics that are known are grouped by a hash of their names,
    and named afterwards.
    """
    log = [name for name in _ORDER if name not in known]
    counted = records
    if "appended" not in records.columns:
        counted = counted.withColumn("appended", sf.expr("false"))
    if topics:
        counted = counted.withColumn(_TOPIC_HASH, _hash_of(sf.col("topic")))
        log = [_TOPIC_HASH if name == "topic" else name for name in log]
    if compacted:
        counted = _newest(counted, log)
    found = counted.groupBy(*log, "bucket").agg(
        sf.count(sf.lit(1)).alias("records"),
        *([sf.sum("records_read").alias("records_read")] if compacted else []),
        sf.sum("bytes").alias("bytes"),
        *(
            sf.sum(part).alias(name)
            for name, part in zip(SUMS, _parts(), strict=True)
        ),
        sf.min("offset").alias("first_offset"),
        sf.max("offset").alias("last_offset"),
        sf.min(sf.when(sf.col("timestamp") >= 0, sf.col("timestamp"))).alias(
            "first_timestamp"
        ),
        sf.max("timestamp").alias("last_timestamp"),
        sf.count_if("appended").alias("appended"),
    )
    if not compacted:
        found = found.withColumn("records_read", sf.col("records"))
    if topics:
        # A name that is not found must not take its records with it.
        names = sf.broadcast(_hashes_of(topics, found.sparkSession))
        found = found.join(names, _TOPIC_HASH, "left").withColumn(
            "topic",
            sf.coalesce("topic", sf.raise_error(sf.lit(_UNKNOWN_TOPIC))),
        )
    length = bucket // timedelta(milliseconds=1)
    return found.withColumns(
        {
            **known,
            "bucket_ms": sf.lit(length).cast("long"),
        }
    ).select(*DIGEST)


_TOPIC_HASH = "topic_hash"

_UNKNOWN_TOPIC = "records of a topic that was not asked for"


def _hash_of(topic: Column) -> Column:
    return sf.xxhash64(topic)


def _hashes_of(topics: Collection[str], session: SparkSession) -> DataFrame:
    """Return topics by the hash of their names; Spark raises if two names
    have the same.
    """
    text = json.dumps(sorted(topics))
    names = sf.from_json(sf.lit(text), "array<string>")
    by_hash = sf.map_from_arrays(sf.transform(names, _hash_of), names)
    one = session.range(0, 1, 1, 1)
    return one.select(sf.explode(by_hash).alias(_TOPIC_HASH, "topic"))


def _newest(records: DataFrame, log: Sequence[str]) -> DataFrame:
    """Return the newest record of each key, with how many it counts for."""
    keys = (*log, "k1", "k2")
    rest = [name for name in records.columns if name not in keys + _ORDER]
    return (
        records.groupBy(*keys)
        .agg(
            sf.max_by(sf.struct(*rest), "offset").alias("newest"),
            sf.count(sf.lit(1)).alias("records_read"),
        )
        .select(*keys, "newest.*", "records_read")
    )


def _parts() -> list[Column]:
    low = 0xFFFFFFFF
    return [
        part
        for name in ("h1", "h2")
        for part in (
            sf.shiftrightunsigned(name, 32),
            sf.col(name).bitwiseAND(sf.lit(low)),
        )
    ]


HASHED: tuple[str, ...] = ("flow", "target_topic", "partition", "origin")
HASHED += ("topic", "offset", "timestamp", "bytes", "h1", "h2", "k1", "k2")
"""Columns of a hashed record: where it is, its length (key and value), its
checksum `h1`, `h2`, and that of its key alone, `k1`, `k2`."""

_SEEDS = (1, 2)
"""Seeds of the two halves of a checksum; numbers, as a word would be hashed
anew for each record."""

_NULLS = "headers_with_nulls"

_NO_VALUE = b"\x00mirrorwatch"
"""A value that hardly any header has, to look for nulls beside it."""


def hashed(records: DataFrame, *, timestamps: bool) -> DataFrame:
    """Return a checksum for each record, in log of what is in it.

    Parameters
    ----------
    records
        Records, as in `RECORDS`.
    timestamps
        The timestamp is part of the checksum.

    Returns
    -------
    DataFrame
        Columns as in `HASHED`, whether it is a `tombstone`, and whether its
        timestamp is the broker's (`appended`).

    Notes
    -----
    Spark's xxhash64 goes through its arguments one after the other, each
    seeded with the hash of those before, and skips nulls. So each field
    follows its length, with -1 for a null: an empty value is no null, and no
    byte can move from one field to the next unseen. Headers are hashed as the
    array that they are, which as many names and values follow as there are
    headers. Only where a value may be null, and would be skipped, they are
    hashed as JSON too, which writes bytes as Base64.

    Two seeds alone do not make two checksums of it: from 64 bytes on, the top
    bit of one word and a multiple of 2^30 in the word a stripe later cancel
    under every second pair of seeds. So the second half has CRCs of key and
    value, and Murmur's hash of headers, in place of them. A CRC is linear over
    bits, what cancels here is a difference of numbers: of pairs that agree in
    the first half one in 2^32 agrees in the second.
    That is against faults; who chooses records so that they agree is not kept
    from it.
    """
    found = sf.array_contains(sf.col("headers")["value"], _NO_VALUE)
    # Null where a value is null and none is the one that is looked for.
    whole = sf.coalesce(~found, sf.expr("false"))
    nulls = sf.when(
        (sf.size("headers") > 0) & ~whole,
        sf.to_json("headers", {"ignoreNullFields": "true"}),
    )
    # Apart, so that it is written once for both halves.
    written = records.withColumn(_NULLS, nulls)
    key, value = ([_length(name), sf.col(name)] for name in ("key", "value"))
    count = sf.coalesce(sf.size("headers"), sf.lit(0))
    flag = sf.isnotnull(_NULLS)
    fields = [*key, *value, count, sf.col("headers"), flag, sf.col(_NULLS)]
    key_crc = [key[0], sf.crc32("key")]
    crcs = [
        *key_crc,
        *(value[0], sf.crc32("value")),
        *(count, sf.hash("headers")),
        *(flag, sf.crc32(sf.col(_NULLS).cast("binary"))),
    ]
    if timestamps:
        fields.append(sf.col("timestamp"))
        crcs.append(sf.col("timestamp"))
    # Null, and then left out, where offsets do not count.
    fields.append(sf.col("same_offset"))
    crcs.append(sf.col("same_offset"))
    first, second = (sf.lit(seed) for seed in _SEEDS)
    return written.select(
        *HASHED[:7],
        _bytes().alias("bytes"),
        sf.xxhash64(first, *fields).alias("h1"),
        sf.xxhash64(second, *crcs).alias("h2"),
        sf.xxhash64(first, *key).alias("k1"),
        sf.xxhash64(second, *key_crc).alias("k2"),
        sf.isnull("value").alias("tombstone"),
        "appended",
    )


def _length(field: str | Column) -> Column:
    return sf.coalesce(sf.length(field), sf.lit(-1))


def _bytes() -> Column:
    key, value = (
        sf.coalesce(sf.length(part), sf.lit(0)) for part in ("key", "value")
    )
    return (key + value).cast("long")


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def prepared(
    records: DataFrame,
    *,
    timestamps: bool,
    window: TimeWindow | None,
    bucket: timedelta,
) -> DataFrame:
    """Return the records that count, hashed and in buckets.

    Parameters
    ----------
    records
        Records, as in `RECORDS`.
    timestamps
        Timestamps are compared.
    window
        Which timestamps are asked for, if not all.
    bucket
        Length of a bucket.
    """
    chosen = records
    if window is not None and timestamps:
        chosen = records.where(in_window(window))
    return in_buckets(
        hashed(chosen, timestamps=timestamps), bucket, timestamps=timestamps
    )


def in_window(window: TimeWindow) -> Column:
    """Return whether a record's timestamp lies in a window."""
    when = sf.col("timestamp")
    return (when >= to_millis(window.start)) & (when < to_millis(window.end))


def to_millis(when: datetime) -> int:
    """Return a time in milliseconds since 1970, as Kafka has it."""
    return (when - _EPOCH) // timedelta(milliseconds=1)


LATEST = datetime(9999, 1, 1, tzinfo=UTC)
"""Latest time that is shown: producers write any number as a timestamp
(microseconds, say), and calendars end. There is room for every time zone."""


def to_time(milliseconds: int) -> datetime:
    """Return a timestamp as it is shown: none is before 1970, or after
    `LATEST`.
    """
    shown = min(max(milliseconds, 0), to_millis(LATEST))
    return _EPOCH + timedelta(milliseconds=shown)


@dataclass(frozen=True, kw_only=True, slots=True)
class DigestSummary:
    """Totals of the records that were read to make a digest."""

    records: int
    bytes: int
    """Bytes of keys and values."""

    earliest: datetime | None
    """Earliest timestamp; `None` if no record has one."""


def reading_of(digest: DataFrame) -> DigestSummary:
    """Return what was read to make a digest."""
    sums = digest.agg(
        sf.sum("records_read"), sf.sum("bytes"), sf.min("first_timestamp")
    )
    records, size, earliest = sums.collect()[0]
    return DigestSummary(
        records=int(records or 0),
        bytes=int(size or 0),
        earliest=None if earliest is None else to_time(earliest),
    )


def stamped(digest: DataFrame) -> set[tuple[str, str, int]]:
    """Return the pairs of which records have a timestamp of the broker's.

    Parameters
    ----------
    digest
        Digest of the target.
    """
    found = digest.where("appended > 0").select(*PAIR).distinct()
    return {(row[0], row[1], row[2]) for row in found.collect()}
