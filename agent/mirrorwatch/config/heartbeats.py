"""The `limits.heartbeats` block of a flow."""

from datetime import timedelta

from pydantic import Field

from .base import Model
from .durations import Duration

__all__ = ["HeartbeatsLimits"]


class HeartbeatsLimits(Model):
    """Limits of the check `heartbeats`."""

    stale: Duration = Field(
        timedelta(minutes=1), title="Stale after", gt=timedelta()
    )
    """How long heartbeats may fail to come, or their copies be late. They are
    made every second; a worker that leaves is missed after ten, and a
    rebalance takes some more. Ten of the mirror's intervals, if that is
    longer."""
