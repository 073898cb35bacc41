"""Reasons why records lack a counterpart, as functions between tables."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import PartitionPair

from ..digest.digest import PAIR
from ..digest.records import (
    NAMES,
    SIDES,
    name,
    small_table,
)

__all__ = [
    "HASH",
    "OUTCOME",
    "SOURCE",
    "asked_since",
    "bounds",
    "copies_outside",
    "explained_missing",
    "explained_surplus",
    "matched_copies",
    "no_outcomes",
    "positions",
    "reach",
    "remembers_all",
]


HASH = (*PAIR, "h1", "h2")
"""Columns that two copies of a record have in common."""

_SIDE_COLUMNS = (
    *("origin", "topic", "offset", "timestamp", "bytes"),
    *("k1", "k2"),
)


def matched_copies(source: DataFrame, target: DataFrame) -> DataFrame:
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
    would pair all with all.
    """
    return _numbered(source, "s").join(
        _numbered(target, "t"), [*HASH, "copy"], "full_outer"
    )


def _numbered(records: DataFrame, side: str) -> DataFrame:
    order = Window.partitionBy(*HASH).orderBy("offset", "topic", "origin")
    return records.select(
        *HASH,
        sf.row_number().over(order).alias("copy"),
        *(sf.col(c).alias(f"{side}_{c}") for c in _SIDE_COLUMNS),
    )


SOURCE = (*PAIR, "origin", "topic")
"""Columns that identify a source partition that feeds a pair."""

_POSITIONS = f"{NAMES}, origin string, topic string, position bigint, "
_POSITIONS += "exact_start boolean, asked_from bigint"


def positions(
    session: SparkSession, pairs: Sequence[PartitionPair]
) -> DataFrame:
    """Return the mirror's position in every source partition, if known,
    whether copies may lie before the spans, and from where the mirror was
    asked for records.
    """
    rows = [
        (
            *(*name(pair), source.flow, source.topic),
            *(source.position, pair.exact_start, source.asked_from),
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
        `SOURCE` and `bound`, which is null if nothing is known; and
        `exact_start` and `asked_from` as they are in `known`.

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
            sf.count_distinct("origin", "topic").alias("topics"),
        )
        .where("topics = 1")
    )
    seen = firsts.join(target, [*HASH], "left_semi")
    proofs = seen.select(*SOURCE, "matched").unionByName(
        ends.select(*SOURCE, "matched")
    )
    last = proofs.groupBy(*SOURCE).agg(
        (sf.max("matched") + 1).alias("after_matched")
    )
    return known.join(last, [*SOURCE], "left").select(
        *SOURCE,
        sf.greatest("position", "after_matched").alias("bound"),
        "exact_start",
        "asked_from",
    )


def asked_since(
    bounds: DataFrame, ends: DataFrame, matches: DataFrame
) -> DataFrame:
    """Return the bounds, with `asked_from` no later than the first record that
    is known to be copied: what comes behind that one was asked for.

    Parameters
    ----------
    bounds
        As `bounds` returns them.
    ends
        First offsets of buckets that are equal on both sides, as `first`.
    matches
        Records of both sides.

    Notes
    -----
    Of equal records any may be the one that was copied, so the last counts.
    """
    copied = (
        matches.groupBy(*HASH)
        .agg(
            sf.max("s_offset").alias("first"),
            sf.min("s_origin").alias("origin"),
            sf.min("s_topic").alias("topic"),
            sf.count_distinct("s_origin", "s_topic").alias("topics"),
            sf.count("t_offset").alias("copies"),
        )
        .where("topics = 1 AND copies > 0")
    )
    firsts = (
        copied.select(*SOURCE, "first")
        .unionByName(ends.select(*SOURCE, "first"))
        .groupBy(*SOURCE)
        .agg(sf.min("first").alias("first"))
    )
    return bounds.join(firsts, [*SOURCE], "left").select(
        *(name for name in bounds.columns if name != "asked_from"),
        # A null is passed over.
        sf.least("asked_from", "first").alias("asked_from"),
    )


def copies_outside(outside_span: DataFrame, bounds: DataFrame) -> DataFrame:
    """Return how many copies of some records there are around the spans.

    Parameters
    ----------
    outside_span
        Their equals there.
    bounds
        From which source offset on records may be in flight.

    Returns
    -------
    DataFrame
        `HASH`; copies at either side before and after the span; those at the
        source after the span that must have been copied (`after_due`); and the
        `first` one at the source, with its timestamp.
    """
    source, late = sf.col("side") == "source", ~sf.col("before")
    due = sf.coalesce(sf.col("offset") < sf.col("bound"), sf.expr("false"))
    where = sf.struct("offset", "origin", "topic", "timestamp")
    return (
        outside_span.join(
            sf.broadcast(bounds), [*PAIR, "origin", "topic"], "left"
        )
        .groupBy(*HASH)
        .agg(
            sf.count_if(source & ~late).alias("before_source"),
            sf.count_if(~source & ~late).alias("before_target"),
            sf.count_if(source & late).alias("after_source"),
            sf.count_if(~source & late).alias("after_target"),
            sf.count_if(source & late & due).alias("after_due"),
            sf.min(sf.when(source, where)).alias("first"),
        )
    )


def reach(oldest: DataFrame, pairs: Sequence[PartitionPair]) -> DataFrame:
    """Return how far back the target remembers what comes before the spans.

    Parameters
    ----------
    oldest
        The oldest records that the target has, as in `RECORDS`.
    pairs
        The pairs that they are of.

    Returns
    -------
    DataFrame
        `PAIR`, and the earliest timestamp, `reach`.

    Notes
    -----
    A target that holds its first record has forgotten none. Where it puts
    timestamps of its own on records, all but equal ones say when copying
    began: that a record was written before says that its copy is no late one.
    """
    forgetful = {name(pair) for pair in pairs if not remembers_all(pair)}
    names = dict.fromkeys(name(pair) for pair in pairs)
    whole = [(*pair, -1) for pair in names if pair not in forgetful]
    everything = small_table(
        oldest.sparkSession, whole, f"{NAMES}, timestamp bigint"
    )
    return (
        oldest.where(sf.col("timestamp") >= 0)
        .select(*PAIR, "timestamp")
        .unionByName(everything)
        .groupBy(*PAIR)
        .agg(sf.min("timestamp").alias("reach"))
    )


def remembers_all(pair: PartitionPair) -> bool:
    """Return whether no copy of a record can have expired."""
    return pair.timestamps and not pair.retained.start


OUTCOME = (
    *(*HASH, "k1", "k2", "kind", "side", "origin", "topic"),
    *("source_offset", "target_offset", "timestamp", "bytes"),
)
"""Columns of what became of a record: `kind` is that of a finding, or
`carried` (its copy is after the range of the other side), `settled` (just
before it), `in_flight`, or `unknown` (missing, and it is not known how far
the mirror has come), or `skipped` (missing, and before what the mirror was
surely asked for)."""

_COUNTS = [f"{when}_{side}" for when in ("before", "after") for side in SIDES]
_COUNTS += ["after_due"]


def explained_missing(
    matches: DataFrame,
    counts: DataFrame,
    bounds: DataFrame,
) -> DataFrame:
    """Return what became of source records without a copy.

    Parameters
    ----------
    matches
        Records of both sides.
    counts
        Copies around the spans.
    bounds
        From which offset on a record may be in flight.

    Returns
    -------
    DataFrame
        Columns as in `OUTCOME`.

    Notes
    -----
    Copies after the span count only as far as there are more of them than
    source records after the span that must have been copied: else a record
    that is written again and again would excuse every loss of it. Copies
    before the span exist where a cut by time did not fall on the same record
    on both sides. Where the spans begin exactly, as at the end of an audit, a
    copy there was one too many, and excuses nothing.
    """
    missing = _ranked(matches.where("t_offset IS NULL"), counts)
    found = missing.withColumns(
        {"origin": sf.col("s_origin"), "topic": sf.col("s_topic")}
    ).join(sf.broadcast(bounds), [*SOURCE], "left")
    waits = sf.coalesce(
        sf.col("s_offset") >= sf.col("bound"), sf.expr("false")
    )
    found = found.withColumn("waits", waits)
    # A copy after the span is hardly of a record that is still to be copied.
    due = Window.partitionBy(*HASH, "waits").orderBy(sf.desc("copy"))
    found = found.withColumn("from_last", sf.row_number().over(due))
    late = sf.col("after_target") - sf.col("after_due")
    early = sf.col("before_target") - sf.col("before_source")
    exact = sf.coalesce("exact_start", sf.expr("false"))
    kind = (
        sf.when(sf.col("from_last") <= late, "carried")
        .when(~exact & (sf.col("from_first") <= early), "settled")
        .when(sf.isnull("bound"), "unknown")
        .when(sf.col("s_offset") >= sf.col("bound"), "in_flight")
        .when(sf.col("s_offset") < sf.col("asked_from"), "skipped")
        .otherwise("dropped")
    )
    return _outcome(found, "s", kind)


def explained_surplus(
    matches: DataFrame,
    counts: DataFrame,
    reach: DataFrame,
) -> DataFrame:
    """Return what target records without a source record are.

    Parameters
    ----------
    matches
        Records of both sides.
    counts
        Copies around the spans.
    reach
        Earliest timestamp that the target remembers, by pair.

    Returns
    -------
    DataFrame
        Columns as in `OUTCOME`.

    Notes
    -----
    A record from before the range whose copy is missing before the range is
    no repeat but a late copy, if the target still had it otherwise.
    """
    first = sf.struct("s_offset", "s_origin", "s_topic")
    first_copies = matches.where("s_offset IS NOT NULL AND copy = 1").select(
        *HASH, first.alias("first_copy")
    )
    found = (
        _ranked(matches.where("s_offset IS NULL"), counts)
        .join(first_copies, [*HASH], "left")
        .join(sf.broadcast(reach), [*PAIR], "left")
    )
    late = sf.col("after_source") - sf.col("after_target")
    early = sf.col("before_source") - sf.col("before_target")
    # The source's timestamp, as the target may put its own on copies.
    written_at = sf.coalesce("first.timestamp", "t_timestamp")
    # Comparing with a null is no: then it does not go back at all.
    remembered = written_at >= sf.col("reach")
    known = sf.col("first_copy").isNotNull() | sf.col("first").isNotNull()
    kind = (
        sf.when(sf.col("from_last") <= late, "carried")
        .when(remembered & (sf.col("from_first") <= early), "settled")
        .when(known | (sf.col("before_target") > 0), "duplicated")
        .otherwise("extra")
    )
    return _outcome(
        found.withColumns(
            {
                "origin": sf.coalesce("first_copy.s_origin", "first.origin"),
                "topic": sf.coalesce("first_copy.s_topic", "first.topic"),
                "s_offset": sf.coalesce("first_copy.s_offset", "first.offset"),
            }
        ),
        "t",
        kind,
    )


def no_outcomes(session: SparkSession) -> DataFrame:
    """Return an empty table of outcomes."""
    kinds = {"kind": "string", "side": "string"}
    kinds |= {"origin": "string", "topic": "string", "flow": "string"}
    kinds |= {"target_topic": "string", "partition": "int"}
    columns = ", ".join(f"{c} {kinds.get(c, 'bigint')}" for c in OUTCOME)
    return small_table(session, [], columns)


def _ranked(rows: DataFrame, counts: DataFrame) -> DataFrame:
    same = Window.partitionBy(*HASH)
    from_first = sf.row_number().over(same.orderBy("copy"))
    rows = rows.withColumns(
        {"from_first": from_first, "all": sf.count(sf.lit(1)).over(same)}
    )
    from_last = sf.col("all") - sf.col("from_first") + 1
    return (
        rows.withColumn("from_last", from_last)
        .join(counts, [*HASH], "left")
        .fillna(0, _COUNTS)
    )


def _outcome(rows: DataFrame, side: str, kind: Column) -> DataFrame:
    return rows.select(
        *HASH,
        sf.col(f"{side}_k1").alias("k1"),
        sf.col(f"{side}_k2").alias("k2"),
        kind.alias("kind"),
        sf.lit("source" if side == "s" else "target").alias("side"),
        "origin",
        "topic",
        sf.col("s_offset").alias("source_offset"),
        sf.col("t_offset").alias("target_offset"),
        sf.col(f"{side}_timestamp").alias("timestamp"),
        sf.col(f"{side}_bytes").alias("bytes"),
    )
