"""A sink with a backlog and a thread of its own, so that it harms no other."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from threading import Event, Lock

from structlog.typing import FilteringBoundLogger

from ..exceptions import (
    MirrorwatchError,
    SinkError,
    SinkRejectedError,
    StateError,
)
from ..ports import Report
from .queue import Batch, Outlet, PointQueue

__all__ = [
    "LEAST_POINTS",
    "LONGEST_ASKED",
    "MOST_POINTS",
    "MOST_SPLITS",
    "QUICK",
    "Backoff",
    "BatchSize",
    "LogOnce",
    "QueuedSink",
    "split_and_retry",
]


FIRST_PAUSE_SECONDS = 1.0
"""Pause after the first failure; doubled after each further one."""

LONGEST_PAUSE_SECONDS = 30.0
"""So that data flows again within half a minute of the server's return."""

LONGEST_ASKED = timedelta(minutes=15)
"""Longest pause that a server is granted. A proxy may name a whole day for
its maintenance; one request in a quarter of an hour burdens nobody."""


class Backoff:
    """Pauses that grow with each failure, and end with the first success.

    Parameters
    ----------
    clock
        Monotonic seconds.
    jitter
        A random number in [0, 1). A pause lasts between half of its length
        and all of it, so that many agents do not return all at once.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock
        self._jitter = jitter
        self._length = 0.0
        self._until = 0.0

    @property
    def remaining_seconds(self) -> float:
        """How long not to try; zero when there is no pause."""
        if not self._length:
            return 0.0
        return max(0.0, self._until - self._clock())

    def fail(self, asked: timedelta | None = None) -> None:
        """Begin a pause, longer than the one before.

        Parameters
        ----------
        asked
            How long the server asks to be left alone (``Retry-After``), if
            it does. The pause is not shorter than that.
        """
        doubled = self._length * 2 or FIRST_PAUSE_SECONDS
        self._length = min(doubled, LONGEST_PAUSE_SECONDS)
        pause = self._length * (0.5 + self._jitter() / 2)
        granted = min(asked or timedelta(), LONGEST_ASKED).total_seconds()
        if granted > pause:
            # Whoever was told the same time shall not return together.
            pause = granted + FIRST_PAUSE_SECONDS * self._jitter()
        self._until = self._clock() + pause

    def succeed(self) -> None:
        """Begin again with the shortest pause."""
        self._length = 0.0


LEAST_POINTS = 100
"""A server that is just back is busy enough with itself."""

MOST_POINTS = 5000
"""Half of what InfluxDB recommends at most: more is hardly faster, and fresh
points wait for the request under way."""

QUICK = timedelta(milliseconds=500)
"""Longest that a request should take: a tenth of a usual tick, so that the
points of a tick never wait for those of the past."""


class BatchSize:
    """Grows while the server is quick, and shrinks when it is not."""

    def __init__(self) -> None:
        self._points = LEAST_POINTS

    @property
    def points(self) -> int:
        """How many points to send at once."""
        return self._points

    def went(self, points: int, took: timedelta) -> None:
        """Learn of a request that was answered.

        Parameters
        ----------
        points
            How many points it had; one with few proves nothing for many.
        took
            How long it took.
        """
        if took > QUICK:
            self._points = max(LEAST_POINTS, self._points // 2)
        elif points >= self._points // 2:
            self._points = min(MOST_POINTS, self._points * 2)

    def fail(self) -> None:
        """Begin again with little."""
        self._points = LEAST_POINTS


MOST_SPLITS = 64
"""One bad point among 5,000 is found with 13. A server that refuses whatever
it gets is not asked thousands of times."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RefusedPoints:
    """Points that a server will never take."""

    points: int
    """How many."""

    name: str
    """The first of them."""

    error: SinkRejectedError
    """Why."""


def split_and_retry(
    outlet: Outlet, batch: Batch, timeout: timedelta
) -> tuple[RefusedPoints, ...]:
    """Send a batch; return what was refused for good.

    Parameters
    ----------
    outlet
        The way to the server.
    batch
        What to send.
    timeout
        How long each request may take.

    Raises
    ------
    SinkError
        Raised if not all of it could be sent now. All of it must be sent
        again, which does no harm.

    Notes
    -----
    What is refused is sent again in halves until the bad points are alone.
    InfluxDB 2.x takes nothing of a body with a line that it cannot parse;
    1.8 takes the rest, but says that it dropped none. Where a field has
    another type than before, or a point is too old, both take the rest and
    say how many they dropped, but not which.
    """
    refused: list[RefusedPoints] = []
    splits = 0
    waiting = [batch]
    while waiting:
        part = waiting.pop()
        try:
            outlet.send(part, timeout)
        except SinkRejectedError as e:
            all_of_it = part.points <= 1 or e.points == part.points
            if not all_of_it and splits < MOST_SPLITS:
                splits += 1
                waiting.extend(reversed(part.halves()))
                continue
            # Nought is what 1.8 says of lines that it cannot parse.
            points = part.points if all_of_it else e.points or part.points
            refused.append(
                RefusedPoints(points=points, name=part.name, error=e)
            )
    return tuple(refused)


TOLD_TROUBLES = 10
"""How many different troubles of one outage are told, each of them once: a
server may fail in two or three ways by turns, for days."""

TOLD_POINTS = 100
"""How many different points are named, until all are taken again: each tick
may have the same bad ones."""


class LogOnce:
    """Tells each trouble of an outage once.

    Parameters
    ----------
    logger
        Where to.
    """

    def __init__(self, logger: FilteringBoundLogger) -> None:
        self._logger = logger
        self._told: set[str] = set()
        self._named: set[str] = set()
        self._full = False

    def tell(self, event: str, error: MirrorwatchError) -> None:
        """Tell what keeps points from being written."""
        if str(error) in self._told or len(self._told) >= TOLD_TROUBLES:
            return
        self._told.add(str(error))
        self._logger.warning(event, **error.to_logging_context())

    def tell_full(self, lost_points: int, spooled_points: int) -> None:
        """Tell that points are lost because there is no room for them."""
        if not self._full:
            self._full = True
            self._logger.error(
                "Spool full, the oldest points are lost",
                points=lost_points,
                spooled_points=spooled_points,
            )

    def tell_refused(self, refused: tuple[RefusedPoints, ...]) -> None:
        """Name points that will never be taken."""
        for refusal in refused:
            series = refusal.name.partition(" ")[0]
            if series in self._named or len(self._named) >= TOLD_POINTS:
                continue
            self._named.add(series)
            self._logger.warning(
                "Points refused for good",
                points=refusal.points,
                first=refusal.name,
                **refusal.error.to_logging_context(),
            )

    def tell_end(self, lost_points: int, kept_points: int) -> None:
        """Tell what nobody will send, and what the next agent will."""
        if lost_points:
            self._logger.error("Points lost at the end", points=lost_points)
        if kept_points:
            self._logger.info("Points stay in the spool", points=kept_points)

    def end(self, spooled_points: int, lost_points: int) -> None:
        """Tell that the server takes everything again, if it did not."""
        if self._told or self._full:
            self._logger.info(
                "Sink available again",
                spooled_points=spooled_points,
                lost_points=lost_points,
            )
        self._told.clear()
        self._named.clear()
        self._full = False


SEND_TIMEOUT = timedelta(seconds=10)
"""A server that takes longer for one request is as good as away."""

FLUSH_TIMEOUT = timedelta(seconds=5)
"""How long closing may take: container runtimes kill after 10 s."""

STEP_SECONDS = 0.5
"""How long one step waits for something to do."""


class QueuedSink:
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
        backlog: PointQueue,
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
        self._pace = BatchSize()
        self._send_timeout = send_timeout
        self._flush_timeout = flush_timeout
        self._clock = clock
        self._troubles = LogOnce(logger.bind(sink=outlet.name))
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
            refused = split_and_retry(self._outlet, batch, self._send_timeout)
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

    def _settle(self, points: int, refused: tuple[RefusedPoints, ...]) -> None:
        lost = sum(refusal.points for refusal in refused)
        self._given_up += lost
        self._up = lost < points
        if refused:
            self._troubles.tell_refused(refused)
        else:
            self._troubles.end(self.spooled_points, self.lost_points)
