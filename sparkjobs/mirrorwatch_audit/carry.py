"""Records that one night leaves to the next."""

from collections.abc import Iterable
from datetime import timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit import Lane, Side

from .digest import LANE, in_buckets
from .hashing import HASHED
from .lanes import named
from .tables import small_table

__all__ = ["CARRY", "WAITING", "carried", "carry_out", "no_carry"]

WAITING = ("carried", "in_flight", "unknown", "open")
"""Outcomes of records that are compared the next night."""

CARRY = (
    "flow string, target_topic string, partition int, origin string, "
    "topic string, offset bigint, timestamp bigint, bytes bigint, "
    "h1 bigint, h2 bigint, k1 bigint, k2 bigint, side string, reason string"
)
"""A hashed record, the side that it was read on, and whether its copy is
beyond the range of the other side (`carried`) or not there yet
(`in_flight`, `unknown` or `open`)."""


def no_carry(session: SparkSession) -> DataFrame:
    """Return what the first night ever was left."""
    return small_table(session, [], CARRY)


def carry_out(
    carry: DataFrame, outcomes: DataFrame, lanes: Iterable[Lane]
) -> DataFrame:
    """Return what is left to the next night.

    Parameters
    ----------
    carry
        What the night before left to this one.
    outcomes
        What became of records of this night.
    lanes
        Lanes that were compared: what was left of others waits on.
    """
    names = sf.broadcast(named(carry.sparkSession, lanes))
    waiting = carry.join(names, [*LANE], "left_anti")
    source = sf.col("side") == "source"
    offset = sf.when(source, sf.col("source_offset"))
    topic = sf.when(source, sf.col("topic"))
    found = outcomes.where(sf.col("kind").isin(*WAITING)).withColumns(
        {
            "offset": offset.otherwise(sf.col("target_offset")),
            "origin": sf.when(source, sf.col("origin")).otherwise(
                sf.col("flow")
            ),
            "topic": topic.otherwise(sf.col("target_topic")),
            "reason": sf.col("kind"),
        }
    )
    return waiting.unionByName(found.select(*carry.columns))


def carried(
    carry: DataFrame,
    side: Side,
    lanes: Iterable[Lane],
    *,
    timestamps: bool,
    bucket: timedelta,
) -> DataFrame:
    """Return the records that count to one side of lanes, in buckets.

    Parameters
    ----------
    carry
        What the night before left.
    side
        Which side.
    lanes
        Lanes that are hashed alike.
    timestamps
        Whether timestamps count.
    bucket
        Length of a bucket.
    """
    names = sf.broadcast(named(carry.sparkSession, lanes))
    own = (
        carry.where(sf.col("side") == side)
        .join(names, [*LANE], "left_semi")
        .select(*HASHED)
    )
    return in_buckets(own, bucket, timestamps=timestamps)
