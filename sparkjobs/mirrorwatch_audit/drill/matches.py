"""Records of both sides, paired copy by copy."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import Window as SparkWindow
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import PartitionPair

from ..digest.digest import PAIR
from ..digest.records import NAMES, name, small_table

__all__ = ["HASH", "PLACE", "bounds", "paired", "positions"]


HASH = (*PAIR, "h1", "h2")
"""What two copies of a record have in common."""

_OWN: tuple[str, ...] = ("origin", "topic", "offset", "timestamp", "bytes")
_OWN += ("k1", "k2", "aborted")


def paired(source: DataFrame, target: DataFrame) -> DataFrame:
    """Return the records of both sides, side by side.

    Parameters
    ----------
    source
        Hashed records of the source.
    target
        Hashed records of the target.

    Returns
    -------
    DataFrame
        `HASH`, and the columns of each side with `s_` or `t_` before them;
        those of a side that lacks this copy are null.

    Notes
    -----
    Copies are numbered by offset on each side, and number n is paired with
    number n. So of three copies of two records the last one is left, and one
    dropped record is left of two that were equal; a join by checksum alone
    would match all with all. Aborted ones come last: of an aborted record and
    the same one sent again, a copy is that of the second.
    """
    return _numbered(source, "s").join(
        _numbered(target, "t"), [*HASH, "copy"], "full_outer"
    )


def _numbered(records: DataFrame, side: str) -> DataFrame:
    order = SparkWindow.partitionBy(*HASH).orderBy(
        "aborted", "offset", "topic", "origin"
    )
    return records.select(
        *HASH,
        sf.row_number().over(order).alias("copy"),
        *(sf.col(own).alias(f"{side}_{own}") for own in _OWN),
    )


PLACE = (*PAIR, "origin", "topic")
"""One of the source partitions that feed a pair."""

_POSITIONS = f"{NAMES}, origin string, topic string, position bigint, "
_POSITIONS += "oldest bigint, decided bigint"


def positions(
    session: SparkSession, pairs: Sequence[PartitionPair]
) -> DataFrame:
    """Return the mirror's position in every source partition, if known, and
    between which offsets it can be told what was aborted.
    """
    rows = [
        (
            *(*name(pair), source.flow, source.topic, source.position),
            *(source.retained.start, source.decided),
        )
        for pair in pairs
        for source in pair.sources
    ]
    return small_table(session, rows, _POSITIONS)


def bounds(
    known: DataFrame,
    ends: DataFrame,
    source: DataFrame,
    target: DataFrame,
) -> DataFrame:
    """Return the lowest source offset that may not have been copied yet.

    Parameters
    ----------
    known
        The mirror's positions.
    ends
        Last offsets of buckets that are equal on both sides, as `matched`.
    source
        Hashed records of the source that were read once more: those of the
        buckets that differ, and those after the spans.
    target
        The same of the target.

    Returns
    -------
    DataFrame
        `PLACE` and `bound`, which is null if nothing is known; and `oldest`
        and `decided` as they are in `known`.

    Notes
    -----
    A mirror copies each partition in order, so whatever comes before a copied
    record was passed. Where the source has several equal records, the target
    shows that the first of them was copied, and no more; where they are of
    several topics, not even of which one.
    """
    firsts = (
        source.groupBy(*HASH)
        .agg(
            sf.min("offset").alias("matched"),
            sf.min("origin").alias("origin"),
            sf.min("topic").alias("topic"),
            sf.count_distinct("origin", "topic").alias("places"),
        )
        .where("places = 1")
    )
    seen = firsts.join(target, [*HASH], "left_semi")
    proofs = seen.select(*PLACE, "matched").unionByName(
        ends.select(*PLACE, "matched")
    )
    last = proofs.groupBy(*PLACE).agg(
        (sf.max("matched") + 1).alias("after_matched")
    )
    return known.join(last, [*PLACE], "left").select(
        *PLACE,
        sf.greatest("position", "after_matched").alias("bound"),
        "oldest",
        "decided",
    )
