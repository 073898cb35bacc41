"""Connections of the web server: bounded, and none is held open for nothing.

Whoever opens connections and says nothing, says it a byte at a time, or does
not read the answer, must not keep others from ``/healthz`` and ``/metrics``.
So room is made by closing the oldest connection, not by refusing the newest.
"""

import asyncio
import logging
import time
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol as HttpConnection

from .headers import HEADERS

__all__ = ["BoundedConnection", "Connections", "RareLines"]

MOST_WAITING = 512
"""Connections without a request. So many can come within a tenth of a second,
which is time enough for a client to send its request; they take 13 MiB."""

MOST_BUSY = 512
"""Requests that are being answered. Each takes milliseconds; more than are
read in one turn of the event loop are of no use to anybody."""

MOST_UNREAD = 64
"""Answers that a client does not read: the largest has a megabyte."""

HEAD_SECONDS = 10.0
"""Longest time from connecting, or from the last answer, to the next whole
request."""

ANSWER_SECONDS = 30.0
"""Longest time from a request to the last byte of its answer."""


class Connections:
    """Those of one server, the oldest first."""

    def __init__(self) -> None:
        self.waiting: dict[BoundedConnection, None] = {}
        self.busy: dict[BoundedConnection, None] = {}

    def wait(self, connection: "BoundedConnection") -> None:
        """Take one that has no request."""
        self._move(connection, self.waiting, MOST_WAITING)

    def answer(self, connection: "BoundedConnection") -> None:
        """Take one whose request is being answered."""
        unread = [each for each in self.busy if each.is_unread]
        for each in unread[: max(0, len(unread) - MOST_UNREAD)]:
            each.abort()
        self._move(connection, self.busy, MOST_BUSY)

    def drop(self, connection: "BoundedConnection") -> None:
        """Forget one that is closed."""
        self.waiting.pop(connection, None)
        self.busy.pop(connection, None)

    def _move(
        self,
        connection: "BoundedConnection",
        to: "dict[BoundedConnection, None]",
        most: int,
    ) -> None:
        self.drop(connection)
        to[connection] = None
        while len(to) > most:
            next(iter(to)).abort()


class BoundedConnection(HttpConnection):
    """A connection that is closed when it takes too long."""

    def __init__(self, *args: Any, others: Connections, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._others = others
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(  # type: ignore[override]
        self, transport: asyncio.Transport
    ) -> None:
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._others.drop(self)
        self._cancel()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before and not self.cycle.response_complete:
            self._others.answer(self)
            self._allow(ANSWER_SECONDS)

    def on_response_complete(self) -> None:
        if not self.transport.is_closing():
            self._wait()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        answer = h11.Response(
            status_code=400,
            reason=b"Bad Request",
            headers=[
                ("content-type", "text/plain; charset=utf-8"),
                ("connection", "close"),
                *HEADERS.items(),
            ],
        )
        body = h11.Data(data=msg.encode("ascii"))
        for event in (answer, body, h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    @property
    def is_unread(self) -> bool:
        """Whether more was answered than the client has read."""
        return self.transport.get_write_buffer_size() > 0

    def abort(self) -> None:
        """Close it, whatever is still to be sent."""
        self._others.drop(self)
        self._cancel()
        self.transport.abort()

    def _wait(self) -> None:
        self._others.wait(self)
        self._allow(HEAD_SECONDS)

    def _allow(self, seconds: float) -> None:
        self._cancel()
        self._deadline = self.loop.call_later(seconds, self.abort)

    def _cancel(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class RareLines(logging.Filter):
    """Lets each line of the web server pass once a minute.

    Strangers can cause them as fast as they send.
    """

    def __init__(self) -> None:
        super().__init__()
        self._passed: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        # By its template: what it quotes may be different each time.
        last = self._passed.get(str(record.msg))
        if last is not None and now - last < ONCE_IN_SECONDS:
            return False
        self._passed[str(record.msg)] = now
        return True


ONCE_IN_SECONDS = 60.0
