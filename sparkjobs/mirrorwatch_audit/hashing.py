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
    byte can move from one field to the next unseen. Headers are hashed as
    JSON, which writes bytes as Base64, leaves out nulls, and keeps the order.
    A lambda over them would tell the same, but keep Spark from compiling the
    rest, which costs half as much again for every record without headers.
    """
    fields = [_length("key"), sf.col("key"), _length("value"), sf.col("value")]
    key = fields[:2]
    fields += [sf.coalesce(sf.size("headers"), sf.lit(0)), _headers()]
    if timestamps:
        fields.append(sf.col("timestamp"))
    first, second = (sf.lit(seed) for seed in _SEEDS)
    return records.select(
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


def _headers() -> Column:
    json = sf.to_json("headers", {"ignoreNullFields": "true"})
    return sf.when(_has_headers(), json)


def _bytes() -> Column:
    headers = sf.col("headers")
    joined = [
        sf.array_join(headers[part].cast("array<string>"), "")
        for part in ("key", "value")
    ]
    lengths = [
        *(sf.length(part) for part in ("key", "value")),
        *(sf.when(_has_headers(), sf.octet_length(j)) for j in joined),
    ]
    total = sf.lit(0)
    for length in lengths:
        total += sf.coalesce(length, sf.lit(0))
    return total.cast("long")


def _has_headers() -> Column:
    return sf.size("headers") > 0
