"""Record by record, where counts and checksums differ."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import (
    PartitionPair,
    Side,
    TimeWindow,
)

from ..checkpoint import checkpointed
from ..digest.digest import PAIR, hashed, prepared
from ..digest.records import (
    SIDES,
    Read,
    Times,
    after,
    before,
    first_records,
    name,
)
from ..store.carry import carried
from .corrupted import with_corrupted
from .explain import (
    HASH,
    asked_since,
    bounds,
    copies_outside,
    explained_missing,
    explained_surplus,
    matched_copies,
    no_outcomes,
    positions,
    reach,
    remembers_all,
)

__all__ = [
    "MOST_SENT",
    "SuspectBuckets",
    "beyond",
    "drill",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class SuspectBuckets:
    """Buckets to look into, of pairs that are hashed alike."""

    pairs: tuple[PartitionPair, ...]
    narrowed: tuple[PartitionPair, ...]
    """The same with the stretches in which these buckets' records are, one of
    each log: a pair is there as often as a log of it has some."""

    buckets: DataFrame
    ends: DataFrame
    carry: DataFrame
    """Records carried over from the night before."""

    timestamps: bool
    window: TimeWindow | None
    bucket: timedelta


def drill(read: Read, case: SuspectBuckets) -> DataFrame:
    """Return what became of each record without a counterpart.

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
    Each step is worked out and kept before the next one begins: as one plan
    they would repeat each other many times.
    """
    source, target = (_records(read, case, side) for side in SIDES)
    matches = matched_copies(source, target).transform(checkpointed)
    unmatched = _unmatched(matches, case.pairs, timestamps=case.timestamps)
    pairs = unmatched.pairs
    if not pairs:
        return no_outcomes(matches.sparkSession)
    outside_span = read_outside(
        read, unmatched, timestamps=case.timestamps, carry=case.carry
    ).transform(checkpointed)
    later = [
        beyond(read, pairs, side, after, timestamps=case.timestamps)
        for side in SIDES
    ]
    limits = bounds(
        positions(matches.sparkSession, pairs),
        case.ends,
        _side(matches, "source").unionByName(later[0]),
        _side(matches, "target").unionByName(later[1]),
    ).transform(checkpointed)
    if any(source.asked_from for pair in pairs for source in pair.sources):
        limits = asked_since(limits, case.ends, matches)
        limits = limits.transform(checkpointed)
    counts = copies_outside(outside_span, limits).transform(checkpointed)
    missing = explained_missing(matches, counts, limits)
    oldest = [
        first_records(pair)
        for pair in unmatched.with_surplus
        if not remembers_all(pair)
    ]
    surplus = explained_surplus(
        matches, counts, reach(read(oldest, "target"), unmatched.with_surplus)
    )
    outcomes = missing.unionByName(surplus).transform(checkpointed)
    return with_corrupted(outcomes, matches, pairs, case.bucket)


MOST_SENT = 200_000
"""Most checksums that are sent to each executor to be looked for: 30 MB. To
look for more, all that is read is sorted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unmatched:
    """Records without a counterpart, and the pairs that have some."""

    pairs: tuple[PartitionPair, ...]
    with_surplus: tuple[PartitionPair, ...]
    hashes: DataFrame
    times: Times
    """Timestamp of the earliest one of each pair, where all have one that
    their copies have too."""


def _unmatched(
    matches: DataFrame, pairs: Sequence[PartitionPair], *, timestamps: bool
) -> Unmatched:
    single = matches.where("s_offset IS NULL OR t_offset IS NULL")
    when = sf.coalesce("s_timestamp", "t_timestamp")
    found = {
        (row[0], row[1], row[2]): row
        for row in single.groupBy(*PAIR)
        .agg(
            sf.min(when).alias("first"),
            sf.count_if(sf.isnull("s_offset")).alias("surplus"),
            sf.count(sf.lit(1)).alias("records"),
        )
        .collect()
    }
    hashes = single.select(*HASH).distinct()
    if sum(row["records"] for row in found.values()) <= MOST_SENT:
        hashes = sf.broadcast(hashes)
    return Unmatched(
        pairs=tuple(pair for pair in pairs if name(pair) in found),
        with_surplus=tuple(
            pair
            for pair in pairs
            if name(pair) in found and found[name(pair)]["surplus"]
        ),
        hashes=hashes,
        times={
            pair: row["first"]
            for pair, row in found.items()
            if timestamps and row["first"] >= 0
        },
    )


def _records(read: Read, case: SuspectBuckets, side: Side) -> DataFrame:
    records = prepared(
        read(case.narrowed, side),
        timestamps=case.timestamps,
        window=case.window,
        bucket=case.bucket,
    )
    left = carried(
        case.carry,
        side,
        case.pairs,
        timestamps=case.timestamps,
        bucket=case.bucket,
    )
    records, left = (
        rows.select(*left.columns).join(
            case.buckets, [*PAIR, "bucket"], "left_semi"
        )
        for rows in (records, left)
    )
    return records.unionByName(left)


def _side(matches: DataFrame, side: Side) -> DataFrame:
    side_prefix = side[0]
    return matches.where(sf.col(f"{side_prefix}_offset").isNotNull()).select(
        *HASH,
        *(
            sf.col(f"{side_prefix}_{c}").alias(c)
            for c in ("origin", "topic", "offset")
        ),
    )


def beyond(
    read: Read,
    pairs: Sequence[PartitionPair],
    side: Side,
    where: Callable[[PartitionPair], PartitionPair],
    *,
    timestamps: bool,
) -> DataFrame:
    """Return records that may prove how far the mirror has come, where its
    position does not say so of all that is compared.

    Parameters
    ----------
    read
        Reads records.
    pairs
        The pairs.
    side
        Which side.
    where
        Chooses what is read of each.
    timestamps
        Timestamps are compared in these pairs.
    """
    asked = [where(pair) for pair in pairs if not _is_passed(pair)]
    records = hashed(read(asked, side), timestamps=timestamps)
    return records.select(*HASH, "origin", "topic", "offset")


def _is_passed(pair: PartitionPair) -> bool:
    """Return whether the mirror is known to have passed all of the spans."""
    return all(
        source.position is not None and source.position >= source.span.end
        for source in pair.sources
    )


def read_outside(
    read: Read, unmatched: Unmatched, *, timestamps: bool, carry: DataFrame
) -> DataFrame:
    """Return the equals of some records around the spans, on both sides.

    Parameters
    ----------
    read
        Reads records.
    unmatched
        Records without a counterpart, to be looked for.
    timestamps
        Timestamps are compared in these pairs.
    carry
        Records from before the spans that count to the spans.

    Returns
    -------
    DataFrame
        Hashed records, with their `side`, and whether they come `before` the
        span.

    Notes
    -----
    What is kept are the equals: no more than there are of what is unmatched.
    Equal records have equal timestamps, so that no log is read from before
    the first record that is as young as the earliest of them.
    """
    pairs = unmatched.pairs
    surplus = {name(pair) for pair in unmatched.with_surplus}
    # Before an exact start only what is too many is looked for.
    blurred = [p for p in pairs if name(p) in surplus or not p.exact_start]
    counted = carry.select(*PAIR, "side", "origin", "topic", "offset")
    parts = []
    for side in SIDES:
        for asked, is_before in (
            ([before(pair) for pair in blurred], True),
            ([after(pair) for pair in pairs], False),
        ):
            records = hashed(
                read(read.since(asked, side, unmatched.times), side),
                timestamps=timestamps,
            )
            parts.append(
                records.join(unmatched.hashes, [*HASH], "left_semi")
                .select(*records.columns)
                .withColumns(
                    {"side": sf.lit(side), "before": sf.lit(is_before)}
                )
            )
    found = reduce(DataFrame.unionByName, parts)
    return found.join(sf.broadcast(counted), counted.columns, "left_anti")
