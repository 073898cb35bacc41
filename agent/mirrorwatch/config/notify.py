"""The block `sinks.notify`."""

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from .base import Model
from .durations import Duration
from .messages import NEVER_SHOWN
from .problems import Problem, ProblemsError

__all__ = ["NotifyConfig", "ReceiverConfig"]


def _check_url(url: SecretStr) -> SecretStr:
    try:
        parts = urlsplit(url.get_secret_value())
        usable = parts.scheme in {"http", "https"} and parts.hostname
        _ = parts.port  # reading it checks it
    except ValueError:
        usable = None
    if not usable or not _is_clean(url):
        raise PydanticCustomError(
            NEVER_SHOWN,
            "must be an address such as https://hooks.example.org/path; "
            "yours is not shown, as it may hold a secret",
        )
    return url


def _check_header(value: SecretStr) -> SecretStr:
    if not _is_clean(value):
        raise PydanticCustomError(
            NEVER_SHOWN,
            "holds a line break or another character that no header can "
            "carry; yours is not shown",
        )
    return value


def _is_clean(value: SecretStr) -> bool:
    text = value.get_secret_value()
    return text.isascii() and text.isprintable() and text == text.strip()


class ReceiverConfig(Model):
    """Somebody who is told."""

    name: str = Field(title="Name", min_length=1)
    """What the log calls it: the address is never shown."""

    kind: Literal["slack", "webhook"] = Field(title="Form")
    """`slack` for Slack, Mattermost and Rocket.Chat; `webhook` for programs,
    which get the JSON of docs/notifications.md."""

    url: Annotated[SecretStr, AfterValidator(_check_url)] = Field(
        title="Address"
    )
    """Address of the webhook. Whoever knows it can write there, so it is
    handled like a password."""

    authorization: (
        Annotated[SecretStr, AfterValidator(_check_header)] | None
    ) = Field(None, title="Authorization")
    """Value of the header of that name, such as `Bearer ${env:TOKEN}`."""

    ca: Path | None = Field(None, title="Certificate authority")
    """PEM file that signs the server's certificate, if no public authority
    does."""


class NotifyConfig(Model):
    """Who is told of changes, and when.

    For sites whose alerts come from Kapacitor or Prometheus it is not needed.
    """

    receivers: tuple[ReceiverConfig, ...] = Field(
        title="Receivers", min_length=1
    )
    """Each is told everything, and none waits for another."""

    minimum: Literal["warning", "critical"] = Field(
        "warning", title="Least severity"
    )
    """What is less severe is not told. That nobody can tell how a flow is
    always is, because anything may be behind it."""

    hold: Duration = Field(
        timedelta(seconds=30), title="Hold-down", ge=timedelta()
    )
    """How long a flow must be worse than what was told: long enough for what
    mends itself, short beside the time that a person takes to come."""

    recovery: Duration = Field(
        timedelta(minutes=1), title="Recovery", ge=timedelta()
    )
    """How long a flow must be ok before that is told."""

    remind: Duration = Field(
        timedelta(hours=4), title="Reminder", ge=timedelta()
    )
    """How often it is told that a flow is still critical: twice in a shift.
    `0s` for never."""

    most_per_hour: int = Field(20, title="Notices an hour", ge=1)
    """Of all flows together; nobody reads more. What finds no room is told
    when there is some, or summed up if it went by."""

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        counts = Counter(receiver.name for receiver in self.receivers)
        problems = [
            Problem(
                ("receivers", index, "name"),
                "is the name of another receiver too; names must differ",
            )
            for index, receiver in enumerate(self.receivers)
            if counts[receiver.name] > 1
        ]
        if problems:
            raise ProblemsError(problems)
        return self
