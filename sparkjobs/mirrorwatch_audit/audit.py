"""The audit of one plan."""

from datetime import timedelta

from pyspark.sql import DataFrame

from mirrorwatch.domain.audit import Plan, Side

from .comparison import Comparison
from .records import Read

__all__ = ["audit", "compare", "digest_side"]


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
    source = digest_side(read, plan, "source", bucket=bucket)
    target = digest_side(read, plan, "target", bucket=bucket)
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
    raise NotImplementedError


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
        Digest of the source.
    target
        Digest of the target.
    carry
        What the audit of the night before left to this one.
    keys
        Keys to name as a sample for each finding.
    """
    raise NotImplementedError
