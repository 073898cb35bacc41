"""The checksum of one record."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

__all__ = ["HASHED", "hashed"]

HASHED: tuple[str, ...] = ("flow", "target_topic", "partition", "origin")
HASHED += ("topic", "offset", "timestamp", "bytes", "h1", "h2", "k1", "k2")
"""Columns of a hashed record: where it is, its length (key, value and
headers), its checksum `h1`, `h2`, and that of its key alone, `k1`, `k2`."""

_SEEDS = ("mirrorwatch 1", "mirrorwatch 2")
"""What the two halves of a checksum begin with, so that records which agree
in one half by chance do not in the other."""


def hashed(records: DataFrame, *, timestamps: bool) -> DataFrame:
    """Return a checksum for each record, in place of what is in it.

    Parameters
    ----------
    records
        Records, as in `RECORDS`.
    timestamps
        Whether the timestamp is part of the checksum.

    Returns
    -------
    DataFrame
        Columns as in `HASHED`, and whether it is a `tombstone`.

    Notes
    -----
    Spark's xxhash64 goes through its arguments one after the other, each
    seeded with the hash of those before, and skips nulls. So each field
    follows its length, with -1 for a null: an empty value is no null, and no
    byte can move from one field to the next unseen. Headers keep their order,
    and follow their number and the lengths of all their keys and values.
    """
    fields = [_length("key"), sf.col("key"), _length("value"), sf.col("value")]
    key = fields[:2]
    fields += [sf.coalesce(sf.size("headers"), sf.lit(0))]
    fields += [sf.col("lengths"), sf.col("headers")]
    if timestamps:
        fields.append(sf.col("timestamp"))
    first, second = (sf.lit(seed) for seed in _SEEDS)
    return records.withColumn("lengths", _header_lengths()).select(
        *HASHED[:7],
        _bytes().alias("bytes"),
        sf.xxhash64(first, *fields).alias("h1"),
        sf.xxhash64(second, *fields).alias("h2"),
        sf.xxhash64(first, *key).alias("k1"),
        sf.xxhash64(second, *key).alias("k2"),
        sf.isnull("value").alias("tombstone"),
    )


def _length(field: str | Column) -> Column:
    return sf.coalesce(sf.length(field), sf.lit(-1))


def _header_lengths() -> Column:
    # Most records have none, and a lambda is slow.
    return sf.when(
        sf.size("headers") > 0,
        sf.transform(
            "headers",
            lambda header: sf.struct(
                sf.octet_length(header["key"]).alias("key"),
                _length(header["value"]).alias("value"),
            ),
        ),
    )


def _bytes() -> Column:
    own = [sf.coalesce(sf.length(f), sf.lit(0)) for f in ("key", "value")]
    of_headers = sf.aggregate(
        "lengths",
        sf.lit(0),
        lambda total, header: (
            total + header["key"] + sf.greatest(header["value"], sf.lit(0))
        ),
    )
    total = own[0] + own[1] + sf.coalesce(of_headers, sf.lit(0))
    return total.cast("long")
