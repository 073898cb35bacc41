"""Which records at the source were aborted, where records do not tell."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit import Lane, SourceRange, Span

from .bounds import PLACE
from .lanes import NAMES, name
from .records import Read
from .tables import small_table

__all__ = ["is_untold", "may_have_been_untold", "with_aborted"]

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
    lanes: Sequence[Lane],
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
    lanes
        Lanes that they are of.
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
        _place(lane, source)
        for lane in lanes
        for source in lane.sources
        if doubtful(source)
    }
    if not places:
        return records.withColumn("aborted", sf.expr("false"))
    kept = records.localCheckpoint()
    hulls = _hulls(kept, places)
    committed = read([_committed(lane, hulls) for lane in lanes], "source")
    seen = committed.select(*PLACE, "offset", sf.expr("true").alias("seen"))
    asked = sf.broadcast(_table(records.sparkSession, places))
    return (
        kept.join(asked, [*PLACE], "left")
        .join(seen, [*PLACE, "offset"], "left")
        .withColumn("aborted", sf.isnotnull("doubtful") & sf.isnull("seen"))
        .drop("doubtful", "seen")
    )


def _place(lane: Lane, source: SourceRange) -> _Place:
    return (*name(lane), source.flow, source.topic)


def _hulls(
    records: DataFrame, places: Collection[_Place]
) -> Mapping[_Place, Span]:
    """Return between which offsets the records of some places are."""
    first, last = sf.min("offset"), sf.max("offset") + 1
    rows = records.groupBy(*PLACE).agg(first, last).collect()
    return {
        place: Span(row[5], row[6])
        for row in rows
        if (place := (row[0], row[1], row[2], row[3], row[4])) in places
    }


def _committed(lane: Lane, hulls: Mapping[_Place, Span]) -> Lane:
    """Return the lane as one that is read committed, as far as it can be."""
    sources = []
    for source in lane.sources:
        hull = hulls.get(_place(lane, source), Span(0, 0))
        # A reader would wait for the end of a transaction that is open.
        end = source.retained.end
        if source.decided is not None:
            end = min(end, source.decided)
        span = Span(hull.start, max(hull.start, min(hull.end, end)))
        sources.append(replace(source, span=span, read_committed=True))
    return replace(lane, sources=tuple(sources))


def _table(session: SparkSession, places: Collection[_Place]) -> DataFrame:
    rows = [(*place, True) for place in sorted(places)]
    columns = f"{NAMES}, origin string, topic string, doubtful boolean"
    return small_table(session, rows, columns)
