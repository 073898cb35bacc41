"""Figures of the digests for a report: what was read, and when."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from mirrorwatch.domain.audit import HourCount, Hours, Plan

from .digest import LANE, SUMS

__all__ = ["Reading", "hours_of", "reading_of"]

_TOPIC = ("flow", "target_topic")
_HOUR_MS = 3_600_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What was read to make a digest."""

    records: int
    """Records."""

    bytes: int
    """Bytes of keys, values and headers."""

    earliest: datetime | None
    """Earliest timestamp; `None` if no record has one."""


def reading_of(digest: DataFrame) -> Reading:
    """Return what was read to make a digest."""
    sums = digest.agg(
        F.sum("records_read"), F.sum("bytes"), F.min("first_timestamp")
    )
    records, size, earliest = sums.collect()[0]
    return Reading(
        records=int(records or 0),
        bytes=int(size or 0),
        earliest=None if earliest is None else _time(earliest),
    )


def hours_of(plan: Plan, source: DataFrame, target: DataFrame) -> Hours:
    """Return the records of each topic and hour on both sides.

    Parameters
    ----------
    plan
        What was compared.
    source
        Digest of the source.
    target
        Digest of the target.
    """
    both = _signed(source, 1).unionByName(_signed(target, -1))
    differs = (F.sum("count") != 0) | _any_of(
        F.sum(name) != 0 for name in SUMS
    )
    buckets = both.groupBy(*LANE, "bucket").agg(
        F.sum("source").alias("source"),
        F.sum("target").alias("target"),
        differs.alias("differs"),
    )
    bucket = F.col("bucket")
    hour = F.when(bucket > 0, bucket - bucket % _HOUR_MS)
    hours = buckets.groupBy(*_TOPIC, hour.alias("hour")).agg(
        F.sum("source").alias("source"),
        F.sum("target").alias("target"),
        F.max("differs").alias("differs"),
    )
    names = _names(plan)
    counts = [
        HourCount(
            flow=row["flow"],
            topic=names.get((row["flow"], row["target_topic"]), ""),
            hour=None if row["hour"] is None else _time(row["hour"]),
            source_count=row["source"],
            target_count=row["target"],
            differs=row["differs"],
        )
        for row in hours.orderBy(*_TOPIC, "hour").collect()
    ]
    return Hours(counts=tuple(counts))


def _names(plan: Plan) -> Mapping[tuple[str, str], str]:
    return {(lane.flow, lane.target_topic): lane.topic for lane in plan.lanes}


def _signed(digest: DataFrame, sign: int) -> DataFrame:
    records = F.col("records")
    nothing = F.lit(0).cast("long")
    return digest.select(
        *LANE,
        "bucket",
        (records if sign > 0 else nothing).alias("source"),
        (records if sign < 0 else nothing).alias("target"),
        (records * sign).alias("count"),
        *((F.col(name) * sign).alias(name) for name in SUMS),
    )


def _any_of(conditions: Iterable[Column]) -> Column:
    return reduce(Column.__or__, conditions)


def _time(milliseconds: int) -> datetime:
    since = datetime(1970, 1, 1, tzinfo=UTC)
    return since + timedelta(milliseconds=milliseconds)
