"""A signal ends the agent within 5 s, whatever hangs around it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from tests.support.http import HTTP, Answer, answering
from tests.support.influx import PORTS, dies_with_parent
from tests.support.run_command import PATIENCE, begins, health, running
from tests.support.watch import wait_until

pytestmark = pytest.mark.slow

WITHIN_SECONDS = 5.0


@contextmanager
def silent_broker() -> Iterator[str]:
    """Take connections, and never say anything."""
    over = Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.05)
        held = []

        def serve() -> None:
            while not over.is_set():
                try:
                    held.append(listening.accept()[0])
                except TimeoutError:
                    continue

        thread = Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{listening.getsockname()[1]}"
        finally:
            over.set()
            thread.join()
            for connection in held:
                connection.close()


@pytest.fixture
def config(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Two sites, a Connect, an InfluxDB and a receiver that all hang."""
    with ExitStack() as stack:
        clusters = {
            alias: {
                "kafka": {
                    "bootstrap.servers": stack.enter_context(silent_broker())
                }
            }
            for alias in ("summit", "ldf")
        }
        web = stack.enter_context(answering(Answer(never=True)))
        yield {
            "interval": "1s",
            "clusters": clusters,
            "flows": [
                {
                    "source": "summit",
                    "target": "ldf",
                    "mirror": {
                        "connect": {"url": web.url},
                        "jmx": {"format": "jolokia", "urls": [web.url]},
                    },
                }
            ],
            "sinks": {
                "influxdb": {"url": web.url, "database": "mirrorwatch"},
                "notify": {
                    "hold": "0s",
                    "receivers": [
                        {"name": "r", "kind": "webhook", "url": web.url}
                    ],
                },
            },
            "web": {"listen": f"127.0.0.1:{PORTS.take()}"},
            "state": {"path": str(tmp_path / "state.db")},
        }


def seconds_to_stop(process: subprocess.Popen[bytes]) -> float:
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0
    return time.monotonic() - began


def test_it_ends_in_time_while_all_it_asks_hang(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    log = tmp_path / "log"
    with (
        log.open("wb") as file,
        running(tmp_path, config, file.fileno()) as process,
    ):
        begins(process, config)
        took = seconds_to_stop(process)
    assert took < WITHIN_SECONDS, log.read_text()
    assert "Traceback" not in log.read_text()


def test_nothing_is_taken_apart_that_threads_still_use(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    """Of the Kafka library: answers of what hung came to a Python that had
    ended, which was a segmentation fault in one of some hundred runs.
    """
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, os, signal\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGSEGV)\n"
    )
    path = f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"
    with (
        (tmp_path / "log").open("wb") as file,
        running(
            tmp_path, config, file.fileno(), {"PYTHONPATH": path}
        ) as process,
    ):
        begins(process, config)
        seconds_to_stop(process)


NO_NAME_SERVICE = """
import socket, threading
really = socket.getaddrinfo
def hang(host, *more, **how):
    if str(host).endswith(".invalid"):
        print("asked for", host, flush=True, file=open(LOG, "a"))
        threading.Event().wait()
    return really(host, *more, **how)
socket.getaddrinfo = hang
"""
"""Python runs it at its start, as `sitecustomize`."""


def test_it_ends_in_time_while_the_name_service_hangs(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    config["sinks"]["influxdb"]["url"] = "http://influxdb.invalid:8086"
    config["sinks"]["notify"]["receivers"][0]["url"] = "http://r.invalid"
    log, asked = tmp_path / "log", tmp_path / "asked"
    patch = NO_NAME_SERVICE.replace("LOG", repr(str(asked)))
    (tmp_path / "sitecustomize.py").write_text(patch)
    path = f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"
    with (
        log.open("wb") as file,
        running(
            tmp_path, config, file.fileno(), {"PYTHONPATH": path}
        ) as process,
    ):
        begins(process, config)
        wait_until(asked.exists)
        took = seconds_to_stop(process)
    assert took < WITHIN_SECONDS, log.read_text()
    assert "Traceback" not in log.read_text()


def test_a_stderr_that_nobody_reads_stops_nothing(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    for size in (4096, 1):
        with suppress(BlockingIOError):
            while os.write(writable, b"x" * size):
                pass
    os.set_blocking(writable, True)
    try:
        with running(tmp_path, config, writable) as process:
            begins(process, config)
            # It still ticks long after its first lines were stuck.
            ages: list[float] = []

            def ticked_again() -> bool:
                ages.append(health(config).get("age_seconds") or 0)
                return sum(b < a for a, b in pairwise(ages)) > 3

            wait_until(ticked_again)
            assert seconds_to_stop(process) < WITHIN_SECONDS
    finally:
        os.close(readable)
        os.close(writable)


HANGS = {
    "a thread": "threading.Thread(target=threading.Event().wait).start()",
    "the main thread": "threading.Event().wait()",
    "the interpreter": "re.match('(a+)+$', 'a' * 64 + 'b')",
}


@pytest.mark.parametrize("hang", HANGS.values(), ids=HANGS)
def test_the_end_by_force_waits_for_nobody(hang: str) -> None:
    script = (
        "import re, threading\n"
        "from mirrorwatch.daemon import end_by_force\n"
        f"print('begun', flush=True)\nend_by_force(0.2)\n{hang}\n"
    )
    with subprocess.Popen(
        [*dies_with_parent(), sys.executable, "-c", script],
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        code = process.wait(PATIENCE)
    assert code in {0, -signal.SIGALRM}


def test_it_starts_and_says_so_where_its_state_file_is_damaged(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    path = Path(config["state"]["path"])
    path.write_bytes(os.urandom(5000))
    log = tmp_path / "log"
    with (
        log.open("wb") as file,
        running(tmp_path, config, file.fileno()) as process,
    ):
        begins(process, config)
        (problem,) = health(config)["problems"]
        assert "file is not a database. It was set aside as" in problem
        url = f"http://{config['web']['listen']}"
        metrics = HTTP.get(f"{url}/metrics", timeout=PATIENCE).text
        assert "\nmirrorwatch_state_up 0.0" in metrics
        status = HTTP.get(f"{url}/api/status", timeout=PATIENCE).json()
        assert status["agent"]["problems"] == [problem]
        path.unlink()
        wait_until(lambda: len(health(config)["problems"]) == 2)
        assert seconds_to_stop(process) < WITHIN_SECONDS
    lines = [
        json.loads(x) for x in log.read_text().splitlines() if x[:1] == "{"
    ]
    assert [problem] in [x.get("problems") for x in lines]
