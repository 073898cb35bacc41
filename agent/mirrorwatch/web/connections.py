"""Connections of the web server: bounded, and none is held open for nothing.

Whoever opens connections and says nothing, says it a byte at a time, or does
not read the answer, must not keep others from ``/healthz`` and ``/metrics``.
So room is made by closing the oldest connection of the address that has most,
not by refusing the newest.
"""

import asyncio
import logging
import re
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any, Protocol

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol as HttpConnection

from .headers import HEADERS

__all__ = [
    "BoundedConnection",
    "Connections",
    "Handshake",
    "Newcomer",
    "RareLines",
    "TLSNewcomer",
]

LOG = logging.getLogger("uvicorn.error")

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

HEAD_BYTES = 16 * 1024
"""Of a request, at most, before its body: h11 refuses more."""

MOST_WAITING_TLS = 128
"""Connections without a request that speak TLS: asyncio keeps 256 KiB for
each."""

MOST_BUSY_TLS = 64

TLS_RECORD = b"\x16"
"""First byte of a handshake of TLS; no HTTP begins with it."""

NOT_TLS = (
    b"HTTP/1.0 400 Bad Request\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\n"
    b"Connection: close\r\n\r\n"
    b"This is an HTTPS server: the address begins with https://\n"
)

END_OF_HEAD = re.compile(rb"\n\r?\n")


class Bounded(Protocol):
    """A connection that may be closed to make room."""

    address: str

    @property
    def is_unread(self) -> bool:
        """The client has not yet read all of the answer."""

    def abort(self) -> None:
        """Close it, whatever is still to be sent."""


class Kept:
    """So many connections.

    Parameters
    ----------
    most
        Of one more, the oldest of the address that has most is closed.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        self._of: dict[str, dict[Bounded, None]] = {}

    def __iter__(self) -> Iterator[Bounded]:
        return chain.from_iterable(self._of.values())

    def __len__(self) -> int:
        return self._count

    def add(self, connection: Bounded) -> None:
        self._of.setdefault(connection.address, {})[connection] = None
        self._count += 1
        if self._count > self._most:
            most = max(self._of.values(), key=len)
            next(iter(most)).abort()  # drops itself

    def drop(self, connection: Bounded) -> None:
        of = self._of.get(connection.address, {})
        if connection in of:
            del of[connection]
            self._count -= 1
            if not of:
                del self._of[connection.address]


class Connections:
    """Open connections of one server, bounded in number.

    Parameters
    ----------
    tls
        The connections speak TLS.
    """

    def __init__(self, *, tls: bool = False) -> None:
        self.waiting = Kept(MOST_WAITING)
        self.greeted = Kept(MOST_WAITING_TLS) if tls else self.waiting
        """Connections of `waiting` that cost more, as they speak TLS. Counted
        by themselves: silent ones leave their places to them."""

        self.busy = Kept(MOST_BUSY_TLS if tls else MOST_BUSY)
        self._later: deque[Callable[[], None]] = deque()

    def take(self, connection: Bounded) -> None:
        """Take one that is new."""
        self.waiting.add(connection)

    def wait(self, connection: Bounded) -> None:
        """Take one that has no request."""
        self.drop(connection)
        self.greeted.add(connection)

    def answer(self, connection: Bounded) -> None:
        """Take one whose request is being answered."""
        unread = [each for each in self.busy if each.is_unread]
        for each in unread[: max(0, len(unread) - MOST_UNREAD)]:
            each.abort()
        self.drop(connection)
        self.busy.add(connection)

    def drop(self, connection: Bounded) -> None:
        """Forget one that is closed."""
        self.waiting.drop(connection)
        self.greeted.drop(connection)
        self.busy.drop(connection)

    def go_on_later(self, go_on: Callable[[], None]) -> None:
        """Have the next request of a connection answered, one in each turn
        of the event loop.
        """
        self._later.append(go_on)
        if len(self._later) == 1:
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        go_on = self._later.popleft()
        if self._later:
            asyncio.get_running_loop().call_soon(self._go_on)
        go_on()


class Newcomer:
    """A connection until the head of its first request is whole.

    Takes little: a flood is through before it keeps anybody waiting.

    Parameters
    ----------
    connection
        Socket that never blocks.
    address
        Of the client.
    others
        The server's connections.
    serve
        Takes the socket, and what was read from it.
    """

    is_unread = False

    def __init__(
        self,
        connection: socket.socket,
        address: str,
        others: Connections,
        serve: Callable[[socket.socket, bytes], None],
    ) -> None:
        self.address = address
        self._socket = connection
        self._others = others
        self._serve = serve
        self._said = b""
        self._loop = asyncio.get_running_loop()
        # By its number: asyncio describes sockets, which takes longer.
        self._file = connection.fileno()
        self._loop.add_reader(self._file, self._read)
        self._deadline = self._loop.call_later(HEAD_SECONDS, self.abort)
        others.take(self)

    def abort(self) -> None:
        """Close it."""
        self._leave()
        self._socket.close()

    def _leave(self) -> None:
        self._others.drop(self)
        self._deadline.cancel()
        self._loop.remove_reader(self._file)

    def _read(self) -> None:
        try:
            read = self._socket.recv(HEAD_BYTES)
        except BlockingIOError:
            return
        except OSError:
            read = b""
        if not read:
            self.abort()
            return
        looked = max(0, len(self._said) - 2)
        self._said += read
        if (
            END_OF_HEAD.search(self._said, looked)
            or len(self._said) > HEAD_BYTES
            or self._said < b"!"  # TLS, for one: it is refused at once
        ):
            self._leave()
            self._serve(self._socket, self._said)


class TLSNewcomer(Newcomer):
    """A connection until its first byte, which says whether it speaks TLS."""

    def _read(self) -> None:
        try:
            first = self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return
        except OSError:
            first = b""
        if first == TLS_RECORD:
            self._leave()
            self._serve(self._socket, b"")
            return
        if first:
            with suppress(OSError):
                # What is left unread would reset the connection before the
                # client has read why.
                self._socket.recv(HEAD_BYTES)
                self._socket.send(NOT_TLS)
        self.abort()


class Handshake:
    """A connection from the first byte of TLS to the end of the handshake.

    Parameters
    ----------
    connection
        Its socket.
    address
        Of the client.
    others
        The server's connections.
    task
        Ends with the handshake.
    """

    is_unread = False

    def __init__(
        self,
        connection: socket.socket,
        address: str,
        others: Connections,
        task: asyncio.Task[Any],
    ) -> None:
        self.address = address
        self._socket = connection
        self._others = others
        self._task = task
        others.wait(self)
        task.add_done_callback(self._end)

    def abort(self) -> None:
        """Close it."""
        self._others.drop(self)
        self._task.cancel()

    def _end(self, task: asyncio.Task[Any]) -> None:
        self._others.drop(self)
        if task.cancelled():
            self._socket.close()  # perhaps asyncio never had it
        elif (error := task.exception()) is not None:
            LOG.info("No TLS with %s: %s", self.address, error)


class BoundedConnection(HttpConnection):
    """A connection that is closed when it takes too long.

    Parameters
    ----------
    others
        The server's connections.
    said
        Bytes that were read from it already.
    """

    def __init__(
        self, *args: Any, others: Connections, said: bytes, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.address = ""
        self._others = others
        self._said = said
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(  # type: ignore[override]
        self, transport: asyncio.Transport
    ) -> None:
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self._wait()
        if self._said:  # nothing would mean the end
            self.data_received(self._said)

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
        # Requests that were sent without waiting for the answer come last.
        if self.conn.trailing_data[0]:
            self._others.go_on_later(self._go_on)
        else:
            self._go_on()

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
        return self.transport.get_write_buffer_size() > 0

    def abort(self) -> None:
        """Close it, whatever is still to be sent."""
        self._others.drop(self)
        self._cancel()
        self.transport.abort()

    def _go_on(self) -> None:
        if not self.transport.is_closing():
            self._wait()
        super().on_response_complete()

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
