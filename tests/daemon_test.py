"""Threads, the scheduler, and what survives a crash of each."""

import os
import signal
import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
import structlog
from structlog.testing import capture_logs

from mirrorwatch import daemon
from mirrorwatch.clock import Clock
from mirrorwatch.daemon import Agent, Daemon, wait_for_signal
from mirrorwatch.exceptions import MirrorwatchError, StateError
from mirrorwatch.pipeline import Pipeline
from mirrorwatch.ports import Worker
from mirrorwatch.state import Database
from mirrorwatch.state.documents import VerdictStore
from mirrorwatch.web.app import LatestReport
from tests.support.watch import wait_until


class Toiler:
    """A worker that does what it is told, and remembers."""

    def __init__(self, *troubles: Exception) -> None:
        self.name = "toiler"
        self.interval = timedelta(milliseconds=5)
        self.troubles = list(troubles)
        self.steps = 0
        self.closed = False

    def step(self) -> None:
        self.steps += 1
        if self.troubles:
            raise self.troubles.pop(0)

    def close(self) -> None:
        self.closed = True


def agent(latest: LatestReport, *workers: Worker) -> Agent:
    database = Database(None)
    return Agent(
        pipeline=Pipeline(
            flows=[],
            limits={},
            sources=[],
            sinks=[latest],
            verdicts=VerdictStore(database),
            clock=Clock(),
            logger=structlog.get_logger(),
        ),
        workers=workers,
        senders=(),
        latest=latest,
        database=database,
        server=None,
        interval=timedelta(milliseconds=50),
    )


def run(
    latest: LatestReport, worker: Toiler, until: Callable[[], bool]
) -> None:
    made = agent(latest, worker)
    with Daemon(made, logger=structlog.get_logger()):
        wait_until(until)


def test_ticks_and_workers_go_on_until_the_end() -> None:
    latest, worker = LatestReport(), Toiler()
    run(latest, worker, lambda: worker.steps > 3 and latest.get() is not None)
    assert worker.closed
    assert not [t for t in threading.enumerate() if t.name == "toiler"]


class Sleeper(Toiler):
    """A worker that rests for an hour unless it is woken."""

    def __init__(self) -> None:
        super().__init__()
        self.interval = timedelta(hours=1)
        self.news = threading.Event()


def test_a_worker_is_woken_by_news_and_by_the_end() -> None:
    sleeper = Sleeper()
    made = agent(LatestReport(), sleeper)
    with Daemon(made, logger=structlog.get_logger()):
        wait_until(lambda: sleeper.steps == 1)
        sleeper.news.set()
        wait_until(lambda: sleeper.steps == 2)
    assert sleeper.closed


def test_news_ends_the_rest_after_a_failure() -> None:
    sleeper = Sleeper()
    sleeper.troubles = [StateError("full")]
    made = agent(LatestReport(), sleeper)
    with Daemon(made, logger=structlog.get_logger()):
        wait_until(lambda: sleeper.steps == 1)
        sleeper.news.set()
        wait_until(lambda: sleeper.steps == 2)


@pytest.mark.slow
def test_a_worker_that_crashes_or_fails_is_run_again() -> None:
    latest, worker = (
        LatestReport(),
        Toiler(KeyError("a bug"), StateError("full")),
    )
    with capture_logs() as log:
        run(latest, worker, lambda: worker.steps > 3)
    told = [e["event"] for e in log if e.get("work") == "toiler"]
    assert told == ["Work crashed", "Work failed"]
    assert worker.closed


@pytest.mark.slow
def test_the_same_failure_is_told_once() -> None:
    latest, worker = (
        LatestReport(),
        Toiler(MirrorwatchError("x"), MirrorwatchError("x")),
    )
    with capture_logs() as log:
        run(latest, worker, lambda: worker.steps > 2)
    assert [e["event"] for e in log].count("Work failed") == 1


class Hanging(Toiler):
    """A worker that hangs until it is let go, and then fails."""

    def __init__(self) -> None:
        super().__init__(StateError("closed"))
        self.begun, self.let_go = threading.Event(), threading.Event()

    def step(self) -> None:
        self.begun.set()
        self.let_go.wait(60)
        super().step()


def test_a_worker_that_hung_beyond_the_end_tells_no_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(daemon, "STOP_WITHIN", 0.05)
    worker = Hanging()
    with capture_logs() as log:
        run(LatestReport(), worker, worker.begun.is_set)
        worker.let_go.set()
        wait_until(lambda: worker.closed)
    assert [e["event"] for e in log] == ["Starting", "Stopping", "Stopped"]


def test_a_signal_ends_the_waiting() -> None:
    before = signal.getsignal(signal.SIGTERM)
    interrupt = signal.getsignal(signal.SIGINT)
    # To the process, as a container runtime does; one raised in the timer's
    # own thread would not wake this one.
    ask = [os.getpid(), signal.SIGTERM]
    timer = threading.Timer(0.1, os.kill, ask)
    try:
        timer.start()
        began = time.monotonic()
        wait_for_signal(timedelta(seconds=180))
        assert time.monotonic() - began < 120
    finally:
        timer.join()
        signal.signal(signal.SIGTERM, before)
        signal.signal(signal.SIGINT, interrupt)
