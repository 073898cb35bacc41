"""From records as they were read to hashed ones that count."""

from datetime import UTC, datetime, timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit import Window

from .digest import in_buckets
from .hashing import hashed

__all__ = ["in_window", "prepared", "to_millis"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def prepared(
    records: DataFrame,
    *,
    timestamps: bool,
    window: Window | None,
    bucket: timedelta,
) -> DataFrame:
    """Return the records that count, hashed and in buckets.

    Parameters
    ----------
    records
        Records, as in `RECORDS`.
    timestamps
        Whether timestamps count.
    window
        Which timestamps are asked for, if not all.
    bucket
        Length of a bucket.
    """
    chosen = records
    if window is not None and timestamps:
        chosen = records.where(in_window(window))
    return in_buckets(
        hashed(chosen, timestamps=timestamps), bucket, timestamps=timestamps
    )


def in_window(window: Window) -> Column:
    """Return whether a record's timestamp lies in a window."""
    when = sf.col("timestamp")
    return (when >= to_millis(window.start)) & (when < to_millis(window.end))


def to_millis(when: datetime) -> int:
    """Return a time in milliseconds since 1970, as Kafka has it."""
    return (when - _EPOCH) // timedelta(milliseconds=1)
