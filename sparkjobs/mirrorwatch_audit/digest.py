"""Counts and checksums: what stands for the records of a bucket."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

__all__ = ["DIGEST", "LANE", "SCHEMA_VERSION", "SUMS", "digest", "in_buckets"]

SCHEMA_VERSION = 1
"""Of stored digests; what two sites digested apart must agree in it."""

LANE = ("flow", "target_topic", "partition")
"""What a lane is called in every table."""

SUMS = ("s1", "s2", "s3", "s4")
"""Sums of the four 32-bit parts of the checksums."""

DIGEST: tuple[str, ...] = (*LANE, "origin", "topic", "bucket")
DIGEST += ("records", "records_read")
DIGEST += ("bytes", *SUMS, "first_offset", "last_offset")
DIGEST += ("first_timestamp", "last_timestamp", "bucket_ms", "schema_version")
"""Columns of a digest: lane, where the records were read, begin of the bucket
(milliseconds since 1970; -1 for records without a timestamp, 0 where
timestamps do not count), what is in it, and where."""

_ORDER = (*LANE, "origin", "topic")

_NO: Mapping[str, Column] = MappingProxyType({})


def in_buckets(
    records: DataFrame, bucket: timedelta, *, timestamps: bool
) -> DataFrame:
    """Add the bucket of each record, as `bucket` and `bucket_ms`.

    Parameters
    ----------
    records
        Hashed records, as in `HASHED`.
    bucket
        Length of a bucket.
    timestamps
        Whether timestamps count; if not there is one bucket.
    """
    length = bucket // timedelta(milliseconds=1)
    when = sf.col("timestamp")
    begin = sf.when(when < 0, sf.lit(-1)).otherwise(when - when % length)
    chosen = begin if timestamps else sf.lit(0)
    return records.withColumns(
        {
            "bucket": chosen.cast("long"),
            "bucket_ms": sf.lit(length).cast("long"),
        }
    )


def digest(
    records: DataFrame, *, compacted: bool, known: Mapping[str, Column] = _NO
) -> DataFrame:
    """Return one row for each bucket of each topic of each lane.

    Parameters
    ----------
    records
        Hashed records in buckets.
    compacted
        Whether only the newest record of each key counts.
    known
        Columns that say where records were read, and need not be looked at
        in each record, as they follow from the others.

    Returns
    -------
    DataFrame
        Columns as in `DIGEST`.

    Notes
    -----
    Sums, because two equal records would vanish from a XOR. A sum of 64-bit
    numbers overflows at once; one of 32-bit parts not before there are 2^31
    records in a bucket of one partition, and Spark's ANSI arithmetic would
    raise rather than wrap. Summed apart, the four parts tell as much as the
    two sums of 64 bits would, and more: no carry is lost.

    What is grouped by costs as much as the checksums do: four names and the
    length of buckets, of each record.
    """
    counted = records.withColumn("records_read", sf.lit(1).cast("long"))
    place = [name for name in _ORDER if name not in known]
    if compacted:
        counted = _newest(counted, place)
    return (
        counted.groupBy(*place, "bucket")
        .agg(
            sf.count(sf.lit(1)).alias("records"),
            sf.sum("records_read").alias("records_read"),
            sf.sum("bytes").alias("bytes"),
            *(
                sf.sum(part).alias(name)
                for name, part in zip(SUMS, _parts(), strict=True)
            ),
            sf.min("offset").alias("first_offset"),
            sf.max("offset").alias("last_offset"),
            sf.min(_known("timestamp")).alias("first_timestamp"),
            sf.max("timestamp").alias("last_timestamp"),
            sf.max("bucket_ms").alias("bucket_ms"),
        )
        .withColumns({**known, "schema_version": sf.lit(SCHEMA_VERSION)})
        .select(*DIGEST)
    )


def _newest(records: DataFrame, place: Sequence[str]) -> DataFrame:
    """Return the newest record of each key, with how many it stands for."""
    keys = (*place, "k1", "k2")
    rest = [name for name in records.columns if name not in keys + _ORDER]
    kept = [name for name in rest if name != "records_read"]
    return (
        records.groupBy(*keys)
        .agg(
            sf.max_by(sf.struct(*kept), "offset").alias("newest"),
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


def _known(timestamp: str) -> Column:
    return sf.when(sf.col(timestamp) >= 0, sf.col(timestamp))
