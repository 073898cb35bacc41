"""Which buckets differ."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import timedelta

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import (
    PartitionPair,
    Plan,
    Stated,
    Unverifiable,
)
from mirrorwatch.domain.audit.result import AuditFinding, TopicCount
from mirrorwatch.exceptions import AuditError

from ..digest.digest import PAIR, SUMS, stamped
from ..digest.records import (
    PairName,
    Read,
    name,
    named,
    next_records,
)

__all__ = [
    "UNTIMED",
    "DigestComparison",
    "as_digested",
    "bucket_length",
    "compared",
    "count_fed",
    "matched_ends",
    "stretches",
    "timed_by_target",
]


_TOLD = ("records", "bytes", *SUMS)

_ANY_LENGTH = timedelta(hours=1)
"""Bucket length where nothing was read on either side."""


def compared(source: DataFrame, target: DataFrame) -> DataFrame:
    """Return every bucket of every pair, and whether both sides agree.

    Parameters
    ----------
    source
        Digest of the source.
    target
        Digest of the target.

    Returns
    -------
    DataFrame
        `PAIR`, `bucket`, and whether it is `equal`.

    Notes
    -----
    What several topics feed into one is compared with their sum. Each side
    may have more than one row of a bucket: what the night before left is one
    of its own.
    """
    joined = _summed(source, "s").join(
        _summed(target, "t"), [*PAIR, "bucket"], "full_outer"
    )
    equal = sf.expr("true")
    for what in _TOLD:
        equal &= sf.col(f"s_{what}").eqNullSafe(sf.col(f"t_{what}"))
    return joined.select(*PAIR, "bucket", equal.alias("equal"))


def count_fed(
    source: DataFrame, pairs: Sequence[PartitionPair]
) -> dict[tuple[str, str], int]:
    """Return the records of each source of merged topics, by flow and source
    topic.

    Parameters
    ----------
    source
        Digest of the source.
    pairs
        Compared pairs.
    """
    feeders: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    for pair in pairs:
        of = {(source.flow, source.topic) for source in pair.sources}
        feeders[pair.flow, pair.target_topic] |= of
    merged = [
        pair
        for pair in pairs
        if len(feeders[pair.flow, pair.target_topic]) > 1
    ]
    fed: Counter[tuple[str, str]] = Counter()
    if merged:
        names = sf.broadcast(named(source.sparkSession, merged))
        rows = (
            source.join(names, [*PAIR], "left_semi")
            .groupBy("origin", "topic")
            .agg(sf.sum("records"))
        )
        for origin, topic, records in rows.collect():
            fed[origin, topic] += records
    return dict(fed)


LEAST_GAP = 200_000
"""Offsets between differing buckets that are rather left out than read: it
takes a moment to read as many, and another task to leave them out."""

MOST_STRETCHES = 8
"""Most stretches that are read of a log: of each is one more query."""


def stretches(digest: DataFrame, differing: DataFrame) -> DataFrame:
    """Return between which offsets the records of differing buckets are.

    Parameters
    ----------
    digest
        Digest of one side.
    differing
        Buckets, as `PAIR` and `bucket`.

    Returns
    -------
    DataFrame
        `PAIR`, `origin`, `topic`, `first_offset` and `last_offset`, a row for
        each stretch of a log: the largest gaps are left out, so that a drop
        at each end of a day does not read the day.
    """
    log = (*PAIR, "origin", "topic")
    by_offset = Window.partitionBy(*log).orderBy("first_offset", "bucket")
    until_now = by_offset.rowsBetween(Window.unboundedPreceding, 0)
    before = by_offset.rowsBetween(Window.unboundedPreceding, -1)
    largest = Window.partitionBy(*log).orderBy(
        sf.desc_nulls_last("gap"), "first_offset", "bucket"
    )
    # Buckets are of time, so that those of late records overlap.
    seen = sf.max("last_offset").over(before)
    is_gap = (sf.col("gap") >= LEAST_GAP) & (sf.col("rank") < MOST_STRETCHES)
    return (
        digest.join(differing, [*PAIR, "bucket"], "left_semi")
        .select(*log, "bucket", "first_offset", "last_offset")
        .withColumn("gap", sf.col("first_offset") - seen - 1)
        .withColumn("rank", sf.row_number().over(largest))
        .withColumn("begins", sf.coalesce(is_gap.cast("int"), sf.lit(0)))
        .withColumn("number", sf.sum("begins").over(until_now))
        .groupBy(*log, "number")
        .agg(
            sf.min("first_offset").alias("first_offset"),
            sf.max("last_offset").alias("last_offset"),
        )
    )


def matched_ends(source: DataFrame, equal: DataFrame) -> DataFrame:
    """Return the first and the last source offset that equal buckets prove to
    be copied.

    Parameters
    ----------
    source
        Digest of the source.
    equal
        Buckets that are equal on both sides, as `PAIR` and `bucket`.

    Returns
    -------
    DataFrame
        `PAIR`, `origin`, `topic`, `first` and `matched`.
    """
    return (
        source.join(equal, [*PAIR, "bucket"], "left_semi")
        .groupBy(*PAIR, "origin", "topic")
        .agg(
            sf.min("first_offset").alias("first"),
            sf.max("last_offset").alias("matched"),
        )
    )


def bucket_length(source: DataFrame, target: DataFrame) -> timedelta:
    """Return the length of both digests' buckets.

    Raises
    ------
    AuditError
        Raised if they differ in it.
    """
    made = {
        row["bucket_ms"]
        for side in (source, target)
        for row in side.select("bucket_ms").distinct().collect()
    }
    if not made:
        return _ANY_LENGTH
    if len(made) > 1:
        lengths = ", ".join(f"{ms // 1000} s" for ms in sorted(made))
        raise AuditError(
            f"These digests have buckets of different lengths ({lengths}): "
            "make them again with one audit.bucket on both sides"
        )
    return timedelta(milliseconds=made.pop())


def _summed(digest: DataFrame, side: str) -> DataFrame:
    return digest.groupBy(*PAIR, "bucket").agg(
        *(sf.sum(what).alias(f"{side}_{what}") for what in _TOLD)
    )


UNTIMED = (
    "the target puts timestamps of its own on records: what was read of a "
    "window does not belong together. Use a nightly mirrorwatch audit run"
)


def timed_by_target(
    read: Read,
    pairs: Iterable[PartitionPair],
    target: DataFrame,
    before: AbstractSet[PairName],
) -> set[PairName]:
    """Return the pairs whose records have timestamps of the target's own,
    whatever its configuration says today.

    Parameters
    ----------
    read
        Reads records.
    pairs
        The pairs.
    target
        Digest of the target.
    before
        Names of pairs that had them the night before.

    Notes
    -----
    A range without a record at the target shows nothing. What was left to
    this night are records of the one before: so it is as it was then. Of
    others all copies may come after the range, and the first records there
    are looked at.
    """
    seen = {_name(row) for row in target.select(*PAIR).distinct().collect()}
    silent = [p for p in pairs if p.timestamps and name(p) not in seen]
    found = stamped(target) | {name(p) for p in silent if name(p) in before}
    asked = [
        next_records(pair)
        for pair in silent
        if name(pair) not in found
        and any(len(source.span) for source in pair.sources)
    ]
    if any(len(pair.span) for pair in asked):
        own = read(asked, "target").where("appended")
        found |= {_name(row) for row in own.select(*PAIR).distinct().collect()}
    return found


def _name(row: Row) -> PairName:
    return row["flow"], row["target_topic"], row["partition"]


def as_digested(plan: Plan, source: Plan, target: Plan) -> Plan:
    """Return a frozen plan as two sites have digested it.

    Parameters
    ----------
    plan
        Frozen plan.
    source
        Plan as the source has digested it.
    target
        Plan as the target has digested it.

    Returns
    -------
    Plan
        The plan without what either could not read.
    """
    sources = {name(pair): pair for pair in source.pairs}
    targets = {name(pair): pair for pair in target.pairs}
    pairs = []
    for pair in plan.pairs:
        here, there = sources.get(name(pair)), targets.get(name(pair))
        if here is None or there is None:
            continue
        pairs.append(there if there.passed_over else here)
    told = (*plan.unverifiable, *target.unverifiable, *source.unverifiable)
    return replace(
        plan,
        pairs=tuple(pairs),
        unverifiable=tuple(dict.fromkeys(told)),
        more=plan.more and source.more and target.more,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class DigestComparison:
    """Comparison result of the digests of both sides."""

    topics: tuple[TopicCount, ...]
    fed: Mapping[tuple[str, str], int]
    """Records that were read of each source of merged topics, by flow and
    source topic."""

    findings: tuple[AuditFinding, ...]
    stated: tuple[Stated, ...]
    """Differences with a known reason, which are no errors."""

    unverifiable: tuple[Unverifiable, ...]
    carry: DataFrame
    """Records that the next night compares in place of this one (columns as
    in `CARRY`). Store it before the session ends; an ad hoc audit has no use
    for it."""

    source: DataFrame
    target: DataFrame
