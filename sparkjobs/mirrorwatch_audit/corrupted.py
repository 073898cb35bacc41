"""A record that is missing, and an unknown one in its place: corrupted."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit import Lane

from .bounds import PLACE
from .digest import LANE
from .lanes import name, named

__all__ = ["with_corrupted"]

_SOURCE_ROW = (*PLACE, "source_offset")
_TARGET_ROW = (*LANE, "target_offset")
_TORN = ("dropped", "extra")


def with_corrupted(
    outcomes: DataFrame, pairs: DataFrame, lanes: Sequence[Lane]
) -> DataFrame:
    """Turn each pair of a dropped and an extra record into a corrupted one.

    Parameters
    ----------
    outcomes
        What became of records without a counterpart.
    pairs
        All records that were read, with their counterparts.
    lanes
        The lanes.

    Returns
    -------
    DataFrame
        The outcomes, with kind `corrupted` and both offsets where a dropped
        record and an extra one lie between the same neighbours; the row of
        the extra one is gone.

    Notes
    -----
    The neighbour is the last record before that has a counterpart. Of several
    in one gap those of one timestamp belong together, then the first to the
    first. In a merged lane records of other topics come in between at the
    target, so there only the timestamp tells.
    """
    kinds = outcomes.select(*LANE, "kind").distinct().collect()
    torn = [
        lane
        for lane in lanes
        if {(*name(lane), kind) for kind in _TORN} <= set(kinds)
    ]
    if not torn:
        return outcomes
    names = named(pairs.sparkSession, torn)
    around = pairs.join(sf.broadcast(names), [*LANE], "left_semi")
    merged = named(
        pairs.sparkSession, (lane for lane in torn if len(lane.sources) > 1)
    )
    dropped, extra = (
        _in_gaps(
            outcomes.where(sf.col("kind") == kind), gaps, merged
        ).localCheckpoint()
        for kind, gaps in zip(
            _TORN, (_source_gaps(around), _target_gaps(around)), strict=True
        )
    )
    at_once = _matched(dropped, extra, "timestamp").localCheckpoint()
    apart = _matched(
        _without(dropped, at_once, _SOURCE_ROW).where("NOT merged"),
        _without(extra, at_once, _TARGET_ROW).where("NOT merged"),
    )
    found = at_once.unionByName(apart).localCheckpoint()
    return _marked(outcomes, found).localCheckpoint()


def _source_gaps(pairs: DataFrame) -> DataFrame:
    place = (*LANE, "s_origin", "s_topic")
    order = Window.partitionBy(*place).orderBy("s_offset")
    return pairs.where("s_offset IS NOT NULL").select(
        *LANE,
        sf.col("s_origin").alias("origin"),
        sf.col("s_topic").alias("topic"),
        sf.col("s_offset").alias("source_offset"),
        _last("t_offset", order).alias("gap"),
    )


def _target_gaps(pairs: DataFrame) -> DataFrame:
    order = Window.partitionBy(*LANE).orderBy("t_offset")
    paired = pairs.where("t_offset IS NOT NULL").withColumn(
        "paired", sf.when(sf.col("s_offset").isNotNull(), sf.col("t_offset"))
    )
    return paired.select(
        *LANE,
        sf.col("t_offset").alias("target_offset"),
        _last("paired", order).alias("gap"),
    )


def _last(column: str, order: WindowSpec) -> Column:
    earlier = order.rowsBetween(Window.unboundedPreceding, -1)
    return sf.coalesce(
        sf.last(column, ignorenulls=True).over(earlier), sf.lit(-1)
    )


def _in_gaps(rows: DataFrame, gaps: DataFrame, merged: DataFrame) -> DataFrame:
    row = [c for c in gaps.columns if c != "gap"]
    flag = merged.select(*LANE, sf.expr("true").alias("merged"))
    return (
        rows.select(*row, "timestamp")
        .join(gaps, row)
        .join(sf.broadcast(flag), [*LANE], "left")
        .fillna(value=False, subset="merged")
        .withColumn(
            "gap", sf.when(sf.col("merged"), -1).otherwise(sf.col("gap"))
        )
    )


def _matched(dropped: DataFrame, extra: DataFrame, *more: str) -> DataFrame:
    gap = (*LANE, "gap", *more)
    same = Window.partitionBy(*gap)
    first, second = (
        rows.select(
            *gap,
            *(c for c in rows.columns if c in ("origin", "topic", offset)),
            sf.row_number().over(same.orderBy(offset)).alias("place"),
        )
        for rows, offset in (
            (dropped, "source_offset"),
            (extra, "target_offset"),
        )
    )
    return first.join(second, [*gap, "place"]).select(
        *_SOURCE_ROW, "target_offset"
    )


def _without(
    rows: DataFrame, found: DataFrame, row: tuple[str, ...]
) -> DataFrame:
    return rows.join(found.select(*row), [*row], "left_anti")


def _marked(outcomes: DataFrame, found: DataFrame) -> DataFrame:
    renamed = found.withColumnsRenamed({"target_offset": "altered"})
    altered = sf.col("altered").isNotNull()
    kind = sf.col("kind")
    columns = outcomes.columns
    return (
        outcomes.join(
            found.select(*_TARGET_ROW, sf.lit("extra").alias("kind")),
            [*_TARGET_ROW, "kind"],
            "left_anti",
        )
        .join(
            renamed.withColumn("kind", sf.lit("dropped")),
            [*_SOURCE_ROW, "kind"],
            "left",
        )
        .withColumns(
            {
                "kind": sf.when(altered, "corrupted").otherwise(kind),
                "target_offset": sf.coalesce("altered", "target_offset"),
            }
        )
        .select(*columns)
    )
