"""The blocks `web`, `sinks`, `state` and `audit`."""

import os
import socket
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    ByteSize,
    Field,
    SecretStr,
    model_validator,
)
from pydantic_core import PydanticCustomError

from .base import (
    NEVER_SHOWN,
    ConfigProblem,
    Duration,
    Model,
    ProblemsError,
)
from .types import HttpUrl, ListenAddress

__all__ = [
    "DownsamplingConfig",
    "InfluxDBConfig",
    "NotifyConfig",
    "ReceiverConfig",
    "SinksConfig",
    "SpoolConfig",
    "StateConfig",
    "WebConfig",
    "default_state",
]


class SpoolConfig(Model):
    """Points that wait in the state file while the server is away."""

    limit: ByteSize = Field(
        ByteSize(256 * 1024 * 1024),
        title="Limit",
        ge=64 * 1024,
        json_schema_extra={"default_text": "`256MiB`"},
    )
    """How much may wait, compressed; beyond it the oldest points are dropped
    and counted. Default: ten days of a few topics, or ten hours of 1,200, at
    a tick of 5 s. The state file keeps the size that it once had."""


class DownsamplingConfig(Model):
    """What `mirrorwatch influx setup` makes for the years before.

    A bucket or a retention policy of its own, with the least, the mean and
    the largest value of each field.
    """

    enabled: bool = Field(default=True, title="Enabled")
    """Whether it is made. What was made before stays."""

    every: Duration = Field(
        timedelta(minutes=5), title="Width", ge=timedelta(minutes=1)
    )
    """How much time becomes one point. Default: as wide as the buckets of
    the page's history; at a tick of 5 s it leaves a twentieth."""

    retention: Duration = Field(
        timedelta(days=730), title="Retention", ge=timedelta(hours=1)
    )
    """How long it is kept: two years, so that a season can be compared with
    the one before."""


FORMS = {
    "2.x": ("org", "bucket", "token"),
    "1.x": ("database", "retention_policy", "username", "password"),
}
"""Keys that belong to each generation of InfluxDB."""


class InfluxDBConfig(Model):
    """An InfluxDB server: 2.x by token, or 1.8 and later by database."""

    url: HttpUrl = Field(title="Address")
    """Address of the server."""

    org: str | None = Field(None, title="Organization (2.x)")
    """Name or id."""

    bucket: str | None = Field(None, title="Bucket (2.x)")
    """Bucket that points are written to; it must exist
    (`mirrorwatch influx setup` makes it)."""

    token: SecretStr | None = Field(None, title="Token (2.x)")
    """Token that may write to the bucket."""

    database: str | None = Field(None, title="Database (1.8 and later)")
    """Database that points are written to; it must exist
    (`mirrorwatch influx setup` makes it)."""

    retention_policy: str | None = Field(
        None, title="Retention policy (1.8 and later)"
    )
    """Default: the database's own default policy."""

    username: str | None = Field(None, title="User name (1.8 and later)")
    """User that may write to the database, if it asks for one."""

    password: SecretStr | None = Field(None, title="Password (1.8 and later)")
    """Password of that user."""

    ca: Path | None = Field(None, title="Certificate authority")
    """PEM file that signs the server's certificate, if no public authority
    does."""

    spool: SpoolConfig = Field(default_factory=SpoolConfig, title="Spool")
    """Where points wait while the server is away."""

    retention: Duration | None = Field(
        None, title="Retention", ge=timedelta(hours=1)
    )
    """How long the bucket or the retention policy keeps points: only
    `mirrorwatch influx setup` reads it. Default: what exists stays as it is,
    and what is made keeps 30 days, the longest that anybody looks at single
    ticks."""

    replication: int = Field(1, title="Copies (1.x Enterprise)", ge=1)
    """How many data nodes keep each point of a retention policy that
    `mirrorwatch influx setup` makes. Default: what a single server takes."""

    downsampling: DownsamplingConfig = Field(
        default_factory=DownsamplingConfig, title="Downsampling"
    )
    """What is kept beyond `retention`."""

    @property
    def form(self) -> Literal["1.x", "2.x"]:
        """Which of the two forms was configured."""
        return "2.x" if self.bucket is not None else "1.x"

    @model_validator(mode="after")
    def _check_form(self) -> Self:
        given = {
            form: [key for key in keys if getattr(self, key) is not None]
            for form, keys in FORMS.items()
        }
        if given["1.x"] and given["2.x"]:
            raise ProblemsError(
                [
                    ConfigProblem(
                        (),
                        f"mixes keys of 2.x ({', '.join(given['2.x'])}) and "
                        f"of 1.x ({', '.join(given['1.x'])}); allowed are "
                        "the keys of one",
                    )
                ]
            )
        needed = ["org", "bucket", "token"]
        if given["1.x"]:
            needed = ["database"]
            if self.username is not None or self.password is not None:
                needed += ["username", "password"]
        missing = [key for key in needed if getattr(self, key) is None]
        if missing:
            raise ProblemsError(
                [
                    ConfigProblem(
                        (key,),
                        "is missing; needed are org, bucket and token (2.x), "
                        "or database, and username with password (1.x)",
                    )
                    for key in missing
                ]
            )
        return self


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
            ConfigProblem(
                ("receivers", index, "name"),
                "is the name of another receiver too; names must differ",
            )
            for index, receiver in enumerate(self.receivers)
            if counts[receiver.name] > 1
        ]
        if problems:
            raise ProblemsError(problems)
        return self


EVERYWHERE = {"0.0.0.0", "::"}  # noqa: S104 - told apart, not listened on
"""Hosts that mean every address of the machine, and lead nowhere."""


class WebConfig(Model):
    """The status page, the API and `/metrics`."""

    listen: ListenAddress = Field("127.0.0.1:8080", title="Listening address")
    """`HOST:PORT`. Loopback unless configured, because the page has no
    login. Port 0 takes a free one."""

    url: HttpUrl | None = Field(
        None,
        title="Public address",
        json_schema_extra={"default_text": "made of `listen`"},
    )
    """Under which people reach the page, such as
    `https://mirrorwatch.example.org`, where a proxy or a tunnel leads to it:
    links in alerts and notices begin with it. Default: the listening address,
    with this machine's name where it listens everywhere."""

    @property
    def address(self) -> str:
        """Address of the page in links, without a slash at the end."""
        if self.url is not None:
            return self.url
        name = socket.gethostname() if self.host in EVERYWHERE else self.host
        return f"http://{f'[{name}]' if ':' in name else name}:{self.port}"

    @property
    def host(self) -> str:
        """Host to bind."""
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """Port to bind; 0 for a free one."""
        return int(self.listen.rpartition(":")[2])


class SinksConfig(Model):
    """Where reports go, beside the page, `/metrics` and the log."""

    influxdb: InfluxDBConfig | None = Field(None, title="InfluxDB")
    """Points of every report, spooled while the server is away."""

    notify: NotifyConfig | None = Field(None, title="Notices")
    """Messages to people when a flow breaks, and when it is ok again."""


def default_state() -> Path:
    """Return where the state file is unless configured."""
    base = os.environ.get("XDG_STATE_HOME")
    home = Path(base) if base else Path.home() / ".local" / "state"
    return home / "mirrorwatch" / "state.db"


class StateConfig(Model):
    """What must outlive the process."""

    path: Path = Field(
        default_factory=default_state,
        title="State file",
        json_schema_extra={
            "default_text": "`$XDG_STATE_HOME/mirrorwatch/state.db`"
        },
    )
    """SQLite file, made if it is missing. Default: per user, because that
    works without root; a container mounts a volume and names it here.
    `XDG_STATE_HOME` is `~/.local/state` where it is not set."""
