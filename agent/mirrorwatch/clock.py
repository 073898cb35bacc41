"""The only place that reads the clock; everything else is given the time."""

from datetime import UTC, datetime

__all__ = ["utc_now"]


def utc_now() -> datetime:
    """Return the current time, in UTC.

    Notes
    -----
    Wall clock, not monotonic: probes outlive the process, so their times must
    mean something to the next one. A step of the clock can make an interval
    negative; such intervals are counted and shown, and by themselves never
    turn a probe into a lost one.
    """
    return datetime.now(UTC)  # noqa: TID251
