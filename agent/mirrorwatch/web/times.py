"""Times and durations as they leave the process."""

from datetime import datetime, timedelta

__all__ = ["seconds", "time_text"]


def time_text(at: datetime | None) -> str | None:
    """Return a time as it leaves the process: ISO 8601 with its zone."""
    return None if at is None else at.isoformat(timespec="milliseconds")


def seconds(duration: timedelta | None) -> float | None:
    """Return a duration in seconds; `None` if it is not known."""
    return None if duration is None else duration.total_seconds()
