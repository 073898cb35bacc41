"""Limits of the check `skips`."""

from datetime import timedelta

from pydantic import Field

from .base import Model
from .durations import Duration

__all__ = ["SkipsLimits"]


class SkipsLimits(Model):
    """Limits of the check `skips`."""

    lost_window: Duration = Field(
        timedelta(hours=1), title="Memory for skips", gt=timedelta()
    )
    """How long skipped records keep the verdict critical: as long as lost
    probes do. The counters never forget."""

    warning_window: Duration = Field(
        timedelta(minutes=10), title="Memory for warnings", gt=timedelta()
    )
    """How long repeats, and offsets that cannot be verified, keep it at
    warning: as long as late probes do."""

    suspect_after: Duration = Field(
        timedelta(minutes=2), title="Suspect after", gt=timedelta()
    )
    """How much newer the records must be that a task copies elsewhere before
    those that it leaves behind are suspected: two of the mirror's flush
    intervals, so that every position was told since."""

    unread_after: Duration = Field(
        timedelta(minutes=2), title="Patience for reading", gt=timedelta()
    )
    """How long a stretch may wait to be read before the check is unknown:
    some seconds are usual, a minute after a mirror with thousands of
    partitions was killed."""
