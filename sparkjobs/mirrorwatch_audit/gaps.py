"""Between which neighbours a record lies."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit import Lane, Side

from .bounds import PLACE
from .digest import LANE
from .lanes import NAMES, name
from .tables import small_table

__all__ = ["gaps"]

_COLUMNS = f"{NAMES}, origin string, topic string, start bigint"


def gaps(pairs: DataFrame, lanes: Sequence[Lane], side: Side) -> DataFrame:
    """Return the neighbour of each record of one side.

    Parameters
    ----------
    pairs
        All records that were read, with their counterparts.
    lanes
        The lanes that they are of.
    side
        Which side.

    Returns
    -------
    DataFrame
        `PLACE` of the source, or `LANE` of the target; the record's offset
        there (`source_offset` or `target_offset`); the target offset of the
        last record before it that has a counterpart, `gap` (-1 if there is
        none); and whether it is `close`: nothing lies between them that was
        not read.
    """
    mark, place = ("s", PLACE) if side == "source" else ("t", LANE)
    order = Window.partitionBy(*place).orderBy("own")
    rows = pairs.where(sf.col(f"{mark}_offset").isNotNull()).select(
        *LANE,
        sf.col("s_origin").alias("origin"),
        sf.col("s_topic").alias("topic"),
        sf.col(f"{mark}_offset").alias("own"),
        sf.col("t_offset").alias("copy"),
        (sf.isnotnull("s_offset") & sf.isnotnull("t_offset")).alias("paired"),
    )
    numbered = rows.withColumn("number", sf.row_number().over(order))
    last = sf.last(
        sf.when(sf.col("paired"), sf.struct("own", "copy", "number")),
        ignorenulls=True,
    ).over(order.rowsBetween(Window.unboundedPreceding, -1))
    starts = sf.broadcast(_starts(pairs, lanes, side))
    return (
        numbered.withColumn("last", last)
        .join(starts, [*place])
        .select(
            *place,
            sf.col("own").alias(f"{side}_offset"),
            sf.coalesce("last.copy", sf.lit(-1)).alias("gap"),
            _is_close().alias("close"),
        )
    )


def _is_close() -> Column:
    """Return whether offsets rise by one from the neighbour to the record."""
    first = sf.coalesce("last.own", sf.col("start") - 1)
    number = sf.coalesce("last.number", sf.lit(0))
    return sf.col("own") - first == sf.col("number") - number


def _starts(pairs: DataFrame, lanes: Sequence[Lane], side: Side) -> DataFrame:
    rows = [
        (*name(lane), origin, topic, start)
        for lane in lanes
        for origin, topic, start in (
            [(s.flow, s.topic, s.span.start) for s in lane.sources]
            if side == "source"
            else [(lane.flow, lane.target_topic, lane.span.start)]
        )
    ]
    place = PLACE if side == "source" else LANE
    table = small_table(pairs.sparkSession, rows, _COLUMNS)
    return table.select(*place, "start")
