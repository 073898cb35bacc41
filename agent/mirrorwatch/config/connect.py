"""The `mirror.connect` block of a flow: Kafka Connect's REST API."""

from datetime import timedelta
from pathlib import Path
from typing import Self

from pydantic import Field, SecretStr, model_validator

from .addresses import HttpUrl
from .base import Model
from .durations import Duration
from .problems import Problem, ProblemsError

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


class ConnectConfig(Model):
    """The REST API of Kafka Connect."""

    url: HttpUrl = Field(title="Address")
    """Address of any worker."""

    username: str | None = Field(None, title="User name")
    """User of basic authentication."""

    password: SecretStr | None = Field(None, title="Password")
    """Password of that user."""

    ca: Path | None = Field(None, title="Certificate authority")
    """PEM file that signs the worker's certificate, if no public authority
    does."""

    restart_failed: RestartConfig = Field(
        default_factory=RestartConfig, title="Restarts of failed tasks"
    )
    """The only thing that the agent ever does to a mirror."""

    @model_validator(mode="after")
    def _check_login(self) -> Self:
        if (self.username is None) != (self.password is None):
            missing = "password" if self.password is None else "username"
            raise ProblemsError(
                [
                    Problem(
                        (missing,),
                        "is missing; username and password go together",
                    )
                ]
            )
        return self
