"""A sink with a backlog and a thread of its own, so that it harms no other."""

import time
from collections.abc import Callable
from datetime import timedelta
from threading import Event, Lock

from structlog.typing import FilteringBoundLogger

from ..exceptions import SinkError, SinkRejectedError
from ..ports import Report
from .backlog import Backlog
from .backoff import Backoff
from .batch import Batch, Outlet

__all__ = ["BACKLOG_BATCHES", "IsolatedSink"]

BACKLOG_BATCHES = 720
"""One hour at a tick of 5 s: longer than a server takes to be restarted, and
at about 10 kB a batch less than 10 MB of memory."""

SEND_TIMEOUT = timedelta(seconds=10)
"""A server that takes longer for one small batch is as good as away."""

FLUSH_TIMEOUT = timedelta(seconds=5)
"""How long closing may take: container runtimes kill after 10 s."""

TOLD_TROUBLES = 10
"""How many different troubles of one outage are told, each of them once: a
server may fail in two or three ways by turns, for days."""

STEP_SECONDS = 0.5
"""How long one step waits for something to do."""


class IsolatedSink:
    """Keeps reports for a server and sends them from a thread of its own.

    `publish` only queues, so a server that is slow, hangs or is away delays
    neither the tick nor another sink. `step` does the sending; the daemon
    runs it over and over in a thread.

    Parameters
    ----------
    outlet
        The way to the server.
    backlog
        Where batches wait.
    backoff
        When to try again.
    send_timeout
        How long one try may take.
    flush_timeout
        How long `close` may take.
    clock
        Monotonic seconds.
    logger
        Told of each trouble once, and when the server is back.
    """

    interval = timedelta()
    """`step` waits by itself."""

    def __init__(
        self,
        outlet: Outlet,
        *,
        backlog: Backlog | None = None,
        backoff: Backoff | None = None,
        send_timeout: timedelta = SEND_TIMEOUT,
        flush_timeout: timedelta = FLUSH_TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
        logger: FilteringBoundLogger,
    ) -> None:
        self.name = outlet.name
        self._outlet = outlet
        self._backlog = backlog or Backlog(BACKLOG_BATCHES)
        self._backoff = backoff or Backoff()
        self._send_timeout = send_timeout
        self._flush_timeout = flush_timeout
        self._clock = clock
        self._logger = logger.bind(sink=outlet.name)
        self._closing = Event()
        self._sending = Lock()
        self._counting = Lock()
        self._lost_points = 0
        self._up: bool | None = None
        self._told: set[str] = set()
        self._told_full = False

    @property
    def up(self) -> bool | None:
        """Whether the last try succeeded; `None` before the first."""
        return self._up

    @property
    def spooled_points(self) -> int:
        """Points that wait to be written."""
        return self._backlog.points

    @property
    def lost_points(self) -> int:
        """Points given up since the start."""
        return self._lost_points

    def publish(self, report: Report) -> None:
        """Queue a report. Never waits, never fails."""
        batch = self._outlet.encode(report)
        if self._closing.is_set():
            self._lose(batch.points)
        else:
            self._drop(self._backlog.put(batch))

    def step(self) -> None:
        """Send the oldest batch, or wait a moment for one, or for its time.

        Notes
        -----
        Raises nothing: to be without its server is what this sink is for.
        """
        pause = self._backoff.remaining_seconds
        if pause > 0:
            self._closing.wait(min(pause, STEP_SECONDS))
        elif self._backlog.wait(STEP_SECONDS):
            with self._sending:
                if not self._closing.is_set():
                    self._send_oldest(self._send_timeout)

    def close(self) -> None:
        """Send what waits, as far as time allows, and close the outlet.

        Notes
        -----
        Where a send of `step` hangs, this waits no longer than its own
        deadline for it.
        """
        if self._closing.is_set():
            return
        self._closing.set()
        deadline = self._clock() + self._flush_timeout.total_seconds()
        if self._sending.acquire(timeout=self._flush_timeout.total_seconds()):
            try:
                self._flush(deadline)
                self._outlet.close()
            finally:
                self._sending.release()
        if given_up := self._backlog.clear():
            self._lose(given_up)
            self._logger.warning("Gave up points at the end", points=given_up)

    def _flush(self, deadline: float) -> None:
        going_on = True
        while going_on and (left := deadline - self._clock()) > 0:
            timeout = min(timedelta(seconds=left), self._send_timeout)
            going_on = self._send_oldest(timeout)

    def _send_oldest(self, timeout: timedelta) -> bool:
        """Return whether there may be a next one to send at once."""
        batch = self._backlog.take()
        if batch is None:
            return False
        try:
            self._outlet.send(batch, timeout)
        except SinkRejectedError as e:
            self._settle(batch.points if e.points is None else e.points)
            self._went(e, "Sink refuses data", news="refused")
        except SinkError as e:
            self._backoff.fail()
            self._drop(self._backlog.put_back())
            self._went(e, "Sink unavailable", news=str(e))
            return False
        except BaseException:
            # A bug: it must not block the batches behind this one.
            self._settle(batch.points)
            raise
        else:
            self._settle(lost=0)
            self._came_back()
        return True

    def _settle(self, lost: int) -> None:
        self._backlog.done()
        self._backoff.succeed()
        self._lose(lost)

    def _went(self, error: SinkError, event: str, news: str) -> None:
        if news not in self._told and len(self._told) < TOLD_TROUBLES:
            self._told.add(news)
            self._logger.warning(event, **error.to_logging_context())
        self._up = False

    def _came_back(self) -> None:
        if self._told:
            self._logger.info(
                "Sink available again",
                spooled_points=self.spooled_points,
                lost_points=self.lost_points,
            )
        self._up = True
        self._told.clear()
        self._told_full = False

    def _drop(self, batch: Batch | None) -> None:
        if batch is None:
            return
        self._lose(batch.points)
        if not self._told_full:
            self._told_full = True
            self._logger.warning("Backlog full, the oldest points are lost")

    def _lose(self, points: int) -> None:
        with self._counting:  # the tick and the worker both count
            self._lost_points += points
