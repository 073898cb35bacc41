"""The second reading: what lies before and after the audited ranges."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit import Lane, Side

from .aborted import is_untold, with_aborted
from .digest import LANE
from .hashing import hashed
from .lanes import NAMES, after, before, name
from .pairs import HASH
from .records import Read
from .tables import small_table

__all__ = ["SIDES", "counted_beyond", "reach", "read_beyond"]

SIDES: tuple[Side, Side] = ("source", "target")


def read_beyond(
    read: Read,
    lanes: Sequence[Lane],
    *,
    timestamps: bool,
    carry: DataFrame,
) -> DataFrame:
    """Return all records around the spans of lanes, on both sides.

    Parameters
    ----------
    read
        Reads records.
    lanes
        Lanes with records that have no counterpart.
    timestamps
        Whether timestamps count in these lanes.
    carry
        Records from before the spans that count to the spans.

    Returns
    -------
    DataFrame
        Hashed records, with their `side`, whether they come `before` the
        span, and whether they were `aborted`, where that needs to be told.
    """
    own = carry.select(*LANE, "side", "origin", "topic", "offset")
    parts = []
    for side in SIDES:
        early = read([before(lane) for lane in lanes], side)
        late = read([after(lane) for lane in lanes], side)
        parts += [
            hashed(records, timestamps=timestamps).withColumns(
                {"side": sf.lit(side), "before": sf.lit(is_before)}
            )
            for records, is_before in ((early, True), (late, False))
        ]
    found = parts[0]
    for part in parts[1:]:
        found = found.unionByName(part)
    rest = found.join(sf.broadcast(own), own.columns, "left_anti")
    at_source = sf.col("side") == "source"
    source = with_aborted(
        read, rest.where(at_source), lanes, doubtful=is_untold
    )
    target = rest.where(~at_source).withColumn("aborted", sf.expr("false"))
    return source.unionByName(target)


def counted_beyond(
    beyond: DataFrame, hashes: DataFrame, bounds: DataFrame
) -> DataFrame:
    """Return how many copies of some records there are around the spans.

    Parameters
    ----------
    beyond
        What was read there.
    hashes
        Checksums to count, as `HASH`.
    bounds
        From which source offset on records may be on their way.

    Returns
    -------
    DataFrame
        `HASH`; copies at either side before and after the span; those at the
        source after the span that must have been copied (`after_due`); those
        that were `aborted` there; and the `first` one at the source.
    """
    source, late = sf.col("side") == "source", ~sf.col("before")
    place = sf.struct("offset", "origin", "topic")
    return (
        beyond.join(hashes, [*HASH], "left_semi")
        .join(sf.broadcast(bounds), [*LANE, "origin", "topic"], "left")
        .groupBy(*HASH)
        .agg(
            sf.count_if(source & ~late).alias("before_source"),
            sf.count_if(~source & ~late).alias("before_target"),
            sf.count_if(source & late).alias("after_source"),
            sf.count_if(~source & late).alias("after_target"),
            sf.count_if(source & late & _due()).alias("after_due"),
            sf.count_if("aborted").alias("aborted"),
            sf.min(sf.when(source, place)).alias("first"),
        )
    )


def reach(beyond: DataFrame, lanes: Sequence[Lane]) -> DataFrame:
    """Return how far back the target remembers what comes before the spans.

    Parameters
    ----------
    beyond
        What was read there.
    lanes
        Lanes that it was read for.

    Returns
    -------
    DataFrame
        `LANE`, and the earliest timestamp, `reach`.
    """
    whole = [(*name(lane), -1) for lane in lanes if not lane.retained.start]
    everything = small_table(
        beyond.sparkSession, whole, f"{NAMES}, timestamp bigint"
    )
    return (
        beyond.where(sf.col("before") & (sf.col("side") == "target"))
        .where(sf.col("timestamp") >= 0)
        .select(*LANE, "timestamp")
        .unionByName(everything)
        .groupBy(*LANE)
        .agg(sf.min("timestamp").alias("reach"))
    )


def _due() -> Column:
    return sf.coalesce(sf.col("offset") < sf.col("bound"), sf.expr("false"))
