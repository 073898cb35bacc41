"""Strangers attack the web server while the agent watches a real mirror.

Ten minutes by default: half-open, silent, slow, pipelined and oversized, and
bursts of thousands of connections. Run it by ``make attack``.
"""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from socket import create_connection, socket
from typing import NamedTuple, Self

import pytest

from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.cli import describe_agent
from tests.support.agent_process import AgentProcess
from tests.support.http import HTTP

SPAWN = multiprocessing.get_context("fork")

SECONDS = float(os.environ.get("MIRRORWATCH_ATTACK_SECONDS", "600"))

BURST = 5000
"""Connections that are opened as fast as can be, and kept."""

SLOWEST = 1.0
"""Seconds within which `/healthz` and `/metrics` must answer."""

INTERVAL = 5.0
"""Of the agent's ticks, in seconds."""

pytestmark = [pytest.mark.lab, pytest.mark.timeout(SECONDS + 1500)]

HEAD = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(LabSettings(intervals="fast", topics={CANARY_TOPIC: 1})) as lab:
        yield lab


class Attack:
    """Threads that misuse an address until they are told to stop.

    In a process of its own: they must not slow down who asks.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self.over = SPAWN.Event()
        self.connections = SPAWN.Value("L", 0)
        self._process = SPAWN.Process(target=self._attack, daemon=True)

    def __enter__(self) -> Self:
        self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._process.join()

    def _attack(self) -> None:
        threads = [
            threading.Thread(target=self._repeat, args=(way,), daemon=True)
            for way in (
                self._silent,
                self._dripping,
                self._unread,
                self._oversized,
                self._nonsense,
                self._burst,
            )
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _repeat(self, way: Callable[[], None]) -> None:
        while not self.over.is_set():
            with suppress(OSError):
                way()

    def _open(self, count: int, said: bytes = b"") -> list[socket]:
        opened = []
        for _ in range(count):
            if self.over.is_set():
                break
            with suppress(OSError):
                one = create_connection(("127.0.0.1", self._port), timeout=5)
                opened.append(one)
                self.connections.value += 1
                one.sendall(said)
        return opened

    def _keep(self, opened: list[socket], seconds: float) -> None:
        self.over.wait(seconds)
        for one in opened:
            one.close()

    def _silent(self) -> None:
        self._keep(self._open(500), 5)

    def _dripping(self) -> None:
        opened = self._open(50, HEAD)
        for _ in range(20):
            for one in opened:
                with suppress(OSError):
                    one.sendall(b"X")
            self.over.wait(0.5)
        self._keep(opened, 0)

    def _unread(self) -> None:
        self._keep(self._open(100, (HEAD + b"\r\n") * 50), 10)

    def _oversized(self) -> None:
        self._keep(self._open(20, HEAD + b"X: " + b"x" * 1_000_000), 1)

    def _nonsense(self) -> None:
        said = Random(1).randbytes(2000)  # noqa: S311 - no secret
        self._keep(self._open(50, said), 0.5)

    def _burst(self) -> None:
        self._keep(self._open(BURST), 20)


def test_the_agent_answers_and_ticks_while_it_is_attacked(
    lab: Lab, tmp_path: Path
) -> None:
    data = describe_agent(lab) | {"interval": f"{INTERVAL:.0f}s"}
    with AgentProcess(tmp_path, data) as agent:
        asked = {
            path: [ask(agent.url + path)] for path in ("/healthz", "/metrics")
        }
        before = agent.footprint
        ages = []
        with Attack(int(agent.url.rpartition(":")[2])) as attack:
            ends = time.monotonic() + SECONDS
            while time.monotonic() < ends:
                for path, answers in asked.items():
                    answers.append(ask(agent.url + path))
                ages.append(age(agent.url))
                attack.over.wait(0.5)  # between two looks
        after = agent.footprint
        lines = len(agent.log_file.read_text().splitlines())
    for path, answers in asked.items():
        print(f"{path}: {describe(answers)}")
    opened = attack.connections.value
    print(f"oldest tick {max(ages):.1f} s, {opened} connections")
    print(f"memory {before.rss_mib:.0f} -> {after.rss_mib:.0f} MiB")
    print(f"{lines} lines of log")
    assert max(max(x) for x in asked.values()).seconds < SLOWEST
    assert max(ages) < 2 * INTERVAL
    assert after.rss_mib < before.rss_mib + 60
    assert lines < 100 + SECONDS


class Answer(NamedTuple):
    """How long it took, and whose fault that was."""

    seconds: float
    own: float
    """Seconds for which this thread was ready and had no processor."""


def ask(url: str) -> Answer:
    """Ask, and return how long the answer takes."""
    began, waited = time.monotonic(), without_processor()
    answer = HTTP.get(url, timeout=30)
    assert answer.status_code in {200, 503}, answer.text
    return Answer(time.monotonic() - began, without_processor() - waited)


def without_processor() -> float:
    """Return for how long this thread has waited for one, in seconds."""
    fields = Path("/proc/thread-self/schedstat").read_text().split()
    return int(fields[1]) / 1e9


def describe(answers: list[Answer]) -> str:
    seconds = sorted(x.seconds for x in answers)
    half, most = (seconds[int(len(seconds) * part)] for part in (0.5, 0.99))
    late = [x for x in answers if x.seconds > SLOWEST]
    return (
        f"{len(answers)} answers, half within {half:.3f} s, 99 % within "
        f"{most:.3f} s, slowest {seconds[-1]:.3f} s, {len(late)} later than "
        f"{SLOWEST} s: {late}; the test itself waited for a processor for at "
        f"most {max(x.own for x in answers):.3f} s"
    )


def age(url: str) -> float:
    """Return the age of the last tick, in seconds."""
    answer = HTTP.get(url + "/healthz", timeout=30).json()
    return float(answer["age_seconds"] or 0.0)
