"""Record by record, where counts and checksums differ."""

from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import PartitionPair, Side, TimeWindow

from ..digest.digest import PAIR, prepared
from ..digest.records import Read, name
from ..store.carry import carried
from .corrupted import with_corrupted
from .explain import explained_missing, explained_surplus, no_outcomes
from .matches import HASH, bounds, paired, positions
from .outside import (
    SIDES,
    counted_beyond,
    is_untold,
    may_have_been_untold,
    reach,
    read_beyond,
    with_aborted,
)

__all__ = ["SuspectBuckets", "drill"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SuspectBuckets:
    """What is to be looked into, of pairs that are hashed alike."""

    pairs: tuple[PartitionPair, ...]
    """Pairs with buckets that differ, as they are in the plan."""

    narrowed: tuple[PartitionPair, ...]
    """The same with the spans between which these buckets' records are."""

    buckets: DataFrame
    """The buckets, as `PAIR` and `bucket`."""

    ends: DataFrame
    """What equal buckets prove to be copied, as `matched_ends` returns it."""

    carry: DataFrame
    """What the night before left."""

    timestamps: bool
    """Whether timestamps count."""

    window: TimeWindow | None
    """Which timestamps are asked for."""

    bucket: timedelta
    """Length of a bucket."""


def drill(read: Read, case: SuspectBuckets) -> DataFrame:
    """Return what became of each record without a counterpart.

    Parameters
    ----------
    read
        Reads records.
    case
        What is to be looked into.

    Returns
    -------
    DataFrame
        Columns as in `OUTCOME`.

    Notes
    -----
    Each step is worked out and kept before the next one begins: as one plan
    they would repeat each other many times. What is kept is lost with an
    executor; then the audit fails, and is run again.
    """
    source, target = (_records(read, case, side) for side in SIDES)
    matches = paired(source, target).localCheckpoint()
    single = matches.where("s_offset IS NULL OR t_offset IS NULL")
    torn = {tuple(row) for row in single.select(*PAIR).distinct().collect()}
    pairs = [pair for pair in case.pairs if name(pair) in torn]
    if not pairs:
        return no_outcomes(matches.sparkSession)
    beyond = read_beyond(
        read, pairs, timestamps=case.timestamps, carry=case.carry
    ).localCheckpoint()
    limits = bounds(
        positions(matches.sparkSession, pairs),
        case.ends,
        _side(matches, "source").unionByName(_later(beyond, "source")),
        _side(matches, "target").unionByName(_later(beyond, "target")),
    ).localCheckpoint()
    hashes = single.select(*HASH).distinct()
    counts = counted_beyond(beyond, hashes, limits).localCheckpoint()
    missing = explained_missing(
        matches, counts, limits, timestamps=case.timestamps
    )
    surplus = explained_surplus(
        matches, counts, reach(beyond, pairs), timestamps=case.timestamps
    )
    outcomes = missing.unionByName(surplus).localCheckpoint()
    return with_corrupted(outcomes, matches, pairs, case.bucket)


def _records(read: Read, case: SuspectBuckets, side: Side) -> DataFrame:
    found = prepared(
        read(case.narrowed, side),
        timestamps=case.timestamps,
        window=case.window,
        bucket=case.bucket,
    )
    own = carried(
        case.carry,
        side,
        case.pairs,
        timestamps=case.timestamps,
        bucket=case.bucket,
    )
    found, own = (
        rows.select(*own.columns).join(
            case.buckets, [*PAIR, "bucket"], "left_semi"
        )
        for rows in (found, own)
    )
    pairs = case.pairs if side == "source" else ()
    # What was left may be from a night that read otherwise.
    return with_aborted(read, found, pairs, doubtful=is_untold).unionByName(
        with_aborted(read, own, pairs, doubtful=may_have_been_untold)
    )


def _side(matches: DataFrame, side: Side) -> DataFrame:
    mark = side[0]
    return matches.where(sf.col(f"{mark}_offset").isNotNull()).select(
        *HASH,
        *(
            sf.col(f"{mark}_{c}").alias(c)
            for c in ("origin", "topic", "offset")
        ),
    )


def _later(beyond: DataFrame, side: Side) -> DataFrame:
    return beyond.where((sf.col("side") == side) & ~sf.col("before")).select(
        *HASH, "origin", "topic", "offset"
    )
