"""`mirrorwatch demo` as a newcomer uses it."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.watch import wait_until

pytestmark = pytest.mark.lab

COMMAND = [sys.executable, "-m", "mirrorwatch"]
SECONDS = 180
"""A cold start and the first reports, on a busy machine."""


@contextmanager
def demo(output: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with (
        output.open("wb") as file,
        subprocess.Popen(
            [*COMMAND, "demo", "--listen", "127.0.0.1:0"],
            stdout=file,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def test_a_newcomer_sees_every_check_breaks_something_and_stops_it(
    tmp_path: Path,
) -> None:
    output = tmp_path / "output"
    with demo(output) as process:
        wait_until(
            lambda: "The page" in output.read_text(),
            within=SECONDS,
            what=output.read_text,
        )
        (url,) = re.findall(r"The page +(http://\S+)", output.read_text())

        def flow() -> dict[str, Any]:
            answer = httpx.get(f"{url}/api/status", timeout=10).json()
            return next(iter(answer["flows"]), {"health": "", "verdicts": []})

        # By now, or by the first topics of a group, all of them are on.
        wait_until(lambda: flow()["health"] == "ok", within=SECONDS, what=flow)
        verdicts = {v["check"]: v["health"] for v in flow()["verdicts"]}
        assert {c for c, h in verdicts.items() if h != "ok"} == {"checkpoints"}
        assert verdicts["checkpoints"] == "off"

        name = f"demo-{process.pid}"
        fault = ["lab", "faults", "freeze", "mirror", "--for", "1s"]
        done = subprocess.run(
            [*COMMAND, *fault, "--name", name],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.stdout.startswith("Done: freeze mirror"), done.stderr

        (logs,) = re.findall(r"Logs +(/\S+)", output.read_text())
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 0
        assert output.read_text().rstrip().endswith("Stopping …")
        assert not Path(logs).parent.exists()
