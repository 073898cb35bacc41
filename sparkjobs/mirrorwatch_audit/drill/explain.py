"""Why a record has no counterpart."""

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from ..digest.digest import PAIR
from ..digest.records import small_table
from .matches import HASH, PLACE
from .outside import SIDES

__all__ = ["OUTCOME", "explained_missing", "explained_surplus", "no_outcomes"]


OUTCOME: tuple[str, ...] = (*HASH, "k1", "k2", "kind", "side")
OUTCOME += ("origin", "topic")
OUTCOME += ("source_offset", "target_offset", "timestamp", "bytes")
"""Columns of what became of a record: `kind` is that of a finding, or
`carried` (its copy is after the range of the other side), `settled` (just
before it), `in_flight`, or `unknown` (missing, and nothing tells how far the
mirror has come). Where nothing tells how the mirror reads either, it may be
`aborted`, `open` (of a transaction that was open) or `undecided`."""

_COUNTS = [f"{when}_{side}" for when in ("before", "after") for side in SIDES]
_COUNTS += ["after_due", "aborted"]


def explained_missing(
    matches: DataFrame,
    counts: DataFrame,
    bounds: DataFrame,
    *,
    timestamps: bool,
) -> DataFrame:
    """Return what became of source records without a copy.

    Parameters
    ----------
    matches
        Records of both sides.
    counts
        Copies around the spans.
    bounds
        From which offset on a record may be on its way.
    timestamps
        Whether timestamps count.

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
    on both sides; without timestamps cuts are exact.

    Where it is not known whether the mirror leaves out aborted records, one
    that is missing is no loss: who reads committed never saw it. But whether
    copies around the spans are those of aborted records nobody can say.
    """
    missing = _ranked(matches.where("t_offset IS NULL"), counts)
    places = [sf.col(f"s_{column}").alias(column) for column in PLACE[3:]]
    found = missing.select("*", *places).join(
        sf.broadcast(bounds), [*PLACE], "left"
    )
    late = sf.col("after_target") - sf.col("after_due")
    early = sf.col("before_target") - sf.col("before_source")
    kind = (
        sf.when(~sf.col("s_aborted") & _blurred(), "undecided")
        .when(sf.col("from_last") <= late, "carried")
        .when(sf.lit(timestamps) & (sf.col("from_first") <= early), "settled")
        .when(sf.isnull("bound"), "unknown")
        .when(sf.col("s_offset") >= sf.col("bound"), "in_flight")
        .when(sf.col("s_aborted"), _left_out())
        .otherwise("dropped")
    )
    return _outcome(found, "s", kind)


def explained_surplus(
    matches: DataFrame,
    counts: DataFrame,
    reach: DataFrame,
    *,
    timestamps: bool,
) -> DataFrame:
    """Return what target records without a source record are.

    Parameters
    ----------
    matches
        Records of both sides.
    counts
        Copies around the spans.
    reach
        How far back the target remembers.
    timestamps
        Whether timestamps count.

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
    own = matches.where("s_offset IS NOT NULL AND copy = 1").select(
        *HASH, first.alias("own")
    )
    found = (
        _ranked(matches.where("s_offset IS NULL"), counts)
        .join(own, [*HASH], "left")
        .join(sf.broadcast(reach), [*PAIR], "left")
    )
    late = sf.col("after_source") - sf.col("after_target")
    early = sf.col("before_source") - sf.col("before_target")
    # Comparing with a null is no: then it does not go back at all.
    remembered = sf.col("t_timestamp") >= sf.col("reach")
    known = sf.col("own").isNotNull() | sf.col("first").isNotNull()
    kind = (
        sf.when(_blurred(), "undecided")
        .when(sf.col("from_last") <= late, "carried")
        .when(
            sf.lit(timestamps) & remembered & (sf.col("from_first") <= early),
            "settled",
        )
        .when(known | (sf.col("before_target") > 0), "duplicated")
        .otherwise("extra")
    )
    return _outcome(
        found.withColumns(
            {
                "origin": sf.coalesce("own.s_origin", "first.origin"),
                "topic": sf.coalesce("own.s_topic", "first.topic"),
                "s_offset": sf.coalesce("own.s_offset", "first.offset"),
            }
        ),
        "t",
        kind,
    )


def _blurred() -> Column:
    """Return whether copies around the spans may be of aborted records."""
    return sf.col("aborted") > 0


def _left_out() -> Column:
    """Return what became of a record that readers of committed do not see."""
    offset = sf.col("s_offset")
    return (
        sf.when(offset >= sf.col("decided"), "open")
        # It expired, and what is not there is not seen.
        .when(offset < sf.col("oldest"), "undecided")
        .otherwise("aborted")
    )


def no_outcomes(session: SparkSession) -> DataFrame:
    """Return an empty table of outcomes."""
    kinds = {"kind": "string", "side": "string"}
    kinds |= {"origin": "string", "topic": "string", "flow": "string"}
    kinds |= {"target_topic": "string", "partition": "int"}
    columns = ", ".join(f"{c} {kinds.get(c, 'bigint')}" for c in OUTCOME)
    return small_table(session, [], columns)


def _ranked(rows: DataFrame, counts: DataFrame) -> DataFrame:
    """Count rows of one checksum from both ends, and add the copies."""
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
