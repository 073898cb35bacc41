"""The audit of one plan."""

from datetime import timedelta
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit import Plan, Side

from .carry import carry_out, no_carry
from .compare import bucket_length
from .comparison import Comparison
from .counts import count_topics
from .digest import digest
from .explain import no_outcomes
from .findings import FINDINGS, findings_of, stated_of, unverifiable_of
from .lanes import Group, groups
from .prepare import prepared
from .ranges import offset_ranges
from .records import Read
from .samples import with_keys
from .streams import streams
from .suspects import Sides, look_into
from .tally import tallied

__all__ = ["audit", "compare", "digest_side"]

_NOTHING = Group(timestamps=True, compacted=False, lanes=())


def audit(
    read: Read,
    plan: Plan,
    *,
    bucket: timedelta,
    carry: DataFrame | None = None,
    keys: int = 0,
) -> Comparison:
    """Digest both sides, compare them, and look into what differs.

    Parameters
    ----------
    read
        Reads records, as `KafkaReader` does.
    plan
        What to compare.
    bucket
        Length of time that one checksum stands for.
    carry
        What the audit of the night before left to this one.
    keys
        Keys to name as a sample for each finding; none, because they may be
        private.
    """
    source = digest_side(read, plan, "source", bucket=bucket).localCheckpoint()
    target = digest_side(read, plan, "target", bucket=bucket).localCheckpoint()
    return compare(read, plan, source, target, carry=carry, keys=keys)


def digest_side(
    read: Read, plan: Plan, side: Side, *, bucket: timedelta
) -> DataFrame:
    """Return the digest of one side of a plan (columns as in `DIGEST`).

    Parameters
    ----------
    read
        Reads records.
    plan
        What to read.
    side
        Which side.
    bucket
        Length of time that one checksum stands for.
    """
    parts = [
        digest(
            prepared(
                read(stream.lanes, side),
                timestamps=group.timestamps,
                window=plan.window,
                bucket=bucket,
            ),
            compacted=group.compacted,
            known=stream.known,
        )
        for group in groups(plan.lanes) or [_NOTHING]
        for stream in streams(group.lanes, side)
    ]
    return reduce(DataFrame.unionByName, parts)


def compare(
    read: Read,
    plan: Plan,
    source: DataFrame,
    target: DataFrame,
    *,
    carry: DataFrame | None = None,
    keys: int = 0,
) -> Comparison:
    """Compare two digests, and look into what differs.

    Parameters
    ----------
    read
        Reads records of the buckets that differ, on both sides.
    plan
        What the digests were made of.
    source
        Digest of the source; it is used more than once, so it should be
        stored or persisted.
    target
        Digest of the target.
    carry
        What the audit of the night before left to this one.
    keys
        Keys to name as a sample for each finding.

    Raises
    ------
    AuditError
        Raised if the digests were not made alike.
    """
    left = no_carry(source.sparkSession) if carry is None else carry
    bucket = bucket_length(source, target)
    cases = [
        Sides(
            group=group,
            source=source,
            target=target,
            carry=left,
            bucket=bucket,
        )
        for group in groups(plan.lanes)
    ]
    looked = [look_into(read, sides, plan.window) for sides in cases]
    outcomes = [found for found in looked if found is not None]
    everything = reduce(
        DataFrame.unionByName, outcomes, no_outcomes(source.sparkSession)
    )
    tallies = tallied(everything)
    wrong = everything.where(sf.col("kind").isin(*FINDINGS))
    found = any(tally.place[3] in FINDINGS for tally in tallies)
    ranges = offset_ranges(wrong) if found else {}
    findings = findings_of(tallies, ranges, plan.lanes)
    if findings and keys:
        findings = with_keys(read, findings, plan.lanes, keys)
    return Comparison(
        topics=count_topics(cases, tallies, plan.lanes),
        findings=findings,
        stated=stated_of(tallies, plan.lanes),
        unverifiable=unverifiable_of(tallies, plan.lanes),
        carry=carry_out(left, everything, plan.lanes),
        source=source,
        target=target,
    )
