"""Records that one night leaves to the next."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import (
    AuditedEnd,
    AuditedEnds,
    PartitionPair,
    Plan,
    Side,
    Unverifiable,
)

from ..digest.digest import HASHED, PAIR, in_buckets
from ..digest.records import (
    NAMES,
    PairName,
    name,
    named,
    small_table,
)
from ..digest.unreadable import gap_of, passed_over, with_gaps

__all__ = [
    "CARRY",
    "WAITING",
    "begun",
    "carried",
    "carry_out",
    "copies_left",
    "missing_carry",
    "no_carry",
    "usable_carry",
]


WAITING = ("carried", "in_flight", "unknown")
"""Outcomes of records that are compared the next night."""

CARRY = (
    "flow string, target_topic string, partition int, origin string, "
    "topic string, offset bigint, timestamp bigint, bytes bigint, "
    "h1 bigint, h2 bigint, k1 bigint, k2 bigint, side string, reason string"
)
"""A hashed record, the side that it was read on, and whether its copy is
beyond the range of the other side (`carried`) or not there yet
(`in_flight` or `unknown`)."""


def no_carry(session: SparkSession) -> DataFrame:
    """Return what the first night ever was left."""
    return small_table(session, [], CARRY)


MISSING = (
    "records that the night before left to this one: {folder} is missing, so "
    "it is not known which they were, and none of them was looked for. For a "
    "look at them use --from and --to"
)


def missing_carry(
    before: AuditedEnds, folder: str
) -> tuple[Unverifiable, ...]:
    """Return that what the night before left is not known.

    Parameters
    ----------
    before
        Up to where partitions were audited.
    folder
        Folder in which the carry should be.

    Notes
    -----
    That is of all topics that were ever audited: what was left of those that
    this night does not compare would have waited on.
    """
    topics = sorted(
        {(end.flow, end.topic) for end in before.ends if end.source_id}
    )
    reason = MISSING.format(folder=folder)
    return tuple(
        Unverifiable(flow=flow, topic=topic, partition=None, reason=reason)
        for flow, topic in topics
    )


def carry_out(
    carry: DataFrame, outcomes: DataFrame, pairs: Iterable[PartitionPair]
) -> DataFrame:
    """Return what is left to the next night.

    Parameters
    ----------
    carry
        Records carried over from the night before.
    outcomes
        Outcomes of this night's records.
    pairs
        Pairs that were compared: what was left of others waits on.
    """
    names = sf.broadcast(named(carry.sparkSession, pairs))
    waiting = carry.join(names, [*PAIR], "left_anti")
    source = sf.col("side") == "source"
    offset = sf.when(source, sf.col("source_offset"))
    found = outcomes.where(sf.col("kind").isin(*WAITING)).withColumns(
        {
            "offset": offset.otherwise(sf.col("target_offset")),
            "origin": sf.when(source, sf.col("origin")).otherwise(
                sf.col("flow")
            ),
            "topic": sf.when(source, sf.col("topic")).otherwise(
                sf.col("target_topic")
            ),
            "reason": sf.col("kind"),
        }
    )
    return waiting.unionByName(found.select(*carry.columns))


def carried(
    carry: DataFrame,
    side: Side,
    pairs: Iterable[PartitionPair],
    *,
    timestamps: bool,
    bucket: timedelta,
) -> DataFrame:
    """Return the records that count to one side of pairs, in buckets.

    Parameters
    ----------
    carry
        Records carried over from the night before.
    side
        Which side.
    pairs
        Pairs that are hashed alike.
    timestamps
        Timestamps are compared.
    bucket
        Length of a bucket.
    """
    names = sf.broadcast(named(carry.sparkSession, pairs))
    own = (
        carry.where(sf.col("side") == side)
        .join(names, [*PAIR], "left_semi")
        .select(*HASHED)
    )
    return in_buckets(own, bucket, timestamps=timestamps)


PartitionKey = tuple[str, str, int]

BROKEN = (
    "records that the night before left to this one: their copies may lie in "
    "what can no longer be read, before this night's range"
)

OTHERWISE = (
    "copies are compared otherwise (timestamps, headers) than by the night "
    "before, which left records to this one"
)


def usable_carry(
    carry: DataFrame,
    plan: Plan,
    before: AuditedEnds,
    last: Mapping[PairName, PartitionPair],
) -> tuple[DataFrame, Plan]:
    """Leave out what was left for ranges that do not go on, and ranges to
    which something was left by other checksums.

    Parameters
    ----------
    carry
        Records carried over from the night before.
    plan
        Plan of this night.
    before
        Up to where partitions were audited.
    last
        Pairs that the night before compared, by name.

    Returns
    -------
    tuple
        Carried records that can be compared, and the plan with gaps for the
        others.

    Notes
    -----
    Where records expired before they were audited, or a topic was recreated,
    a night begins behind the end of the one before. The copy of a record that
    was left may lie between, so that it is not found proves nothing.
    """
    known = before.by_partition()
    carry = _named_now(carry, plan.pairs)
    broken = {
        name(pair): pair
        for pair in plan.pairs
        if not _goes_on(pair, known)
        or _is_hashed_otherwise(last.get(name(pair), pair), pair)
    }
    if not broken:
        return carry, plan
    names = sf.broadcast(small_table(carry.sparkSession, broken, NAMES))
    lost = carry.join(names, [*PAIR], "left_semi")
    at_source = sf.sum((sf.col("side") == "source").cast("long"))
    gaps, otherwise = [], set()
    for *key, records in lost.groupBy(*PAIR).agg(at_source).collect():
        pair = broken[tuple(key)]
        if _goes_on(pair, known):
            otherwise.add(name(pair))
            gaps.append(gap_of(pair, OTHERWISE))
        else:
            gaps.append(replace(gap_of(pair, BROKEN), records=records))
    pairs = tuple(
        passed_over(pair) if name(pair) in otherwise else pair
        for pair in plan.pairs
    )
    rest = carry.join(names, [*PAIR], "left_anti")
    return rest, with_gaps(replace(plan, pairs=pairs), gaps)


def _is_hashed_otherwise(one: PartitionPair, other: PartitionPair) -> bool:
    return (one.timestamps, one.copies) != (other.timestamps, other.copies)


def _named_now(carry: DataFrame, pairs: Iterable[PartitionPair]) -> DataFrame:
    """Return what was left under the names that its pairs have by now: a
    merged one has that of the first of its flows, and another may have come
    before that in the configuration.
    """
    rows = [
        (source.flow, *name(pair)[1:], pair.flow)
        for pair in pairs
        for source in pair.sources
        if source.flow != pair.flow
    ]
    if not rows:
        return carry
    names = small_table(carry.sparkSession, rows, f"{NAMES}, flow_now string")
    now = sf.coalesce("flow_now", "flow")
    at_source = sf.col("side") == "source"
    return (
        carry.join(sf.broadcast(names.distinct()), [*PAIR], "left")
        .withColumns(
            {
                "flow": now,
                "origin": sf.when(at_source, sf.col("origin")).otherwise(now),
            }
        )
        .select(*carry.columns)
    )


def copies_left(carry: DataFrame) -> set[PairName]:
    """Return the pairs of which the night before left records of the target.

    Parameters
    ----------
    carry
        Records that the night before left.
    """
    found = carry.where(sf.col("side") == "target").select(*PAIR).distinct()
    return {tuple(row) for row in found.collect()}


def begun(plan: Plan, before: AuditedEnds) -> Plan:
    """Return the plan with the pairs marked that begin exactly.

    Parameters
    ----------
    plan
        Plan of this night.
    before
        Up to where partitions were audited.
    """
    known = before.by_partition()
    return replace(
        plan,
        pairs=tuple(
            replace(
                pair,
                exact_start=not _is_blurred(pair, known)
                # Without timestamps both sides are cut at one offset sync.
                and (not pair.timestamps or _goes_on(pair, known)),
            )
            for pair in plan.pairs
        ),
    )


def _is_blurred(
    pair: PartitionPair, known: Mapping[PartitionKey, AuditedEnd]
) -> bool:
    """Return whether copies of a pair may lie before the range of the target:
    some of its sources were audited and others not, or what came before was
    not compared.
    """
    ends = [
        known.get((source.flow, source.topic, source.partition))
        for source in pair.sources
    ]
    return len({end is None for end in ends}) > 1 or any(
        end is not None and not end.exact for end in ends
    )


def _goes_on(
    pair: PartitionPair, known: Mapping[PartitionKey, AuditedEnd]
) -> bool:
    """Return whether a pair begins where it was audited up to."""
    ends = [
        (source, end)
        for source in pair.sources
        if (end := known.get((source.flow, source.topic, source.partition)))
    ]
    # What was left of a topic that was deleted since has no position.
    absent = [known.get((*of, pair.partition)) for of in pair.absent]
    gone = any(end is not None and end.source_id for end in absent)
    return (
        bool(ends)
        and not gone
        and all(
            source.span.start == end.source_end
            and pair.span.start == end.target_end
            and source.topic_id == end.source_id
            and not end.by_topic
            and pair.copies.partitions
            and end.target_id in {pair.topic_id, ""}
            for source, end in ends
        )
    )
