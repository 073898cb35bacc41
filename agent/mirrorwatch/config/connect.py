"""The `mirror.connect` block of a flow: Kafka Connect's REST API."""

from datetime import timedelta

from pydantic import Field

from .addresses import HttpUrl
from .base import Model
from .durations import Duration
from .http_server import HttpServer

__all__ = ["ConnectConfig", "RestartConfig"]


class RestartConfig(Model):
    """Restarts of failed tasks by the agent."""

    enabled: bool = Field(default=False, title="Restart failed tasks")
    """Off by default: a monitor that acts may hide what it should show, and
    a task that failed of its data fails again."""

    most_per_hour: int = Field(3, title="Restarts an hour", ge=1, le=20)
    """Of each task. What three restarts do not mend needs a person."""

    pause: Duration = Field(
        timedelta(minutes=1), title="First pause", gt=timedelta()
    )
    """From a failure to the first restart; twice as long before the second,
    and so on. A broker that restarts is back within a minute."""


class ConnectConfig(HttpServer):
    """The REST API of Kafka Connect."""

    url: HttpUrl = Field(title="Address")
    """Address of any worker."""

    restart_failed: RestartConfig = Field(
        default_factory=RestartConfig, title="Restarts of failed tasks"
    )
    """The only thing that the agent ever does to a mirror."""
