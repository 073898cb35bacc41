"""Offsets of single records, gathered into ranges."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit import Side

from .beyond import SIDES
from .digest import LANE
from .tally import Place

__all__ = ["OffsetRanges", "offset_ranges"]

OffsetRanges = tuple[tuple[int, int], ...]
"""First and last offset of each stretch, in order."""

_PLACE = (*LANE, "origin", "topic", "kind")


def offset_ranges(
    outcomes: DataFrame,
) -> dict[tuple[Place, Side], OffsetRanges]:
    """Return where records are, on each side.

    Parameters
    ----------
    outcomes
        What became of records, as in `OUTCOME`.
    """
    offsets = [
        outcomes.where(sf.col(f"{side}_offset").isNotNull()).select(
            *_PLACE,
            sf.lit(side).alias("at"),
            sf.col(f"{side}_offset").alias("offset"),
        )
        for side in SIDES
    ]
    both = offsets[0].unionByName(offsets[1]).distinct()
    # Within a stretch offset and number rise alike.
    order = Window.partitionBy(*_PLACE, "at").orderBy("offset")
    stretch = sf.col("offset") - sf.row_number().over(order)
    rows = (
        both.withColumn("stretch", stretch)
        .groupBy(*_PLACE, "at", "stretch")
        .agg(sf.min("offset").alias("first"), sf.max("offset").alias("last"))
        .groupBy(*_PLACE, "at")
        .agg(sf.collect_list(sf.struct("first", "last")).alias("found"))
    )
    return {
        (
            (tuple(row[:3]), row["origin"], row["topic"], row["kind"]),
            row["at"],
        ): tuple(sorted((r["first"], r["last"]) for r in row["found"]))
        for row in rows.collect()
    }
