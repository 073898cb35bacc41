"""A real site: InfluxDB 1.8, Kapacitor and Chronograf on loopback ports.

Kapacitor and Chronograf are in no package registry, so a test that needs one
skips where it is not on PATH.
"""

import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from mirrorwatch_lab.link import Ports
from tests.support.http import HTTP
from tests.support.influx import (
    ADMIN,
    PASSWORD,
    START_SECONDS,
    Influx1,
    dies_with_parent,
)

__all__ = ["Chronograf", "Kapacitor", "Server"]

PORTS = Ports()


class Server:
    """A program with an HTTP API that can be killed and started again."""

    program: str
    ready: str

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.port = PORTS.take()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def command(self) -> list[str]:
        raise NotImplementedError

    def find(self) -> str:
        """Return the program, or skip the test."""
        program = shutil.which(self.program)
        if program is None:
            pytest.skip(f"{self.program} is not on PATH")
        return program

    def start(self) -> None:
        program = self.find()
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*dies_with_parent(), program, *self.command()],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
            )
        self.wait_for(self._is_ready, "it to start")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def ask(self, method: str, path: str, **how: Any) -> Any:
        answer = HTTP.request(method, f"{self.url}{path}", timeout=120, **how)
        assert answer.is_success, f"{answer.status_code} {answer.text[:500]}"
        return answer.json() if answer.content else None

    def wait_for(self, condition: Any, what: str) -> Any:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if found := condition():
                return found
            time.sleep(0.1)  # a poll with a deadline
        log = (self.folder / "log").read_text(errors="replace")[-3000:]
        pytest.fail(f"{self.program}: waited for {what}:\n{log}")

    def _is_ready(self) -> bool:
        try:
            return HTTP.get(f"{self.url}{self.ready}", timeout=10).is_success
        except httpx.TransportError:
            return False


class Kapacitor(Server):
    """Kapacitor, alone or with an InfluxDB.

    Parameters
    ----------
    folder
        A folder of its own.
    influx
        What it reads and writes, if anything.
    subscribed
        Whether that gives it all its points; else they are pushed.
    """

    program = "kapacitord"
    ready = "/kapacitor/v1/ping"

    def __init__(
        self, folder: Path, influx: Influx1 | None, *, subscribed: bool = False
    ) -> None:
        super().__init__(folder)
        self._influx = influx
        self._subscribed = subscribed

    def command(self) -> list[str]:
        influx = self._influx
        url = "http://127.0.0.1:1" if influx is None else influx.url
        (self.folder / "kapacitor.conf").write_text(
            f"""
            hostname = "127.0.0.1"
            data_dir = "{self.folder}"
            [http]
              bind-address = "127.0.0.1:{self.port}"
              log-enabled = false
            [replay]
              dir = "{self.folder}/replay"
            [storage]
              boltdb = "{self.folder}/kapacitor.db"
            [task]
              dir = "{self.folder}/tasks"
            [load]
              dir = "{self.folder}/load"
            [reporting]
              enabled = false
            [stats]
              enabled = false
            [[influxdb]]
              enabled = {str(influx is not None).lower()}
              default = true
              name = "default"
              urls = ["{url}"]
              username = "{ADMIN}"
              password = "{PASSWORD}"
              disable-subscriptions = {str(not self._subscribed).lower()}
            """
        )
        return ["-config", f"{self.folder}/kapacitor.conf"]

    def write(
        self, database: str, policy: str, *lines: str, precision: str = "s"
    ) -> None:
        """Give it points as InfluxDB would."""
        self.ask(
            "POST",
            "/kapacitor/v1/write",
            params={"db": database, "rp": policy, "precision": precision},
            content="\n".join(lines),
        )

    def events(self, topic: str) -> dict[str, str]:
        """Return the level of each event of an alert topic."""
        answer = HTTP.get(
            f"{self.url}/kapacitor/v1/alerts/topics/{topic}/events",
            timeout=120,
        )
        # A topic of which nobody has heard yet: 404, or 500 and an error.
        found = answer.json().get("events") or ()
        return {e["id"]: e["state"]["level"] for e in found}


class Chronograf(Server):
    """Chronograf with one InfluxDB source, and no pages."""

    program = "chronograf"
    ready = "/chronograf/v1/sources"

    def __init__(self, folder: Path, influx: Influx1) -> None:
        super().__init__(folder)
        self._influx = influx

    def command(self) -> list[str]:
        return [
            "--host=127.0.0.1",
            f"--port={self.port}",
            f"--bolt-path={self.folder}/chronograf.db",
            f"--canned-path={self.folder}",
            f"--resources-path={self.folder}",
            f"--protoboards-path={self.folder}",
            "--reporting-disabled",
        ]

    def add_source(self, name: str) -> str:
        """Add the InfluxDB as a source and return its id."""
        found = self.ask(
            "POST",
            "/chronograf/v1/sources",
            json={
                "name": name,
                "url": self._influx.url,
                "username": ADMIN,
                "password": PASSWORD,
            },
        )
        return str(found["id"])
