"""Record by record, where counts and checksums differ."""

from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import Lane, Side, TimeWindow

from ..digest.digest import LANE, prepared
from ..digest.records import Read, name
from ..store.carry import carried
from .corrupted import with_corrupted
from .explain import explained_missing, explained_surplus, no_outcomes
from .outside import (
    SIDES,
    counted_beyond,
    is_untold,
    may_have_been_untold,
    reach,
    read_beyond,
    with_aborted,
)
from .pairs import HASH, bounds, paired, positions

__all__ = ["SuspectBuckets", "drill"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SuspectBuckets:
    """What is to be looked into, of lanes that are hashed alike."""

    lanes: tuple[Lane, ...]
    """Lanes with buckets that differ, as they are in the plan."""

    narrowed: tuple[Lane, ...]
    """The same with the spans between which these buckets' records are."""

    buckets: DataFrame
    """The buckets, as `LANE` and `bucket`."""

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
    pairs = paired(source, target).localCheckpoint()
    single = pairs.where("s_offset IS NULL OR t_offset IS NULL")
    torn = {tuple(row) for row in single.select(*LANE).distinct().collect()}
    lanes = [lane for lane in case.lanes if name(lane) in torn]
    if not lanes:
        return no_outcomes(pairs.sparkSession)
    beyond = read_beyond(
        read, lanes, timestamps=case.timestamps, carry=case.carry
    ).localCheckpoint()
    limits = bounds(
        positions(pairs.sparkSession, lanes),
        case.ends,
        _side(pairs, "source").unionByName(_later(beyond, "source")),
        _side(pairs, "target").unionByName(_later(beyond, "target")),
    ).localCheckpoint()
    hashes = single.select(*HASH).distinct()
    counts = counted_beyond(beyond, hashes, limits).localCheckpoint()
    missing = explained_missing(
        pairs, counts, limits, timestamps=case.timestamps
    )
    surplus = explained_surplus(
        pairs, counts, reach(beyond, lanes), timestamps=case.timestamps
    )
    outcomes = missing.unionByName(surplus).localCheckpoint()
    return with_corrupted(outcomes, pairs, lanes, case.bucket)


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
        case.lanes,
        timestamps=case.timestamps,
        bucket=case.bucket,
    )
    found, own = (
        rows.select(*own.columns).join(
            case.buckets, [*LANE, "bucket"], "left_semi"
        )
        for rows in (found, own)
    )
    lanes = case.lanes if side == "source" else ()
    # What was left may be from a night that read otherwise.
    return with_aborted(read, found, lanes, doubtful=is_untold).unionByName(
        with_aborted(read, own, lanes, doubtful=may_have_been_untold)
    )


def _side(pairs: DataFrame, side: Side) -> DataFrame:
    mark = side[0]
    return pairs.where(sf.col(f"{mark}_offset").isNotNull()).select(
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
