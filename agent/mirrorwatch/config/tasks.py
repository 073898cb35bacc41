"""The `limits.tasks` block of a flow."""

from datetime import timedelta

from pydantic import Field

from .base import Model
from .durations import Duration

__all__ = ["TasksLimits"]


class TasksLimits(Model):
    """Limits of the check `tasks`."""

    grace: Duration = Field(
        timedelta(seconds=30), title="Time between two runs", gt=timedelta()
    )
    """How long tasks may be neither running nor failed. When they are given
    out anew they stop for some seconds; whoever stops them for longer stops
    the flow."""

    failures: int = Field(2, title="Failures an hour", ge=1)
    """From how many failures within an hour a task that runs again is
    flapping: one may have been mended, a second one was not."""

    restarts: int = Field(6, title="Starts an hour", ge=1)
    """How many starts and rebalances within an hour are usual, beside one
    for each look of the mirror for new topics: a deployment takes up to
    three of them."""
