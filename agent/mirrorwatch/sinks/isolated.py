"""A sink with a backlog and a thread of its own, so that it harms no other."""

import time
from collections.abc import Callable
from datetime import timedelta
from threading import Event, Lock

from structlog.typing import FilteringBoundLogger

from ..exceptions import SinkError, StateError
from ..ports import Report
from .backlog import Backlog
from .backoff import Backoff
from .batch import Outlet
from .pace import Pace
from .salvage import Refusal, deliver
from .troubles import Troubles

__all__ = ["IsolatedSink"]

SEND_TIMEOUT = timedelta(seconds=10)
"""A server that takes longer for one request is as good as away."""

FLUSH_TIMEOUT = timedelta(seconds=5)
"""How long closing may take: container runtimes kill after 10 s."""

STEP_SECONDS = 0.5
"""How long one step waits for something to do."""


class IsolatedSink:
    """Keeps points for a server and sends them from a thread of its own.

    `publish` only queues: in memory while the server takes what it gets, in
    the state file while it does not. So a server that is slow, hangs or is
    away delays neither the tick nor another sink. `step` does the sending;
    the daemon runs it over and over in a thread.

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
        backlog: Backlog,
        backoff: Backoff | None = None,
        send_timeout: timedelta = SEND_TIMEOUT,
        flush_timeout: timedelta = FLUSH_TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
        logger: FilteringBoundLogger,
    ) -> None:
        self.name = outlet.name
        self._outlet = outlet
        self._backlog = backlog
        self._backoff = backoff or Backoff()
        self._pace = Pace()
        self._send_timeout = send_timeout
        self._flush_timeout = flush_timeout
        self._clock = clock
        self._troubles = Troubles(logger.bind(sink=outlet.name))
        self._closing = Event()
        self._sending = Lock()
        self._given_up = 0
        self._up: bool | None = None
        self._away = False

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
        return self._given_up + self._backlog.dropped_points

    def publish(self, report: Report) -> None:
        """Queue a report. Never waits for the server, never fails."""
        batch = self._outlet.encode(report)
        if self._closing.is_set():
            self._given_up += batch.points
            return
        before = self._backlog.dropped_points
        try:
            self._backlog.put(batch, safely=self._away)
        except StateError as e:
            # It waits in memory, and the next one tries again.
            self._troubles.tell("Spool unavailable", e)
        if dropped := self._backlog.dropped_points - before:
            self._troubles.tell_full(dropped, self.spooled_points)

    def step(self) -> None:
        """Send the next batch, or wait a moment for one, or for its time.

        Raises
        ------
        StateError
            Raised if the spool cannot be used. To be without its server is
            what this sink is for, and raises nothing.
        """
        pause = self._backoff.remaining_seconds
        if pause > 0:
            self._closing.wait(min(pause, STEP_SECONDS))
        elif self._backlog.wait(STEP_SECONDS):
            with self._sending:
                if not self._closing.is_set():
                    self._send_next()

    def close(self) -> None:
        """Send what waits, as far as time allows; keep the rest spooled.

        Notes
        -----
        Where a send of `step` hangs, this waits no longer than its own
        deadline for it.
        """
        if self._closing.is_set():
            return
        self._closing.set()
        deadline = self._clock() + self._flush_timeout.total_seconds()
        try:
            if self._sending.acquire(
                timeout=self._flush_timeout.total_seconds()
            ):
                try:
                    self._flush(deadline)
                    self._outlet.close()
                finally:
                    self._sending.release()
            lost = self._backlog.close()
        except StateError as e:
            lost = self._backlog.fresh_points
            self._troubles.tell("Spool unavailable", e)
        self._given_up += lost
        self._troubles.tell_end(lost, self.spooled_points - lost)

    def _flush(self, deadline: float) -> None:
        while (left := deadline - self._clock()) > 0:
            batch = self._backlog.take(self._pace.points)
            if batch is None:
                return
            timeout = min(timedelta(seconds=left), self._send_timeout)
            try:
                self._outlet.send(batch, timeout)
            except SinkError:
                # Refused ones too: the next agent has time to part them.
                self._backlog.put_back()
                return
            self._backlog.done()

    def _send_next(self) -> None:
        batch = self._backlog.take(self._pace.points)
        if batch is None:
            return
        began = self._clock()
        try:
            refused = deliver(self._outlet, batch, self._send_timeout)
        except SinkError as e:
            self._up, self._away = False, True
            self._backoff.fail(e.retry_after)
            self._pace.fail()
            self._troubles.tell("Sink unavailable", e)
            self._backlog.put_back()
            return
        except BaseException:
            # A bug: it must not block the batches behind this one.
            self._given_up += batch.points
            self._backlog.done()
            raise
        took = timedelta(seconds=self._clock() - began)
        self._pace.went(batch.points, took)
        self._backoff.succeed()
        self._away = False
        self._backlog.done()
        self._settle(batch.points, refused)

    def _settle(self, points: int, refused: tuple[Refusal, ...]) -> None:
        lost = sum(refusal.points for refusal in refused)
        self._given_up += lost
        self._up = lost < points
        if refused:
            self._troubles.tell_refused(refused)
        else:
            self._troubles.end(self.spooled_points, self.lost_points)
