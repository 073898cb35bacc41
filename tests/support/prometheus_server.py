"""A real Prometheus that scrapes what a test names, every second."""

import shutil
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from mirrorwatch_lab.link import Ports

from .influx import dies_with_parent
from .plain_http import HTTP
from .programs import program

__all__ = ["PrometheusServer"]

PORTS = Ports()
START_SECONDS = 240.0
ANSWER_SECONDS = 120.0


class PrometheusServer:
    """One that is asked, and killed at the end.

    Parameters
    ----------
    folder
        A folder of its own.
    targets
        Addresses of the hosts that it scrapes, as HOST:PORT.
    """

    def __init__(self, folder: Path, targets: Iterable[str]) -> None:
        self._folder = folder
        self._targets = list(targets)
        self.url = f"http://127.0.0.1:{PORTS.take()}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        config = self._folder / "prometheus.yaml"
        scrape = {
            "job_name": "mirrorwatch",
            "static_configs": [{"targets": self._targets}],
        }
        config.write_text(
            yaml.safe_dump(
                {
                    "global": {"scrape_interval": "1s"},
                    "scrape_configs": [scrape],
                }
            )
        )
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *dies_with_parent(),
                    program("prometheus"),
                    f"--config.file={config}",
                    f"--storage.tsdb.path={self._folder / 'data'}",
                    f"--web.listen-address={self.url.removeprefix('http://')}",
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                if HTTP.get(f"{self.url}/-/ready", timeout=10).is_success:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)  # a poll with a deadline
        log_text = (self._folder / "log").read_text(errors="replace")
        self.kill()
        pytest.fail(f"prometheus did not start:\n{log_text[-2000:]}")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        shutil.rmtree(self._folder / "data", ignore_errors=True)

    def ask(self, path: str, **parameters: object) -> Any:
        """Return the data of an answer; a query that is refused fails."""
        answer = HTTP.get(
            f"{self.url}/api/v1/{path}",
            params={key: str(value) for key, value in parameters.items()},
            timeout=ANSWER_SECONDS,
        ).json()
        assert answer["status"] == "success", (parameters, answer)
        return answer["data"]
