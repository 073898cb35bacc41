"""The blocks `web`, `sinks`, `state` and `audit`."""

import os
from pathlib import Path

from pydantic import Field

from .addresses import ListenAddress
from .base import Model
from .influxdb import InfluxDBConfig

__all__ = ["SinksConfig", "StateConfig", "WebConfig"]


class WebConfig(Model):
    """The status page, the API and `/metrics`."""

    listen: ListenAddress = Field("127.0.0.1:8080", title="Listening address")
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
