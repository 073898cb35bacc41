"""Everything that the agent's commands say or write."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import httpx

from tests.support.plain_http import HTTP

__all__ = ["everything_said"]

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
