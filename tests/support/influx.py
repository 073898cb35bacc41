"""Real InfluxDB servers, each on a free loopback port in a folder of its own.

`Influx2` and `Influx1` are started, killed and started again by tests;
`select_all` reads back everything that was written, by InfluxQL, which both
versions understand.
"""

import shutil
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from mirrorwatch.sinks.influxdb import (
    InfluxDbAccess,
    InfluxDbOutlet,
    password_access,
    token_access,
)
from mirrorwatch.state.queue import Batch
from mirrorwatch_lab.link import Ports
from tests.support.http import HTTP

__all__ = [
    "PORTS",
    "SERVERS",
    "Influx1",
    "Influx2",
    "InfluxServer",
    "Rows",
    "Tags",
    "dies_with_parent",
    "influx_config",
    "influx_environment",
    "write",
]


START_SECONDS = 240.0
"""Both are ready in less than a second; the rest is for a busy machine."""

ANSWER_SECONDS = 120.0
"""Longest wait for an answer, for the same reason."""

PORTS = Ports()
"""Nobody else takes one while a server is down that a test has killed."""

ADMIN = "admin"
DATABASE = "mirrorwatch"
POLICY = "for ever"
PASSWORD = "pä:ss wörd, 1"  # noqa: S105
TOKEN = "token-of-the-tests"  # noqa: S105

Tags = tuple[tuple[str, str], ...]
Rows = dict[tuple[str, Tags], dict[int, dict[str, float]]]
"""Fields by time in nanoseconds, by measurement and tags."""


class InfluxServer(ABC):
    """A server that a test can kill and start again on the same data."""

    program: str

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = PORTS.take()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """Return what starts it."""

    @abstractmethod
    def set_up(self) -> None:
        """Make who may write and where to."""

    @abstractmethod
    def access(self, *, secret: str | None = None) -> InfluxDbAccess:
        """Return how to write to it, or how not to, with another secret."""

    @abstractmethod
    def query(self, text: str) -> httpx.Response:
        """Ask it, in InfluxQL."""

    def start(self) -> None:
        program = shutil.which(self.program)
        if program is None:
            pytest.skip(
                f"{self.program} is not on PATH: `make servers` builds it (it "
                "takes Go, and Rust for influxd2)"
            )
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*dies_with_parent(), program, *self.command()],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
            )
        self._wait_until_ready()

    def kill(self) -> None:
        """Take it away without warning."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def freeze(self) -> None:
        """Stop its clock: it takes connections, and answers nothing."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def select_all(self) -> Rows:
        """Return everything that was written."""
        response = self.query("SELECT * FROM /.*/ GROUP BY *")
        response.raise_for_status()
        rows: Rows = {}
        for series in response.json()["results"][0].get("series", ()):
            tags = series.get("tags", {}).items()
            present = tuple(sorted((k, v) for k, v in tags if v))
            times = rows.setdefault((series["name"], present), {})
            for at, *values in series["values"]:
                named = zip(series["columns"][1:], values, strict=True)
                times[at] = {k: v for k, v in named if v is not None}
        return rows

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                break
            try:
                if HTTP.get(f"{self.url}/ping", timeout=10).is_success:
                    return
            except httpx.TransportError:
                time.sleep(0.05)  # a poll with a deadline
        log = (self.folder / "log").read_text(errors="replace")[-2000:]
        self.kill()
        pytest.fail(f"{self.program} did not start:\n{log}")


class Influx2(InfluxServer):
    """InfluxDB 2.x: organisation, bucket, token."""

    program = "influxd2"

    def command(self) -> list[str]:
        return [
            f"--bolt-path={self.folder}/i.bolt",
            f"--engine-path={self.folder}/engine",
            f"--sqlite-path={self.folder}/i.sqlite",
            f"--http-bind-address=127.0.0.1:{self.port}",
            "--reporting-disabled",
        ]

    def set_up(self) -> None:
        HTTP.post(
            f"{self.url}/api/v2/setup",
            json={
                "username": ADMIN,
                "password": PASSWORD,
                "org": "efd",
                "bucket": DATABASE,
                "token": TOKEN,
            },
            timeout=ANSWER_SECONDS,
        ).raise_for_status()

    def access(self, *, secret: str | None = None) -> InfluxDbAccess:
        return token_access(
            url=self.url, org="efd", bucket=DATABASE, token=secret or TOKEN
        )

    def query(self, text: str) -> httpx.Response:
        return HTTP.get(
            f"{self.url}/query",
            params={"db": DATABASE, "epoch": "ns", "q": text},
            headers={"Authorization": f"Token {TOKEN}"},
            timeout=ANSWER_SECONDS,
        )


class Influx1(InfluxServer):
    """InfluxDB 1.8: database, retention policy, user, password."""

    program = "influxd18"

    def command(self) -> list[str]:
        (self.folder / "influxdb.conf").write_text(
            f"""
            reporting-disabled = true
            bind-address = "127.0.0.1:{PORTS.take()}"
            [meta]
              dir = "{self.folder}/meta"
            [data]
              dir = "{self.folder}/data"
              wal-dir = "{self.folder}/wal"
            [monitor]
              store-enabled = false
            [http]
              bind-address = "127.0.0.1:{self.port}"
              auth-enabled = true
              log-enabled = false
            [continuous_queries]
              enabled = false
            """
        )
        return ["run", "-config", f"{self.folder}/influxdb.conf"]

    def set_up(self) -> None:
        user = f"CREATE USER {ADMIN} WITH PASSWORD '{PASSWORD}'"
        for statement in (
            f"{user} WITH ALL PRIVILEGES",
            f'CREATE DATABASE {DATABASE} WITH DURATION INF NAME "{POLICY}"',
        ):
            self.query(statement).raise_for_status()

    def access(self, *, secret: str | None = None) -> InfluxDbAccess:
        return password_access(
            url=self.url,
            database=DATABASE,
            retention_policy=POLICY,
            username=ADMIN,
            password=secret or PASSWORD,
        )

    def query(self, text: str) -> httpx.Response:
        return HTTP.post(
            f"{self.url}/query",
            params={"db": DATABASE, "epoch": "ns"},
            data={"q": text},
            auth=(ADMIN, PASSWORD),
            timeout=ANSWER_SECONDS,
        )


SERVERS = (Influx1, Influx2)


def write(access: InfluxDbAccess, batch: Batch, seconds: float = 60) -> None:
    """Send a batch, and let go of the connection."""
    with closing(InfluxDbOutlet(access)) as outlet:
        outlet.send(batch, timedelta(seconds=seconds))


def dies_with_parent() -> list[str]:
    """Even when the tests are killed, nothing may be left running."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []


SECRET = "MIRRORWATCH_TESTS_INFLUXDB"  # noqa: S105
"""Variable that holds the secret: it is written in no file."""


def influx_config(server: InfluxServer) -> dict[str, str]:
    """Return the block ``sinks.influxdb``."""
    secret = f"${{env:{SECRET}}}"
    if isinstance(server, Influx1):
        return {
            "url": server.url,
            "database": DATABASE,
            "retention_policy": POLICY,
            "username": ADMIN,
            "password": secret,
        }
    return {
        "url": server.url,
        "org": "efd",
        "bucket": DATABASE,
        "token": secret,
    }


def influx_environment(server: InfluxServer) -> dict[str, str]:
    """Return the variables that the block refers to."""
    return {SECRET: PASSWORD if isinstance(server, Influx1) else TOKEN}
