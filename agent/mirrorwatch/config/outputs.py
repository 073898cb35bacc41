"""The blocks `web`, `sinks`, `state` and `audit`."""

import os
import socket
from pathlib import Path

from pydantic import Field

from .addresses import HttpUrl, ListenAddress
from .base import Model
from .influxdb import InfluxDBConfig
from .notify import NotifyConfig

__all__ = ["SinksConfig", "StateConfig", "WebConfig", "default_state"]

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
