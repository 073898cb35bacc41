"""Topics of which only the newest record of a key is sure to be there."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import (
    TO_THE_END,
    AuditSpan,
    PartitionPair,
    Side,
    SourceRange,
)

from ..checkpoint import checkpointed
from ..digest.digest import PAIR, hashed, to_millis
from ..digest.records import SIDES, Read, span_table, spanned
from .drill import (
    MOST_SENT,
    SuspectBuckets,
    beyond,
)
from .explain import OUTCOME, SOURCE, bounds, positions

__all__ = ["drill_compacted"]


_KEY = (*PAIR, "k1", "k2")
_NEWEST = ("h1", "h2", "offset", "timestamp", "bytes", "origin", "topic")


def drill_compacted(read: Read, case: SuspectBuckets) -> DataFrame:
    """Return what became of keys whose newest records differ.

    Parameters
    ----------
    read
        Reads records.
    case
        Suspect buckets to look into.

    Returns
    -------
    DataFrame
        Columns as in `OUTCOME`.

    Notes
    -----
    Compared is the newest record of each key at the cut, for which either
    side may have removed older ones, tombstones, and what a newer record
    beyond the cut replaces. The spans are read for the keys that differ; then
    both logs up to their present ends, for the newest records of these keys,
    and for whether that of one side is among the records of the other. One row
    of each key is kept, however many versions it has. A key that was deleted
    beyond the cut may be gone from one side with its tombstone, while the
    other has not removed it yet: beyond the mirror's position that is unknown,
    and the next night compares the key again.

    The target is read first: what removed a record there is at the source by
    then.
    """
    keys = _differing(read, case).transform(checkpointed)
    keys_fit = keys.count() <= MOST_SENT
    if keys_fit:
        keys = sf.broadcast(keys)
    target, source = (
        _at_cut(_retained(read, case, side, keys), side[0]).transform(
            checkpointed
        )
        for side in reversed(SIDES)
    )
    limits = bounds(
        positions(source.sparkSession, case.pairs),
        case.ends,
        *(
            _newest(rows, side).unionByName(
                beyond(
                    read,
                    case.pairs,
                    side,
                    _whole,
                    timestamps=case.timestamps,
                )
            )
            for rows, side in zip((source, target), SIDES, strict=True)
        ),
    )
    both = source.join(target, [*_KEY], "full_outer")
    limit = sf.broadcast(limits).withColumnsRenamed(
        {"origin": "s_origin", "topic": "s_topic"}
    )
    both = both.join(limit, [*PAIR, "s_origin", "s_topic"], "left")
    both = both.transform(checkpointed)
    for side_prefix, side, where, found in (
        ("s", SIDES[1], "late", "arrived_late"),
        ("t", SIDES[0], "NOT late", "outdated"),
    ):
        wanted = _contents(both, side_prefix)
        if keys_fit:
            wanted = sf.broadcast(wanted)
        among = _retained(read, case, side, wanted).where(where)
        hits = among.select(*_KEY, sf.expr("true").alias(found)).distinct()
        both = both.join(hits, [*_KEY], "left")
    explained = both.withColumn("kind", _kind())
    explained = explained.where("kind IS NOT NULL")
    return explained.select(*_outcome()).transform(checkpointed)


def _from_the_end(pair: PartitionPair) -> PartitionPair:
    def later(x: PartitionPair | SourceRange) -> AuditSpan:
        exists = x.topic_id or len(x.retained)
        end = x.retained.end
        return AuditSpan(end, TO_THE_END if exists else end)

    return spanned(pair, later)


def _whole(pair: PartitionPair) -> PartitionPair:
    return spanned(pair, lambda x: x.retained)


def _retained(
    read: Read, case: SuspectBuckets, side: Side, wanted: DataFrame
) -> DataFrame:
    """Return some records of the whole logs: those of some keys, or some of
    theirs.
    """
    pairs = [
        part(pair) for pair in case.pairs for part in (_whole, _from_the_end)
    ]
    found = hashed(read(pairs, side), timestamps=case.timestamps)
    records = found.join(wanted, wanted.columns, "left_semi").select(
        *found.columns
    )
    return _placed(records, case, side)


def _placed(records: DataFrame, case: SuspectBuckets, side: Side) -> DataFrame:
    """Return for each record whether it is in what is compared, or after."""
    spans = sf.broadcast(span_table(case.carry.sparkSession, case.pairs, side))
    late = sf.col("offset") >= sf.col("span_end")
    chosen = (sf.col("offset") >= sf.col("span_start")) & ~late
    if case.window is not None and case.timestamps:
        over = sf.col("timestamp") >= to_millis(case.window.end)
        under = sf.col("timestamp") < to_millis(case.window.start)
        late, chosen = late | over, chosen & ~over & ~under
    return (
        records.join(spans, [*SOURCE])
        .withColumns({"late": late, "chosen": chosen})
        .drop("span_start", "span_end")
    )


def _differing(read: Read, case: SuspectBuckets) -> DataFrame:
    """Return the keys whose newest record in the spans is not the same."""
    newest = [
        _placed(
            hashed(read(case.pairs, side), timestamps=case.timestamps),
            case,
            side,
        )
        .where("chosen")
        .groupBy(*_KEY)
        .agg(sf.max_by(sf.struct("h1", "h2"), "offset").alias(side[0]))
        for side in SIDES
    ]
    both = newest[0].join(newest[1], [*_KEY], "full_outer")
    differ = both.where(~sf.col("s").eqNullSafe(sf.col("t"))).select(*_KEY)
    return differ.unionByName(case.carry.select(*_KEY)).distinct()


def _at_cut(rows: DataFrame, side_prefix: str) -> DataFrame:
    early = ~sf.col("late")
    newest = sf.max_by(
        sf.when(early, sf.struct(*_NEWEST, "tombstone")),
        sf.when(early, sf.col("offset")),
    )
    last = sf.max_by(
        sf.when(sf.col("late"), sf.struct("offset", "tombstone")),
        sf.when(sf.col("late"), sf.col("offset")),
    )
    return (
        rows.groupBy(*_KEY)
        .agg(
            newest.alias(side_prefix),
            sf.max("late").alias(f"{side_prefix}_went_on"),
            last.alias("last"),
        )
        .withColumns(
            {
                f"{side_prefix}_origin": sf.col(f"{side_prefix}.origin"),
                f"{side_prefix}_topic": sf.col(f"{side_prefix}.topic"),
                # Where the key was deleted at last, beyond the cut.
                f"{side_prefix}_deleted": sf.when(
                    sf.col("last.tombstone"), sf.col("last.offset")
                ),
            }
        )
        .drop("last")
    )


def _newest(rows: DataFrame, side: Side) -> DataFrame:
    newest = sf.col(side[0])
    return rows.where(newest.isNotNull()).select(
        *PAIR,
        *(newest[c].alias(c) for c in ("h1", "h2", "origin", "topic")),
        newest["offset"].alias("offset"),
    )


def _contents(both: DataFrame, side_prefix: str) -> DataFrame:
    """Return keys with the newest record of one side, which may be among those
    of the other.

    Of each key one record is looked for: a list of all versions of one that
    changes every second would not fit into the memory of a task.
    """
    newest = sf.col(side_prefix)
    return both.where(newest.isNotNull()).select(
        *_KEY, newest["h1"].alias("h1"), newest["h2"].alias("h2")
    )


def _kind() -> Column:
    """Return why the newest records of a key differ; null if they do not."""
    s, t = sf.col("s"), sf.col("t")
    s_content, t_content = (
        sf.struct(x["h1"].alias("h1"), x["h2"].alias("h2")) for x in (s, t)
    )
    source_went_on, target_went_on, arrived_late, outdated = (
        sf.coalesce(column, sf.expr("false"))
        for column in ("s_went_on", "t_went_on", "arrived_late", "outdated")
    )
    waits = (
        sf.when(sf.isnull("bound"), "unknown")
        .when(s["offset"] >= sf.col("bound"), "in_flight")
        .when(s["offset"] < sf.col("asked_from"), "skipped")
        .when(sf.col("s_deleted") >= sf.col("bound"), "unknown")
        .otherwise("dropped")
    )
    alone_at_source = (
        sf.when(s["tombstone"], "compacted")
        .when(arrived_late, "carried")
        .when(target_went_on, "compacted")
        # The target may have removed its copy, and all that it deleted.
        .when(sf.col("s_deleted") < sf.col("bound"), "compacted")
        .otherwise(waits)
    )
    alone_at_target = sf.when(
        t["tombstone"] | source_went_on | sf.isnotnull("t_deleted"),
        "compacted",
    ).otherwise("extra")
    differ = (
        sf.when(arrived_late, "carried")
        .when(target_went_on, "compacted")
        .when(outdated, waits)
        .when(source_went_on, "compacted")
        .otherwise("corrupted")
    )
    return (
        sf.when(s.isNull() & t.isNull(), None)
        .when(t.isNull(), alone_at_source)
        .when(s.isNull(), alone_at_target)
        .when(s_content == t_content, None)
        .otherwise(differ)
    )


def _outcome() -> list[Column]:
    s, t, kind = sf.col("s"), sf.col("t"), sf.col("kind")
    newest = sf.coalesce(s, t)
    at_target = sf.when(s.isNull(), "target").otherwise("source")
    wrong = kind.isin("corrupted", "extra", "compacted")
    columns = {
        "h1": newest["h1"],
        "h2": newest["h2"],
        "side": at_target,
        "origin": sf.col("s_origin"),
        "topic": sf.col("s_topic"),
        "source_offset": s["offset"],
        "target_offset": sf.when(wrong, t["offset"]),
        "timestamp": newest["timestamp"],
        "bytes": newest["bytes"],
    }
    return [columns.get(c, sf.col(c)).alias(c) for c in OUTCOME]
