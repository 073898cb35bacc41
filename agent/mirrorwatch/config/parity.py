"""Limits of the checks `topics` and `configs`."""

from datetime import timedelta

from pydantic import Field

from .base import Model
from .durations import Duration

__all__ = ["ConfigsLimits", "TopicsLimits"]


class TopicsLimits(Model):
    """Limits of the check `topics`."""

    refreshes: float = Field(2, title="Refreshes of the mirror", ge=1)
    """Topic refreshes of the mirror within which a new topic, or a new
    partition, must be at the target: it may have just missed the first. The
    interval is read from the mirror's own configuration."""

    least: Duration = Field(
        timedelta(minutes=1), title="Least patience", gt=timedelta()
    )
    """What the mirror is given in any case: to make topics, and to deal them
    out to its tasks, takes it seconds whatever its interval."""


class ConfigsLimits(Model):
    """Limits of the check `configs`."""

    enabled: bool = Field(default=True, title="Enabled")
    """Whether configurations are compared: it needs the right
    DESCRIBE_CONFIGS on all topics that the flow carries, on both sides."""

    every: Duration = Field(
        timedelta(minutes=5), title="How often", ge=timedelta(seconds=1)
    )
    """How often configurations are read: 100 topics make a request, answered
    in about 20 ms, so all topics of a large site cost less than a second.
    The mirror itself looks every ten minutes."""

    slack: Duration = Field(
        timedelta(minutes=1), title="Slack", gt=timedelta()
    )
    """What the mirror is given beyond its own interval before a drift counts:
    to go through thousands of topics takes it a while."""
