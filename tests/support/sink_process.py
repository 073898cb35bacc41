"""The InfluxDB sink of an agent in a process of its own, to be killed.

Started by `SinkProcess`, it reads commands, one a line: ``to N`` publishes
ticks until N of them are; ``each to N`` says so of each; ``down to P`` waits
until P points wait. It answers each with what it has counted.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
import structlog

from mirrorwatch.config import InfluxDBConfig
from mirrorwatch.exceptions import SinkError, SinkRejectedError
from mirrorwatch.ports import Report, Worker
from mirrorwatch.state import Database
from mirrorwatch.state.queue import Batch
from mirrorwatch.wiring import influxdb as wiring
from tests.support.http import HTTP

from .builders import NOON, a_canary, a_partition, a_report, an_arrival
from .influx import (
    InfluxServer,
    dies_with_parent,
    influx_config,
    influx_environment,
)

__all__ = [
    "FakeOutlet",
    "HangingOutlet",
    "SinkProcess",
    "everything_said",
    "report_of",
    "stepping",
]


class FakeOutlet:
    """Takes what it is sent, unless it is told to fail."""

    name = "fake"

    def __init__(self, *, points: int = 1) -> None:
        self.points = points
        self.error: Exception | None = None
        self.bad: set[str] = set()

        self.strict = False
        """Whether it takes nothing of a body with a bad point, as InfluxDB
        2.x does with lines that it cannot parse. Else it takes the rest and
        says how many it dropped."""

        self.sent: list[str] = []
        self.requests: list[int] = []

        self.timeouts: list[timedelta] = []
        self.closed = 0

    def encode(self, report: Report) -> Batch:
        """Name each point after the second of its tick."""
        second = f"{report.at:%M%S}"
        more = [f"{second}.{n}" for n in range(1, self.points)]
        return Batch("\n".join([second, *more]).encode(), self.points)

    def send(self, batch: Batch, timeout: timedelta) -> None:
        self.timeouts.append(timeout)
        self.requests.append(batch.points)
        if self.error is not None:
            raise self.error
        points = batch.body.decode().split("\n")
        assert len(points) == batch.points
        good = [point for point in points if point not in self.bad]
        dropped = len(points) - len(good)
        if not (dropped and self.strict):
            self.sent += good
        if dropped:
            raise SinkRejectedError(
                "bad point",
                sink=self.name,
                points=None if self.strict else dropped,
            )

    def close(self) -> None:
        self.closed += 1


class HangingOutlet(FakeOutlet):
    """Does not answer until it is released; then says that it is away."""

    def __init__(self) -> None:
        super().__init__()
        self.entered = Event()
        self.release = Event()

    def send(self, batch: Batch, timeout: timedelta) -> None:
        self.entered.set()
        self.release.wait()
        raise SinkError("no answer in time", sink=self.name)


@contextmanager
def stepping(worker: Worker) -> Iterator[Thread]:
    """Step a worker in a thread, as the daemon does."""
    stop = Event()

    def loop() -> None:
        while not stop.is_set():
            worker.step()

    thread = Thread(target=loop, daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        stop.set()
        thread.join(timeout=120)


ROOT = Path(__file__).parents[2]
PARTITIONS = 10
CONFIG = "MIRRORWATCH_TESTS_SINK"
SPOOL = "MIRRORWATCH_TESTS_SPOOL"
"""Variable that holds the block: its secret must not be an argument."""

SECOND = timedelta(seconds=1)
DRAIN_SECONDS = 240.0
POLL_SECONDS = 0.005


def report_of(tick: int) -> Report:
    """Return the report of a tick: one a second, a probe per partition."""
    at = NOON + tick * SECOND
    arrivals = [
        an_arrival(
            at - timedelta(milliseconds=n + 1),
            timedelta(milliseconds=12),
            partition=n,
            sequence=tick,
        )
        for n in range(PARTITIONS)
    ]
    partitions = [a_partition(n) for n in range(PARTITIONS)]
    seen = a_canary(at, partitions=partitions, arrivals=arrivals)
    return a_report(at, observations=[seen])


class SinkProcess(AbstractContextManager["SinkProcess"]):
    """A sink with its state file, in a process of its own.

    Parameters
    ----------
    state
        The state file.
    server
        Where it writes to.
    begin
        The first tick to publish.
    spool_bytes
        How much it may spool.
    """

    def __init__(
        self,
        state: Path,
        server: InfluxServer,
        *,
        begin: int = 0,
        spool_bytes: int = 2**28,
    ) -> None:
        (secret,) = influx_environment(server).values()
        block: dict[str, Any] = {
            key: secret if value.startswith("${") else value
            for key, value in influx_config(server).items()
        }
        self._environment = os.environ | {
            CONFIG: json.dumps(block),
            SPOOL: str(spool_bytes),
        }
        self._command = [sys.executable, "-m", __name__, str(state)]
        self._command.append(str(begin))

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [*dies_with_parent(), *self._command],
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def tell(self, command: str) -> dict[str, float]:
        """Give a command; return what it has counted when it is done."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("{"):
                counted: dict[str, float] = json.loads(line)
                return counted
        raise AssertionError(f"{command}: it died")

    def kill(self) -> None:
        """Take it away without warning."""
        self._process.kill()
        self._process.communicate()

    def kill_in_the_midst(
        self, after: timedelta, *, begun: bool
    ) -> int | None:
        """Kill it while it publishes.

        Parameters
        ----------
        after
            When: by chance, as nobody knows when one is killed.
        begun
            Whether to count from its first tick, and not from its start.

        Returns
        -------
        int or None
            The last tick that it had published.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("each to 1000000\n")
        self._process.stdin.flush()
        first = ""
        while begun and not first.strip().isdigit():
            first = self._process.stdout.readline()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(after.total_seconds())
        assert self._process.poll() is None, "it died by itself"
        self._process.kill()
        said, _ = self._process.communicate()
        # Of a line that was cut short nobody was told.
        lines = (first + said).split("\n")[:-1]
        ticks = [int(line) for line in lines if line.isdigit()]
        return ticks[-1] if ticks else None


def main(state: str, begin: str) -> None:
    """Do as told, until the end of the input."""
    influxdb = InfluxDBConfig.model_validate_json(os.environ[CONFIG])
    wiring.SPOOL_BYTES = int(os.environ[SPOOL])
    sink = wiring.make_influxdb_sink(
        influxdb, Database(Path(state)), structlog.get_logger()
    )
    tick, pause = int(begin), Event()
    with stepping(sink):
        for line in sys.stdin:
            *_, number = line.split()
            began, slowest = time.monotonic(), 0.0
            if line.startswith(("to", "each")):
                for at in range(tick, int(number)):
                    before = time.monotonic()
                    sink.publish(report_of(at))
                    slowest = max(slowest, time.monotonic() - before)
                    if line.startswith("each"):
                        print(at, flush=True)
                tick = int(number)
            deadline = began + DRAIN_SECONDS
            while line.startswith("down") and (
                sink.spooled_points > int(number) or sink.up is None
            ):
                assert time.monotonic() < deadline, "it never drained"
                pause.wait(POLL_SECONDS)
            counted = {
                "seconds": time.monotonic() - began,
                "slowest": slowest,
                "waiting": sink.spooled_points,
                "lost": sink.lost_points,
                "up": bool(sink.up),
            }
            print(json.dumps(counted), flush=True)
    sink.close()


if __name__ == "__main__":
    main(*sys.argv[1:])


T = TypeVar("T")

_PATHS = ("/", "/api/status", "/api/history", "/metrics", "/healthz")

_SECONDS = 240
"""Longest wait for the agent to begin, or to end, on a slow machine."""

_COMMAND = (sys.executable, "-m", "mirrorwatch")


def everything_said(
    config: Path, state: Path, environment: Mapping[str, str], until: str
) -> dict[str, bytes]:
    """Run the agent and its commands; return what each one said.

    Parameters
    ----------
    config
        Its configuration file; the page shall have a free port.
    state
        Its state file.
    environment
        More environment variables.
    until
        What ``/api/status`` shall say before all is collected.
    """
    said = {}
    log = config.with_suffix(".log")
    with (
        log.open("wb") as stderr,
        subprocess.Popen(
            [*_COMMAND, "run", "--config", config, "--log-level", "debug"],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=stderr,
        ) as process,
    ):
        try:
            url = _wait(lambda: _served_at(log), log)
            status = f"{url}/api/status"
            _wait(lambda: until in _get(status).text, log)
            for path in _PATHS:
                said[path] = _get(url + path).content
            cmdline = Path(f"/proc/{process.pid}/cmdline")
            said["process list"] = cmdline.read_bytes()
            said["state in use"] = _bytes_of(state)
            for name, arguments in {
                "check-config": ["--config", str(config)],
                "once": ["--config", str(config), "--for", "4s"],
                "once --json": ["--config", str(config), "--for", "4s"],
                "status": ["--url", str(url)],
                "status --json": ["--url", str(url)],
            }.items():
                said[name] = _run(name, arguments, environment)
        finally:
            process.terminate()
            said["stdout"], _ = process.communicate(timeout=_SECONDS)
    said["log"] = log.read_bytes()
    said["state"] = _bytes_of(state)
    return said


def _get(url: str) -> httpx.Response:
    return HTTP.get(url, timeout=_SECONDS)


def _run(
    name: str, arguments: list[str], environment: Mapping[str, str]
) -> bytes:
    return subprocess.run(
        [*_COMMAND, *name.split(), *arguments],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=_SECONDS,
        check=False,  # the exit status says how the flow is
    ).stdout


def _served_at(log: Path) -> str | None:
    for line in log.read_text().splitlines():
        if line.startswith("{"):
            url = json.loads(line).get("url")
            if url is not None:
                return str(url)
    return None


def _bytes_of(state: Path) -> bytes:
    files = sorted(state.parent.glob(f"{state.name}*"))
    return b"".join(path.read_bytes() for path in files)


def _wait(look: Callable[[], T | None], log: Path) -> T:
    end = time.monotonic() + _SECONDS
    while not (found := look()):
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)  # between looks; the deadline decides
    return found
