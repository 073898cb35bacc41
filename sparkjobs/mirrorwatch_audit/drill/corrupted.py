"""A missing record, and an unknown one at its position: corrupted."""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import PartitionPair, Side

from ..checkpoint import checkpointed
from ..digest.digest import PAIR
from ..digest.records import NAMES, SIDES, name, small_table, span_table
from .explain import SOURCE

__all__ = ["with_corrupted"]


def gaps(
    matches: DataFrame, pairs: Sequence[PartitionPair], side: Side
) -> DataFrame:
    """Return the neighbour of each record of one side.

    Parameters
    ----------
    matches
        All records that were read, with their counterparts.
    pairs
        The pairs that they are of.
    side
        Which side.

    Returns
    -------
    DataFrame
        `SOURCE` of the source, or `PAIR` of the target; the record's offset
        there (`source_offset` or `target_offset`); the target offset of the
        last record before it that has a counterpart, `gap` (-1 if there is
        none); and whether it is `close`: nothing lies between them that was
        not read.
    """
    side_prefix, log = ("s", SOURCE) if side == "source" else ("t", PAIR)
    order = Window.partitionBy(*log).orderBy("local_offset")
    rows = matches.where(sf.col(f"{side_prefix}_offset").isNotNull()).select(
        *PAIR,
        sf.col("s_origin").alias("origin"),
        sf.col("s_topic").alias("topic"),
        sf.col(f"{side_prefix}_offset").alias("local_offset"),
        sf.col("t_offset").alias("copy"),
        (sf.isnotnull("s_offset") & sf.isnotnull("t_offset")).alias(
            "has_copy"
        ),
    )
    numbered = rows.withColumn("number", sf.row_number().over(order))
    last = sf.last(
        sf.when(
            sf.col("has_copy"), sf.struct("local_offset", "copy", "number")
        ),
        ignorenulls=True,
    ).over(order.rowsBetween(Window.unboundedPreceding, -1))
    starts = span_table(matches.sparkSession, pairs, side)
    # Close: offsets rise by one from the neighbour to the record.
    first = sf.coalesce("last.local_offset", sf.col("span_start") - 1)
    number = sf.coalesce("last.number", sf.lit(0))
    rise = sf.col("local_offset") - first
    return (
        numbered.withColumn("last", last)
        .join(sf.broadcast(starts.select(*log, "span_start")), [*log])
        .select(
            *log,
            sf.col("local_offset").alias(f"{side}_offset"),
            sf.coalesce("last.copy", sf.lit(-1)).alias("gap"),
            (rise == sf.col("number") - number).alias("close"),
        )
    )


_SOURCE_ROW = (*SOURCE, "source_offset")
_TARGET_ROW = (*PAIR, "target_offset")
_UNMATCHED = ("dropped", "extra")


def with_corrupted(
    outcomes: DataFrame,
    matches: DataFrame,
    pairs: Sequence[PartitionPair],
    bucket: timedelta,
) -> DataFrame:
    """Turn each pair of a dropped and an extra record into a corrupted one.

    Parameters
    ----------
    outcomes
        Outcomes of records without a counterpart.
    matches
        All records that were read, with their counterparts.
    pairs
        The pairs.
    bucket
        Length of a bucket.

    Returns
    -------
    DataFrame
        The outcomes, with kind `corrupted` and both offsets where a dropped
        record and an extra one lie between the same neighbours; the row of
        the extra one is gone.

    Notes
    -----
    The neighbour is the last record before that has a counterpart. Of several
    in one gap those of one timestamp belong together, then those of one
    bucket, the first to the first. A record whose timestamp moved far must be
    close to its neighbour, as there may be others between that were not read.
    In a merged pair records of other topics come in between at the target, so
    there only the timestamp decides.
    """
    kinds = set(outcomes.select(*PAIR, "kind").distinct().collect())
    unmatched = [
        pair
        for pair in pairs
        if {(*name(pair), kind) for kind in _UNMATCHED} <= kinds
    ]
    if not unmatched:
        return outcomes
    rows = [
        (*name(pair), len(pair.sources) > 1 or bool(pair.absent))
        for pair in unmatched
    ]
    names = sf.broadcast(
        small_table(matches.sparkSession, rows, f"{NAMES}, merged boolean")
    )
    bucket_ms = bucket // timedelta(milliseconds=1)
    around = matches.join(names, [*PAIR], "left_semi")
    dropped, extra = (
        outcomes.where(sf.col("kind") == kind)
        .select(*row, "timestamp")
        .join(gaps(around, unmatched, side), [*row])
        .join(names, [*PAIR])
        .withColumns(
            {
                "gap": sf.when(sf.col("merged"), -1).otherwise(sf.col("gap")),
                "bucket": sf.floor(sf.col("timestamp") / bucket_ms),
            }
        )
        .transform(checkpointed)
        for kind, row, side in zip(
            _UNMATCHED, (_SOURCE_ROW, _TARGET_ROW), SIDES, strict=True
        )
    )
    found = _matched(dropped, extra, "timestamp").transform(checkpointed)
    for more, which in ((["bucket"], "true"), ([], "close")):
        missing, unknown = (
            rows.join(found.select(*row), [*row], "left_anti")
            .where("NOT merged")
            .where(which)
            for rows, row in ((dropped, _SOURCE_ROW), (extra, _TARGET_ROW))
        )
        found = found.unionByName(_matched(missing, unknown, *more)).transform(
            checkpointed
        )
    return _marked(outcomes, found).transform(checkpointed)


def _matched(dropped: DataFrame, extra: DataFrame, *more: str) -> DataFrame:
    gap = (*PAIR, "gap", *more)
    same = Window.partitionBy(*gap)
    first, second = (
        rows.select(
            *gap,
            *(c for c in rows.columns if c in ("origin", "topic", offset)),
            sf.row_number().over(same.orderBy(offset)).alias("rank"),
        )
        for rows, offset in (
            (dropped, "source_offset"),
            (extra, "target_offset"),
        )
    )
    return first.join(second, [*gap, "rank"]).select(
        *_SOURCE_ROW, "target_offset"
    )


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
