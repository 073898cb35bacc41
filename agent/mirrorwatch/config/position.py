"""The `limits.position` block of a flow."""

from datetime import timedelta

from pydantic import Field

from .base import Model
from .durations import Duration

__all__ = ["PositionLimits"]


class PositionLimits(Model):
    """Limits of the check `position`."""

    lost_window: Duration = Field(
        timedelta(hours=1), title="Memory for losses", gt=timedelta()
    )
    """How long a reset that left records out keeps the verdict critical once
    the mirror has gone on: as long as a lost probe does. The counter never
    forgets."""

    rewind_window: Duration = Field(
        timedelta(minutes=10), title="Memory for repeats", gt=timedelta()
    )
    """How long one that only copies records again keeps it at warning: every
    crash of the mirror does that, and nothing is lost."""
