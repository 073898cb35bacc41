"""An agent in a process of its own, started as an operator would."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from .footprint import Footprint
from .influx import dies_with_parent

__all__ = ["AgentProcess"]

SCRIPT = Path(sys.executable).with_name("mirrorwatch")
"""The console script of the environment that runs the tests."""

START_SECONDS = 240.0
STOP_SECONDS = 120.0
"""A container runtime would kill after 10; a busy machine gets more."""


class AgentProcess(AbstractContextManager["AgentProcess"]):
    """`mirrorwatch run` with a configuration file and a log file.

    Parameters
    ----------
    folder
        Folder for both, and for the state unless the configuration has one.
    config
        What the file says.
    environment
        Variables that the file refers to; secrets, that is.
    state
        The state file, by default one in the folder: an agent that takes over
        from one that was killed has its own folder, and the same state.
    log_level
        Least level that it logs: at debug, each tick.
    """

    def __init__(
        self,
        folder: Path,
        config: Mapping[str, Any],
        environment: Mapping[str, str] | None = None,
        *,
        state: Path | None = None,
        log_level: str = "info",
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.state = state or folder / "state.db"
        self.log_file = folder / "agent.log"
        self._config = folder / "config.yaml"
        own = {"web": {"listen": "127.0.0.1:0"}}
        kept = {"state": {"path": str(self.state)}}
        self._config.write_text(yaml.safe_dump(dict(config) | own | kept))
        self._environment = os.environ | dict(environment or {})
        self._command = [
            *("run", "--config", str(self._config)),
            *("--log-level", log_level),
        ]

    def __enter__(self) -> Self:
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [*dies_with_parent(), SCRIPT, *self._command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
            )
        try:
            self.url = self._wait_for_url()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def status(self) -> int | None:
        """Its exit status, `None` while it runs."""
        return self._process.poll()

    @property
    def footprint(self) -> Footprint:
        return Footprint.of(self.pid)

    @property
    def events(self) -> list[dict[str, Any]]:
        """Everything that it has logged."""
        text = self.log_file.read_text()
        return [json.loads(x) for x in text.splitlines() if x[:1] == "{"]

    def stop(self) -> int:
        """Stop it in good order; return its exit status."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(STOP_SECONDS)

    def kill(self) -> None:
        """Take it away without warning, if it still runs."""
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """Stop its clock: it neither answers nor hangs up."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def _wait_for_url(self) -> str:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            for event in self.events:
                if event["event"] == "Serving":
                    return str(event["url"])
            time.sleep(0.05)  # between looks; the deadline decides
        raise AssertionError(
            f"The agent did not start: {self.log_file.read_text()}"
        )
