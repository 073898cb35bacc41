"""The blocks `web`, `sinks`, `state` and `audit`."""

import os
from pathlib import Path

from pydantic import Field, SecretStr

from .base import Model

__all__ = ["InfluxDBConfig", "SinksConfig", "StateConfig", "WebConfig"]


class WebConfig(Model):
    """The status page, the API and `/metrics`."""

    listen: str = Field("127.0.0.1:8080", title="Address to listen on")
    """`HOST:PORT`. Loopback unless configured, because the page has no
    login. Port 0 takes a free one."""

    @property
    def host(self) -> str:
        """Host to bind."""
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """Port to bind; 0 for a free one."""
        return int(self.listen.rpartition(":")[2])


class InfluxDBConfig(Model):
    """An InfluxDB server: 2.x by token, or 1.8 and later by database."""

    url: str = Field(title="Address")
    """Address of the server."""

    org: str | None = Field(None, title="Organization (2.x)")
    """Name or id."""

    bucket: str | None = Field(None, title="Bucket (2.x)")
    """Bucket that points are written to."""

    token: SecretStr | None = Field(None, title="Token (2.x)")
    """Token that may write to the bucket."""

    database: str | None = Field(None, title="Database (1.8 and later)")
    """Database that points are written to; it must exist."""

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


class SinksConfig(Model):
    """Where reports go, beside the page, `/metrics` and the log."""

    influxdb: InfluxDBConfig | None = Field(None, title="InfluxDB")
    """Points of every report, spooled while the server is away."""


def _default_state() -> Path:
    base = os.environ.get("XDG_STATE_HOME")
    home = Path(base) if base else Path.home() / ".local" / "state"
    return home / "mirrorwatch" / "state.db"


class StateConfig(Model):
    """What must outlive the process."""

    path: Path = Field(
        default_factory=_default_state,
        title="State file",
        json_schema_extra={
            "default_text": "`$XDG_STATE_HOME/mirrorwatch/state.db`"
        },
    )
    """SQLite file, made if it is missing. Default: per user, because that
    works without root; a container mounts a volume and names it here.
    `XDG_STATE_HOME` is `~/.local/state` where it is not set."""
