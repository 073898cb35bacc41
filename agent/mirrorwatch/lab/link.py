"""The long haul between the sites: a TCP proxy that can be made worse."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from datetime import timedelta
from threading import Thread
from types import TracebackType
from typing import Any, Self

from ..exceptions import LabError
from .wire import End, Wire, reset

__all__ = ["Link"]

_LOOPBACK = "127.0.0.1"

_PATIENCE_SECONDS = 60.0
"""How long the link's own thread may take to carry out an order. It only
ever does short work, so more means that it is dead."""


class Link:
    """A TCP proxy with a round-trip time, a bandwidth, a stall and a cut.

    Parameters
    ----------
    listen_port
        Port to listen on, on loopback; 0 takes a free one.
    upstream
        Where connections lead to.

    Notes
    -----
    A socket that is bound, but never listens, holds the port for the whole
    life of the link: so the port is known before the start, nobody can take
    it during a cut, and a cut can really stop listening, which is what makes
    clients see a refusal instead of a connection that goes nowhere.

    Bandwidth is shared by all connections, each way by itself, as on a real
    line.
    """

    def __init__(
        self, *, listen_port: int = 0, upstream: tuple[str, int]
    ) -> None:
        self._upstream = upstream
        if listen_port:
            # Two links with reuse would share a port without a word.
            _bind(listen_port, reuse=False).close()
        self._holder = _bind(listen_port)
        self.port: int = self._holder.getsockname()[1]
        self._out = Wire()
        self._back = Wire()
        self._ends: set[End] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._opening: set[asyncio.Task[Any]] = set()
        self._joining: set[asyncio.Task[Any]] = set()
        self._listener: socket.socket | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start to listen.

        Raises
        ------
        LabError
            Raised if the link was stopped before, or cannot listen.
        """
        if self._holder.fileno() == -1:
            raise LabError("A stopped link cannot be started again")
        if self._loop is not None:
            return
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(
            target=self._loop.run_forever, name="link", daemon=True
        )
        self._thread.start()
        self._order(self._listen)

    def stop(self) -> None:
        """Reset all connections and give the port back."""
        if self._loop is not None and self._thread is not None:
            self._order(self._disconnect)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_PATIENCE_SECONDS)
            self._loop.close()
            self._loop = self._thread = None
        self._holder.close()

    def shape(
        self,
        rtt: timedelta = timedelta(0),
        bytes_per_second: int | None = None,
    ) -> None:
        """Set the quality of the line; without arguments it is perfect.

        Parameters
        ----------
        rtt
            Round-trip time, half of it each way. Bytes are in flight side by
            side: delay does not limit throughput.
        bytes_per_second
            Bandwidth each way, shared by all connections; `None` is as fast
            as the machine.
        """
        delay = rtt.total_seconds() / 2
        self._order(lambda: self._set_shape(delay, bytes_per_second))

    def stall(self) -> None:
        """Let nothing flow; connections stay open, new ones hang."""
        self._order(lambda: self._set_stalled(stalled=True))

    def cut(self) -> None:
        """Reset all connections, and refuse new ones."""
        self._order(self._disconnect)

    def restore(self) -> None:
        """End a stall or a cut. What was in flight in a stall arrives."""
        self._order(self._listen)
        self._order(lambda: self._set_stalled(stalled=False))

    def _order(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._loop is None:
            raise LabError("The link is not running")
        future = asyncio.run_coroutine_threadsafe(work(), self._loop)
        try:
            future.result(_PATIENCE_SECONDS)
        except TimeoutError as e:
            raise LabError(f"The link on port {self.port} hangs") from e
        except OSError as e:
            raise LabError(f"The link on port {self.port} failed: {e}") from e

    async def _listen(self) -> None:
        if self._listener is None:
            self._listener = _bind(self.port)
            self._listener.listen()
            asyncio.get_running_loop().add_reader(
                self._listener, self._accept, self._listener
            )

    async def _disconnect(self) -> None:
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
            self._listener = None
        while self._ends or self._opening or self._joining:
            for task in self._joining:
                task.cancel()
            for end in tuple(self._ends):
                if end.transport is not None:
                    reset(end.transport)
            await asyncio.sleep(0)  # the loop closes them on its next turn

    async def _set_shape(self, delay: float, rate: int | None) -> None:
        for wire in (self._out, self._back):
            wire.delay = delay
            wire.bytes_per_second = rate
        self._update()

    async def _set_stalled(self, *, stalled: bool) -> None:
        for wire in (self._out, self._back):
            wire.stalled = stalled
        if stalled:
            self._flowing.clear()
        else:
            self._flowing.set()
        self._update()

    def _update(self) -> None:
        for end in tuple(self._ends):
            end.update()

    def _end(self, wire: Wire) -> End:
        end = End(wire, self._ends.discard)
        self._ends.add(end)
        return end

    def _accept(self, listener: socket.socket) -> None:
        """Take a connection.

        Notes
        -----
        By hand, because ``asyncio.Server`` leaks what it accepted just before
        it was closed: neither open, nor reset, nor refused.
        """
        try:
            sock, _ = listener.accept()
        except OSError:
            return  # it is gone again
        sock.settimeout(0)
        near = self._end(self._out)
        loop = asyncio.get_running_loop()
        opening = loop.connect_accepted_socket(lambda: near, sock)
        for tasks, work in (
            (self._opening, opening),
            (self._joining, self._join(near)),
        ):
            task = loop.create_task(work)
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    async def _join(self, near: End) -> None:
        await near.opened.wait()
        await self._flowing.wait()
        loop = asyncio.get_running_loop()
        far = self._end(self._back)
        try:
            await loop.create_connection(lambda: far, *self._upstream)
        except OSError:
            if near.transport is not None:
                reset(near.transport)
        else:
            near.join(far)
        finally:
            # Cancelled before it opened: nobody else would forget it.
            if far.transport is None:
                self._ends.discard(far)


def _bind(port: int, *, reuse: bool = True) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if reuse:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind((_LOOPBACK, port))
    except OSError as e:
        sock.close()
        raise LabError(f"Port {port} is not free for a link: {e}") from e
    sock.settimeout(0)
    return sock
