"""A standalone Spark cluster on this machine: a master and workers."""

import json
import os
import subprocess
from contextlib import ExitStack, closing
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.error import URLError
from urllib.request import urlopen

import pyspark

from mirrorwatch_lab.link import LOOPBACK, Ports
from tests.support.watch import wait_until

__all__ = ["SPARK_HOME", "SparkCluster"]

SPARK_HOME = Path(pyspark.__file__).parent
"""PySpark brings all of Spark, its programs too."""

_DEPLOY = "org.apache.spark.deploy"

NOWHERE = "/no/python/here"


class SparkCluster:
    """Processes of Spark's own, started by its own `spark-class`.

    Parameters
    ----------
    folder
        Where it keeps logs and what executors are sent.
    workers
        How many; each has one core.
    """

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self._folder = folder
        self._workers = workers
        self._open = ExitStack()

    def __enter__(self) -> Self:
        ports = self._open.enter_context(closing(Ports()))
        port, self._page = ports.take(), ports.take()
        self.url = f"spark://{LOOPBACK}:{port}"
        try:
            self._start(
                "master.Master",
                *("--port", str(port), "--webui-port", str(self._page)),
            )
            for number in range(self._workers):
                work = self._folder / f"worker-{number}"
                self._start(
                    "worker.Worker",
                    *("--cores", "1", "--memory", "1g", "--webui-port", "0"),
                    *("--work-dir", str(work), self.url),
                )
            wait_until(
                lambda: self.state().get("aliveworkers") == self._workers,
                what=self.state,
            )
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    @property
    def environment(self) -> dict[str, str]:
        """What a program that submits to it needs: executors find no Python,
        so that a step which starts one fails.
        """
        return {
            **os.environ,
            "SPARK_LOCAL_IP": LOOPBACK,
            "PYSPARK_PYTHON": NOWHERE,
        }

    def state(self) -> dict[str, Any]:
        """Return what the master tells of itself; nothing if it is not up."""
        page = f"http://{LOOPBACK}:{self._page}/json/"
        try:
            with urlopen(page, timeout=10) as answer:
                return dict(json.load(answer))
        except (URLError, OSError):
            return {}

    def _start(self, program: str, *arguments: str) -> None:
        log = self._open.enter_context(
            (self._folder / f"{program}.log").open("a")
        )
        process = subprocess.Popen(
            [
                *(SPARK_HOME / "bin" / "spark-class", f"{_DEPLOY}.{program}"),
                *("--host", LOOPBACK, *arguments),
            ],
            env=self.environment | {"SPARK_HOME": str(SPARK_HOME)},
            stdout=log,
            stderr=log,
        )
        self._open.callback(_end, process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    process.wait(60)
