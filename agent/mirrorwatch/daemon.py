"""Runs an agent: threads, the scheduler, signals."""

import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from types import TracebackType
from typing import Self

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from structlog.typing import FilteringBoundLogger

from .exceptions import MirrorwatchError
from .pipeline import Pipeline
from .ports import Worker
from .state import Database
from .web.board import LatestReport
from .web.server import Server

__all__ = ["Agent", "Daemon", "wait_for_signal"]

PAUSE = timedelta(seconds=1)
"""How long a worker that failed waits before it tries again."""

STOP_WITHIN = 8.0
"""Seconds that all workers together have to stop: container runtimes kill
after 10."""


@dataclass(frozen=True, kw_only=True)
class Agent:
    """Everything that was wired together for one configuration."""

    pipeline: Pipeline
    workers: tuple[Worker, ...]
    senders: tuple[Worker, ...]
    """Sinks with threads of their own. The pipeline closes them, after the
    last report."""

    board: LatestReport
    """Holds the last report."""

    database: Database
    server: Server | None
    interval: timedelta


class Daemon(AbstractContextManager["Daemon"]):
    """Runs an agent for as long as the context lasts.

    Parameters
    ----------
    agent
        What to run.
    clock
        Gives the time.
    logger
        Where lifecycle and crashes are logged.
    """

    def __init__(
        self,
        agent: Agent,
        *,
        clock: Callable[[], datetime],
        logger: FilteringBoundLogger,
    ) -> None:
        self._agent = agent
        self._clock = clock
        self._logger = logger
        self._stopping = Event()
        self._logged: dict[str, str] = {}
        self._scheduler = BackgroundScheduler(
            timezone=UTC, executors={"default": ThreadPoolExecutor(1)}
        )
        self._threads = [
            Thread(
                target=self._supervise,
                args=(worker,),
                name=worker.name,
                daemon=True,
            )
            for worker in (*agent.workers, *agent.senders)
        ]

    def __enter__(self) -> Self:
        if self._agent.server is not None:
            self._agent.server.start()
        self._logger.info(
            "Starting", interval=self._agent.interval.total_seconds()
        )
        for thread in self._threads:
            thread.start()
        self._scheduler.add_job(
            lambda: self._guard("tick", self._agent.pipeline.tick),
            "interval",
            seconds=self._agent.interval.total_seconds(),
            next_run_time=self._clock(),
            max_instances=1,
            coalesce=True,
            misfire_grace_time=None,
        )
        self._scheduler.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop in the order of the data: workers, a last tick, sinks."""
        self.stop_working()
        self._guard("tick", self._agent.pipeline.tick)
        self._guard("sinks", self._agent.pipeline.close)
        if self._agent.server is not None:
            self._agent.server.stop()
        self._agent.database.close()
        self._logger.info("Stopped")

    def stop_working(self) -> None:
        """Stop ticks and workers; what they know is written down."""
        if self._stopping.is_set():
            return
        self._logger.info("Stopping")
        self._scheduler.shutdown(wait=True)
        self._stopping.set()
        deadline = time.monotonic() + STOP_WITHIN
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _supervise(self, worker: Worker) -> None:
        while not self._stopping.is_set():
            worked = self._guard(worker.name, worker.step)
            pause = worker.interval if worked else max(PAUSE, worker.interval)
            if pause:
                self._stopping.wait(pause.total_seconds())
        if worker not in self._agent.senders:
            self._guard(worker.name, worker.close)

    def _guard(self, name: str, work: Callable[[], object]) -> bool:
        """Do a piece of work; whatever it raises ends here."""
        try:
            work()
        except MirrorwatchError as e:
            # Each failure once, not once a second.
            if self._logged.get(name) != str(e):
                self._logged[name] = str(e)
                context = e.to_logging_context()
                self._logger.warning("Work failed", work=name, **context)
        except Exception:
            # A bug in one piece of work must not end monitoring. What it
            # should have seen goes stale, which verdicts and alerts watch.
            self._logger.exception("Work crashed", work=name)
        else:
            self._logged.pop(name, None)
            return True
        return False


def wait_for_signal(timeout: timedelta | None = None) -> None:
    """Wait until the process is asked to stop, or for a time."""
    asked = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked.set())
    asked.wait(None if timeout is None else timeout.total_seconds())
