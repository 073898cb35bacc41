"""`mirrorwatch demo` as a newcomer uses it."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.http import HTTP
from tests.support.watch import wait_until

pytestmark = pytest.mark.lab

COMMAND = [sys.executable, "-m", "mirrorwatch"]
SECONDS = 600
"""A cold start and the first reports, on a busy machine: what its first
probes took is judged for five minutes."""


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


def others(flow: dict[str, Any]) -> dict[str, str]:
    """Return the checks that are not ok, but that of the nightly audit."""
    verdicts = {v["check"]: v["health"] for v in flow["verdicts"]}
    if verdicts.get("audit") == "off":
        del verdicts["audit"]
    return {c: h for c, h in verdicts.items() if h != "ok"}


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
            answer = HTTP.get(f"{url}/api/status", timeout=SECONDS).json()
            return next(iter(answer["flows"]), {"health": "", "verdicts": []})

        # No group, no checkpoints, none to fail over; all others are on.
        wait_until(
            lambda: (
                others(flow())
                == dict.fromkeys(
                    ("checkpoints", "failover", "readers", "schemas"), "off"
                )
            ),
            within=SECONDS,
            what=flow,
        )

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
        _, stopping, rest = output.read_text().partition("Stopping …")
        assert stopping
        assert "Traceback" not in rest
        assert not Path(logs).parent.exists()
