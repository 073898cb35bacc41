"""Delivery to servers: one queue, one retry rule, a thread for each server."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from threading import Event, Lock
from typing import Protocol

from structlog.typing import FilteringBoundLogger

from ..exceptions import (
    SinkError,
    SinkRejectedError,
    StateError,
)
from ..ports import Report
from ..state.queue import MOST_TRIES, Batch, DeliveryQueue

__all__ = [
    "LEAST_POINTS",
    "LONGEST_ASKED",
    "MOST_POINTS",
    "MOST_SPLITS",
    "QUICK",
    "Backoff",
    "BatchSize",
    "DeliveryEvents",
    "DeliveryWorker",
    "LogOnce",
    "Outlet",
    "QueuedSink",
    "split_and_retry",
]


class Outlet(Protocol):
    """Sends batches to one server."""

    name: str

    def send(self, batch: Batch, timeout: timedelta) -> None:
        """Send a batch, and return when the server has it.

        Sending the same batch twice must do no harm: the answer to the first
        may have been lost.

        Raises
        ------
        SinkRejectedError
            Raised if the server refuses data for good. Others of the batch
            may have been taken.
        SinkError
            Raised if it could not be sent now; a later try may succeed.
        """
        ...

    def close(self) -> None:
        """Close connections."""
        ...


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
        self._asked = 0.0
        self._until = 0.0

    @property
    def remaining_seconds(self) -> float:
        """Remaining back-off in seconds; zero when there is none."""
        return max(0.0, self._until - self._clock())

    @property
    def is_longest(self) -> bool:
        """The back-off has reached its longest pause."""
        return self._length >= LONGEST_PAUSE_SECONDS

    def fail(self, asked: timedelta | None = None) -> None:
        """Begin a pause, longer than the one before.

        Parameters
        ----------
        asked
            Pause that the server asks for (``Retry-After``), if it does. The
            pause is not shorter than that.
        """
        doubled = self._length * 2 or FIRST_PAUSE_SECONDS
        self._length = min(doubled, LONGEST_PAUSE_SECONDS)
        pause = self._length * (0.5 + self._jitter() / 2)
        granted = min(asked or timedelta(), LONGEST_ASKED).total_seconds()
        if granted > pause:
            # Who was given the same time must not return together.
            pause = granted + FIRST_PAUSE_SECONDS * self._jitter()
        self._asked = min(granted, LONGEST_PAUSE_SECONDS)
        self._until = self._clock() + pause

    def cut_short(self) -> None:
        """End this pause; the next one is still longer."""
        self._until = self._clock()

    def succeed(self) -> None:
        """Begin again with the shortest pause.

        Notes
        -----
        Where the server had asked to be left alone, it is once more, as one
        that limits requests would refuse the next one. Half a minute is
        enough for that: one that was away is back.
        """
        self._until = self._clock() + self._asked
        self._length = self._asked = 0.0


LEAST_POINTS = 100
"""A server that is just back is busy enough with itself."""

MOST_POINTS = 5000
"""Half of what InfluxDB recommends at most: more is hardly faster, and fresh
points wait for the request in flight."""

QUICK = timedelta(milliseconds=500)
"""Longest that a request should take: a tenth of a usual tick, so that the
points of a tick never wait for those of the past."""


class BatchSize:
    """Grows while the server is quick, and shrinks when it is not.

    Parameters
    ----------
    least, most
        Bounds, in points.
    """

    def __init__(
        self, least: int = LEAST_POINTS, most: int = MOST_POINTS
    ) -> None:
        self._least, self._most = least, most
        self._points = least

    @property
    def points(self) -> int:
        """Number of points to send in one batch."""
        return self._points

    def adapt(self, points: int, took: timedelta) -> None:
        """Take note of a request that was answered.

        Parameters
        ----------
        points
            Number of points in the request; one with few proves nothing for
            many.
        took
            Duration of the request.
        """
        if took > QUICK:
            self._points = max(self._least, self._points // 2)
        elif points >= self._points // 2:
            self._points = min(self._most, self._points * 2)

    def fail(self) -> None:
        """Start again with little."""
        self._points = self._least


MOST_SPLITS = 64
"""Limit of the splits of a refused batch: one bad point among 5,000 is found
with 13. A server that refuses every batch, so often without taking anything,
is not asked thousands of times."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RefusedPoints:
    """Points that a server will never take."""

    points: int
    name: str
    """The first of them."""

    error: SinkRejectedError


def split_and_retry(
    outlet: Outlet, batch: Batch, timeout: timedelta
) -> tuple[RefusedPoints, ...]:
    """Send a batch; return what was refused for good.

    Parameters
    ----------
    outlet
        The way to the server.
    batch
        Batch to send.
    timeout
        Timeout of each request.

    Raises
    ------
    SinkError
        Raised if not all of it could be sent now, or nothing of it at all was
        taken. All of it must be sent again, which does no harm.

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
            if part.points > 1 and e.points != part.points:
                splits += 1
                if splits > MOST_SPLITS:
                    raise SinkError(str(e), sink=outlet.name) from e
                waiting.extend(reversed(part.halves()))
                continue
            refused.append(
                RefusedPoints(points=part.points, name=part.name, error=e)
            )
        except SinkError as e:
            # If the whole was refused before, a limit is not the only reason.
            e.busy = e.busy and part is batch
            raise
        else:
            splits = 0
    return tuple(refused)


MOST_FAILURES = 10
"""Limit of the different failures logged in one outage, each of them once: a
server may alternate between two or three, for days."""

MOST_NAMED = 100
"""Limit of the different refused points that are named in the log, until all
are taken again: each tick may have the same bad ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DeliveryEvents:
    """Log events of a server's delivery, which operators search for."""

    unavailable: str = "Sink unavailable"
    available: str = "Sink available again"
    refused: str = "Points refused for good"
    lost: str = "Points lost at the end"
    kept: str = "Points stay in the spool"
    skipped: str = "Points skipped, as only they fail"


class LogOnce:
    """Logs each failure of an outage once.

    Parameters
    ----------
    logger
        Logger that receives the failures.
    events
        Names of the log events.
    """

    def __init__(
        self,
        logger: FilteringBoundLogger,
        events: DeliveryEvents | None = None,
    ) -> None:
        self._logger = logger
        self._events = events or DeliveryEvents()
        self._failures: set[str] = set()
        self._named: set[str] = set()
        self._full = False

    def unavailable(self, error: SinkError | StateError) -> None:
        """Log what keeps points from being written, or from waiting."""
        failures = self._failures
        if str(error) in failures or len(failures) >= MOST_FAILURES:
            return
        failures.add(str(error))
        event = self._events.unavailable
        if isinstance(error, StateError):
            event = "Spool unavailable"
        self._logger.warning(event, **error.to_logging_context())

    def full(self, lost_points: int, spooled_points: int) -> None:
        """Log that points are lost because there is no room for them."""
        if not self._full:
            self._full = True
            self._logger.error(
                "Spool full, the oldest points are lost",
                points=lost_points,
                spooled_points=spooled_points,
            )

    def refused(self, refused: tuple[RefusedPoints, ...]) -> None:
        """Name points that will never be taken."""
        for refusal in refused:
            series = refusal.name.partition(" ")[0]
            if series in self._named or len(self._named) >= MOST_NAMED:
                continue
            self._named.add(series)
            self._logger.warning(
                self._events.refused,
                points=refusal.points,
                first=refusal.name,
                **refusal.error.to_logging_context(),
            )

    def skipped(self, points: int) -> None:
        """Log that points are skipped, as the server takes all but these."""
        if points:
            self._logger.error(self._events.skipped, points=points)

    def closed(self, lost_points: int, kept_points: int) -> None:
        """Log what is lost, and what the next agent will send."""
        if lost_points:
            self._logger.error(self._events.lost, points=lost_points)
        if kept_points:
            self._logger.info(self._events.kept, points=kept_points)

    def available(self, spooled_points: int, lost_points: int) -> None:
        """Log that the server takes everything again, if it did not."""
        if self._failures or self._full:
            self._logger.info(
                self._events.available,
                spooled_points=spooled_points,
                lost_points=lost_points,
            )
        self._failures.clear()
        self._named.clear()
        self._full = False


SEND_TIMEOUT = timedelta(seconds=10)
"""A server that takes longer for one request is as good as away."""

FLUSH_TIMEOUT = timedelta(seconds=1.5)
"""Timeout of the last flush on close: the agent ends within 5 s, and pending
batches are kept."""

STEP_SECONDS = 0.5
"""Longest wait of one step for a pending batch."""


class DeliveryWorker:
    """Sends what waits in a queue to one server, from a thread of its own.

    A server that is slow, hangs or is away delays neither the tick nor
    another server. What it refuses for good is given up and counted; whatever
    else fails is tried again after a pause that grows, and is as long as the
    server asks (``Retry-After``).

    Parameters
    ----------
    outlet
        The way to the server.
    queue
        Queue of pending batches.
    backoff
        Back-off between retries.
    batch_size
        Size of the batches to send.
    send_timeout
        Timeout of one send.
    flush_timeout
        Timeout of `close` for the last flush.
    clock
        Monotonic seconds.
    log
        Logs each failure once, and when the server is back.
    """

    interval = timedelta()

    def __init__(
        self,
        outlet: Outlet,
        *,
        queue: DeliveryQueue,
        backoff: Backoff | None = None,
        batch_size: BatchSize | None = None,
        send_timeout: timedelta = SEND_TIMEOUT,
        flush_timeout: timedelta = FLUSH_TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
        log: LogOnce,
    ) -> None:
        self.name = outlet.name
        self._outlet = outlet
        self._queue = queue
        self._backoff = backoff or Backoff()
        self._batch_size = batch_size or BatchSize()
        self._send_timeout = send_timeout
        self._flush_timeout = flush_timeout
        self._clock = clock
        self._log = log
        self._closing = Event()
        self._sending = Lock()
        self._given_up = 0
        self._up: bool | None = None
        self._crashes = 0

    @property
    def up(self) -> bool | None:
        """The last send succeeded; `None` before the first."""
        return self._up

    @property
    def spooled_points(self) -> int:
        """Points that wait to be written."""
        return self._queue.points

    @property
    def lost_points(self) -> int:
        """Points given up since the start."""
        return self._given_up + self._queue.dropped_points

    def step(self) -> None:
        """Send the next batch, or wait a moment for one, or for its time.

        Raises
        ------
        StateError
            Raised if the state file cannot be used. To be without its server
            is what this worker is for, and raises nothing.
        """
        pause = self._backoff.remaining_seconds
        if pause > 0:
            self._closing.wait(min(pause, STEP_SECONDS))
        elif self._queue.wait(STEP_SECONDS):
            with self._sending:
                if not self._closing.is_set():
                    self._send_next()

    def close(self) -> None:
        """Send what waits, as far as time allows; keep the rest.

        Notes
        -----
        Where a send of `step` hangs, this waits no longer than its own
        deadline for it.
        """
        if self._closing.is_set():
            return
        self._closing.set()
        timeout = self._flush_timeout.total_seconds()
        deadline = self._clock() + timeout
        try:
            if self._sending.acquire(timeout=timeout):
                try:
                    self._flush(deadline)
                    self._outlet.close()
                finally:
                    self._sending.release()
            lost = self._queue.close()
        except StateError as e:
            lost = self._queue.fresh_points
            self._log.unavailable(e)
        self._given_up += lost
        self._log.closed(lost, self.spooled_points - lost)

    def _flush(self, deadline: float) -> None:
        while (left := deadline - self._clock()) > 0:
            batch = self._queue.take(self._batch_size.points)
            if batch is None:
                return
            timeout = min(timedelta(seconds=left), self._send_timeout)
            try:
                self._outlet.send(batch, timeout)
            except SinkError:
                # Refused ones too: the next agent has time to part them.
                self._queue.put_back()
                return
            self._queue.done()

    def _send_next(self) -> None:
        most = 1 if self._crashes else self._batch_size.points
        batch = self._queue.take(most)
        if batch is None:
            return
        began = self._clock()
        try:
            refused = split_and_retry(self._outlet, batch, self._send_timeout)
        except SinkError as e:
            self._crashes = 0
            self._put_back(e.retry_after, busy=e.busy)
            self._log.unavailable(e)
            return
        except BaseException:
            # A bug: it must not block the batches behind this one for ever.
            self._crashes += 1
            if self._crashes < MOST_TRIES:
                self._put_back()
                raise
            self._crashes = 0
            self._given_up += batch.points
            self._queue.done()
            self._log.skipped(batch.points)
            raise
        took = timedelta(seconds=self._clock() - began)
        self._batch_size.adapt(batch.points, took)
        self._backoff.succeed()
        self._crashes = 0
        lost = sum(refusal.points for refusal in refused)
        self._given_up += lost
        self._up = lost < batch.points
        skipped = self._queue.done()
        self._given_up += skipped
        self._log.skipped(skipped)
        if refused:
            self._log.refused(refused)
        elif not self._queue.suspects:
            self._log.available(self.spooled_points, self.lost_points)

    def _put_back(
        self, asked: timedelta | None = None, *, busy: bool = False
    ) -> None:
        self._backoff.fail(asked)
        # Where requests are limited, small ones would be more of them; what
        # lasts may be a limit on their size.
        if not busy or self._backoff.is_longest:
            self._batch_size.fail()
        self._up = False
        if self._queue.put_back(busy=busy) and asked is None:
            self._backoff.cut_short()


class QueuedSink(DeliveryWorker):
    """Writes reports to a server as points.

    `publish` only queues, in the state file: what it returned for survives a
    kill.

    Parameters
    ----------
    outlet
        The way to the server.
    encode
        Returns a report as points. Pure: no I/O, never fails.
    queue
        Queue of pending batches.
    backoff
        Back-off between retries.
    send_timeout
        Timeout of one send.
    flush_timeout
        Timeout of `close`.
    clock
        Monotonic seconds.
    logger
        Logger of each failure, once, and of the server's return.
    """

    def __init__(
        self,
        outlet: Outlet,
        *,
        encode: Callable[[Report], Batch],
        queue: DeliveryQueue,
        backoff: Backoff | None = None,
        send_timeout: timedelta = SEND_TIMEOUT,
        flush_timeout: timedelta = FLUSH_TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
        logger: FilteringBoundLogger,
    ) -> None:
        super().__init__(
            outlet,
            queue=queue,
            backoff=backoff,
            send_timeout=send_timeout,
            flush_timeout=flush_timeout,
            clock=clock,
            log=LogOnce(logger.bind(sink=outlet.name)),
        )
        self._encode = encode

    def publish(self, report: Report) -> None:
        """Queue a report. Never waits for the server, never fails."""
        batch = self._encode(report)
        if self._closing.is_set():
            self._given_up += batch.points
            return
        before = self._queue.dropped_points
        try:
            self._queue.put(batch)
        except StateError as e:
            # It waits in memory, and the next one tries again.
            self._log.unavailable(e)
        if dropped := self._queue.dropped_points - before:
            self._log.full(dropped, self.spooled_points)
