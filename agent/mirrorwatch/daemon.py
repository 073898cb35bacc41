"""Runs an agent: threads, ticks, signals."""

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread, Timer
from types import TracebackType
from typing import NoReturn, Self

from structlog.typing import FilteringBoundLogger

from .exceptions import InternalError, MirrorwatchError
from .pipeline import Pipeline
from .ports import Report, WokenWorker, Worker
from .state import Database
from .threads import Latest
from .web.server import Server

__all__ = [
    "Agent",
    "Daemon",
    "end_by_force",
    "signalled",
    "start_again",
    "wait_for_signal",
]

STDERR = 2
"""Descriptors up to this one outlive a new start."""

OPEN_FILES = Path("/dev/fd")
"""Open file descriptors of this process, on Linux and on macOS."""

PAUSE = timedelta(seconds=1)
"""Retry delay of a worker that failed."""

STOP_WITHIN = 2.0
"""Seconds that all workers together have to stop; the sinks have the rest of
`END_WITHIN`."""

END_WITHIN = 4.5
"""Seconds that a process has from the signal to its end, whatever hangs.
Nothing is lost by an end by force: all that counts is in the state file."""


@dataclass(frozen=True, kw_only=True)
class Agent:
    """Everything that was wired together for one configuration."""

    pipeline: Pipeline
    workers: tuple[Worker, ...]
    senders: tuple[Worker, ...]
    """Sinks with threads of their own. The pipeline closes them, after the
    last report."""

    latest: Latest[Report | None]
    """Holds the last report."""

    database: Database
    server: Server | None
    interval: timedelta

    is_busy: Callable[[], bool] = lambda: False
    """Predicate for running work that a restart of the agent would lose: an
    audit."""


class Daemon(AbstractContextManager["Daemon"]):
    """Runs an agent for as long as the context lasts.

    Parameters
    ----------
    agent
        Agent to run.
    logger
        Logger of lifecycle and crashes.
    """

    def __init__(
        self,
        agent: Agent,
        *,
        logger: FilteringBoundLogger,
    ) -> None:
        self._agent = agent
        self._logger = logger
        self._stopping = Event()
        self._stopped = Event()
        self._logged: dict[str, str] = {}
        # Not APScheduler: it waits for a time of the wall clock, so one that
        # is set back by an hour stops all ticks for an hour.
        self._ticks = Thread(target=self._tick, name="ticks", daemon=True)
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
        self._ticks.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop_working()
        if not self._ticks.is_alive():
            self._guard("tick", self._agent.pipeline.tick)
        self._guard("sinks", self._agent.pipeline.close)
        if self._agent.server is not None:
            self._agent.server.stop()
        self._stopped.set()
        self._agent.database.close()
        self._logger.info("Stopped")

    def stop_working(self) -> None:
        """Stop ticks and workers; what they know is written down."""
        if self._stopping.is_set():
            return
        self._logger.info("Stopping")
        self._stopping.set()
        for worker in self._agent.workers:
            if isinstance(worker, WokenWorker):
                worker.news.set()
        deadline = time.monotonic() + STOP_WITHIN
        for thread in (self._ticks, *self._threads):
            thread.join(max(0.0, deadline - time.monotonic()))

    def _tick(self) -> None:
        interval, due = self._agent.interval.total_seconds(), time.monotonic()
        while not self._stopping.wait(max(0.0, due - time.monotonic())):
            self._guard("tick", self._agent.pipeline.tick)
            late = max(0.0, time.monotonic() - due)
            due += interval * (late // interval + 1)

    def _supervise(self, worker: Worker) -> None:
        news = worker.news if isinstance(worker, WokenWorker) else None
        while not self._stopping.is_set():
            worked = self._guard(worker.name, worker.step)
            pause = worker.interval if worked else max(PAUSE, worker.interval)
            if news is not None:
                # News that came before a failure must not repeat it at once.
                if not worked:
                    self._stopping.wait(PAUSE.total_seconds())
                news.wait(pause.total_seconds())
                news.clear()
            elif pause:
                self._stopping.wait(pause.total_seconds())
        if worker not in self._agent.senders:
            self._guard(worker.name, worker.close)

    def _guard(self, name: str, work: Callable[[], object]) -> bool:
        try:
            self._agent.pipeline.isolation.run(name, work)
        except InternalError:
            # What it should have seen goes stale, and its checks are unknown.
            self._logged.pop(name, None)
        except MirrorwatchError as e:
            # Each failure once, not once a second. A worker that hung beyond
            # the end finds everything closed: that is no failure.
            told = self._stopped.is_set() or self._logged.get(name) == str(e)
            if not told:
                self._logged[name] = str(e)
                context = e.to_logging_context()
                self._logger.warning("Work failed", work=name, **context)
        else:
            self._logged.pop(name, None)
            return True
        return False


def wait_for_signal(timeout: timedelta | None = None) -> None:
    """Wait until the process is asked to stop, or for a time."""
    asked = signalled(signal.SIGINT, signal.SIGTERM)
    asked.wait(None if timeout is None else timeout.total_seconds())


def signalled(*numbers: signal.Signals) -> Event:
    """Return an event that any of some signals sets, from now on."""
    asked = Event()
    for number in numbers:
        signal.signal(number, lambda *_: asked.set())
    return asked


def start_again() -> NoReturn:
    """Replace the process by a new one of the same command line and number.

    Notes
    -----
    So everything is read anew, and nothing of before is left: it is the same
    as a restart, without anybody who restarts it. A SIGHUP meanwhile would
    end a process that does not handle it yet: it waits until that does.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    # Pipes of librdkafka would stay open.
    for descriptor in [int(entry.name) for entry in OPEN_FILES.iterdir()]:
        if descriptor > STDERR:
            with suppress(OSError):  # it was of the listing itself
                os.set_inheritable(descriptor, False)  # noqa: FBT003
    signal.setitimer(signal.ITIMER_REAL, 0)  # it would go on
    command = [sys.executable, *sys.orig_argv[1:]]
    os.execv(command[0], command)  # noqa: S606 - our own command line


def end_by_force(
    after_seconds: float = END_WITHIN,
    how: Callable[[], object] = lambda: os._exit(0),
) -> None:
    """End the process after a time, if it has not ended by itself.

    Parameters
    ----------
    after_seconds
        The time.
    how
        Ends it.
    """
    timer = Timer(after_seconds, how)
    timer.daemon = True
    timer.start()
    # The system's own alarm needs no interpreter that goes on.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, after_seconds + 0.3)
