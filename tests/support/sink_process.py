"""The InfluxDB sink of an agent in a process of its own, to be killed.

Started by `SinkProcess`, it reads commands, one a line: ``to N`` publishes
ticks until N of them are; ``down to P`` waits until P points wait. It answers
each with what it has counted.
"""

import json
import os
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Any, Self

import structlog

from mirrorwatch.config import InfluxDBConfig
from mirrorwatch.ports import Report
from mirrorwatch.state import Database
from mirrorwatch.wiring.sinks import make_influxdb_sink

from .builders import NOON, a_canary, a_partition, a_report, an_arrival
from .influx import InfluxServer, dies_with_parent
from .influx_config import influx_config, influx_environment
from .outlets import stepping

__all__ = ["SinkProcess", "report_of"]

ROOT = Path(__file__).parents[2]
PARTITIONS = 10
CONFIG = "MIRRORWATCH_TESTS_SINK"
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
        block["spool"] = {"limit": spool_bytes}
        self._environment = os.environ | {CONFIG: json.dumps(block)}
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


def main(state: str, begin: str) -> None:
    """Do as told, until the end of the input."""
    sink = make_influxdb_sink(
        InfluxDBConfig.model_validate_json(os.environ[CONFIG]),
        Database(Path(state)),
        structlog.get_logger(),
    )
    tick, pause = int(begin), Event()
    with stepping(sink):
        for line in sys.stdin:
            *_, number = line.split()
            began, slowest = time.monotonic(), 0.0
            if line.startswith("to"):
                for at in range(tick, int(number)):
                    before = time.monotonic()
                    sink.publish(report_of(at))
                    slowest = max(slowest, time.monotonic() - before)
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
