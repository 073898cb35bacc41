"""The second reading: what lies before and after the audited ranges."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import (
    AuditSpan,
    PartitionPair,
    Side,
    SourceRange,
)

from ..digest.digest import PAIR, hashed
from ..digest.records import NAMES, Read, after, before, name, small_table
from .matches import HASH, PLACE

__all__ = [
    "SIDES",
    "counted_beyond",
    "is_untold",
    "may_have_been_untold",
    "reach",
    "read_beyond",
    "with_aborted",
]


_Place = tuple[str, str, int, str, str]
"""`PLACE` of one source."""


def is_untold(source: SourceRange) -> bool:
    """Tell whether a source is read with records that may be aborted, though
    the mirror may leave them out.
    """
    return source.read_committed is None


def may_have_been_untold(source: SourceRange) -> bool:
    """Tell whether that may have been so the night before."""
    return source.read_committed is not False


def with_aborted(
    read: Read,
    records: DataFrame,
    pairs: Sequence[PartitionPair],
    *,
    doubtful: Callable[[SourceRange], bool],
) -> DataFrame:
    """Tell of each record of the source whether it was `aborted`.

    Parameters
    ----------
    read
        Reads records.
    records
        Hashed records of the source.
    pairs
        Pairs that they are of.
    doubtful
        Chooses the sources whose records are looked for once more; those of
        others count as committed.

    Returns
    -------
    DataFrame
        The records, with `aborted`: whether the same range, read committed,
        lacks them. That says nothing of those at and above `decided`.
    """
    places = {
        _place(pair, source)
        for pair in pairs
        for source in pair.sources
        if doubtful(source)
    }
    if not places:
        return records.withColumn("aborted", sf.expr("false"))
    kept = records.localCheckpoint()
    hulls = _hulls(kept, places)
    committed = read([_committed(pair, hulls) for pair in pairs], "source")
    seen = committed.select(*PLACE, "offset", sf.expr("true").alias("seen"))
    asked = sf.broadcast(_table(records.sparkSession, places))
    return (
        kept.join(asked, [*PLACE], "left")
        .join(seen, [*PLACE, "offset"], "left")
        .withColumn("aborted", sf.isnotnull("doubtful") & sf.isnull("seen"))
        .drop("doubtful", "seen")
    )


def _place(pair: PartitionPair, source: SourceRange) -> _Place:
    return (*name(pair), source.flow, source.topic)


def _hulls(
    records: DataFrame, places: Collection[_Place]
) -> Mapping[_Place, AuditSpan]:
    """Return between which offsets the records of some places are."""
    first, last = sf.min("offset"), sf.max("offset") + 1
    rows = records.groupBy(*PLACE).agg(first, last).collect()
    return {
        place: AuditSpan(row[5], row[6])
        for row in rows
        if (place := (row[0], row[1], row[2], row[3], row[4])) in places
    }


def _committed(
    pair: PartitionPair, hulls: Mapping[_Place, AuditSpan]
) -> PartitionPair:
    """Return the pair as one that is read committed, as far as it can be."""
    sources = []
    for source in pair.sources:
        hull = hulls.get(_place(pair, source), AuditSpan(0, 0))
        # A reader would wait for the end of a transaction that is open.
        end = source.retained.end
        if source.decided is not None:
            end = min(end, source.decided)
        span = AuditSpan(hull.start, max(hull.start, min(hull.end, end)))
        sources.append(replace(source, span=span, read_committed=True))
    return replace(pair, sources=tuple(sources))


def _table(session: SparkSession, places: Collection[_Place]) -> DataFrame:
    rows = [(*place, True) for place in sorted(places)]
    columns = f"{NAMES}, origin string, topic string, doubtful boolean"
    return small_table(session, rows, columns)


SIDES: tuple[Side, Side] = ("source", "target")


def read_beyond(
    read: Read,
    pairs: Sequence[PartitionPair],
    *,
    timestamps: bool,
    carry: DataFrame,
) -> DataFrame:
    """Return all records around the spans of pairs, on both sides.

    Parameters
    ----------
    read
        Reads records.
    pairs
        Pairs with records that have no counterpart.
    timestamps
        Whether timestamps count in these pairs.
    carry
        Records from before the spans that count to the spans.

    Returns
    -------
    DataFrame
        Hashed records, with their `side`, whether they come `before` the
        span, and whether they were `aborted`, where that needs to be told.
    """
    own = carry.select(*PAIR, "side", "origin", "topic", "offset")
    parts = []
    for side in SIDES:
        early = read([before(pair) for pair in pairs], side)
        late = read([after(pair) for pair in pairs], side)
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
        read, rest.where(at_source), pairs, doubtful=is_untold
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
        .join(sf.broadcast(bounds), [*PAIR, "origin", "topic"], "left")
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


def reach(beyond: DataFrame, pairs: Sequence[PartitionPair]) -> DataFrame:
    """Return how far back the target remembers what comes before the spans.

    Parameters
    ----------
    beyond
        What was read there.
    pairs
        Pairs that it was read for.

    Returns
    -------
    DataFrame
        `PAIR`, and the earliest timestamp, `reach`.
    """
    whole = [(*name(pair), -1) for pair in pairs if not pair.retained.start]
    everything = small_table(
        beyond.sparkSession, whole, f"{NAMES}, timestamp bigint"
    )
    return (
        beyond.where(sf.col("before") & (sf.col("side") == "target"))
        .where(sf.col("timestamp") >= 0)
        .select(*PAIR, "timestamp")
        .unionByName(everything)
        .groupBy(*PAIR)
        .agg(sf.min("timestamp").alias("reach"))
    )


def _due() -> Column:
    return sf.coalesce(sf.col("offset") < sf.col("bound"), sf.expr("false"))
