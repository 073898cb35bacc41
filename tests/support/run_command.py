"""`mirrorwatch run` in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml

from .http import HTTP
from .influx import dies_with_parent
from .watch import wait_until

__all__ = ["PATIENCE", "begins", "health", "running"]

PATIENCE = 120.0


@contextmanager
def running(
    folder: Path,
    config: dict[str, Any],
    stderr: int,
    env: dict[str, str] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(config))
    process = subprocess.Popen(
        [
            *dies_with_parent(),
            *(sys.executable, "-m", "mirrorwatch", "run", "--config", file),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        env=os.environ | (env or {}),
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def health(config: dict[str, Any]) -> dict[str, Any]:
    url = f"http://{config['web']['listen']}/healthz"
    try:
        answer: dict[str, Any] = HTTP.get(url, timeout=PATIENCE).json()
    except httpx.TransportError:
        return {}
    return answer


def begins(process: subprocess.Popen[bytes], config: dict[str, Any]) -> None:
    """Wait until it ticks."""

    def ticks() -> bool:
        assert process.poll() is None
        return health(config).get("status") == "ok"

    wait_until(ticks)
