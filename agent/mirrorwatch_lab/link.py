"""The long haul between the sites: a TCP proxy that can be made worse."""

import asyncio
import fcntl
import os
import random
import socket
import struct
import tempfile
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from pathlib import Path
from threading import Thread
from typing import Any, cast

from .exceptions import LabError
from .start_stop import StartStop

__all__ = ["LOOPBACK", "Link", "Ports"]


_CHUNK_BYTES = 64 * 1024
"""Most that is read at once: large enough to be cheap at full speed."""

_SMALLEST_CHUNK_BYTES = 1500
"""Least that is read at once on a slow link: about one Ethernet frame."""

_CHUNK_SECONDS = 0.01
"""Share of a slow link that one read may take, so that connections which
share it take turns instead of waiting for each other's lumps."""

_BACKLOG_SECONDS = 0.05
"""Backlog of a slow link, in seconds, before senders are held back. A deeper
queue would turn bandwidth into delay."""

_SLACK_BYTES = 256 * 1024
"""Bytes that one direction of a connection may always have in flight."""

_FASTEST_BYTES_PER_SECOND = 128 * 1024 * 1024
"""Speed that a delayed connection must be able to keep in flight; two
brokers on one machine stay below it."""


class _Mark(Enum):
    """End marker of a connection, after its last byte."""

    EOF = "eof"
    RESET = "reset"


@dataclass(slots=True)
class LinkConnection:
    """Properties of one direction, shared by all connections."""

    delay: float = 0.0
    """Time to cross, in seconds."""

    bytes_per_second: float | None = None
    """Bandwidth; `None` is as fast as the machine."""

    stalled: bool = False
    clear_at: float = 0.0
    """Time at which all that was taken will have been sent, in loop time: a
    token bucket without a burst, kept as a time."""

    @property
    def chunk_bytes(self) -> int:
        """Most that may be taken at once."""
        if self.bytes_per_second is None:
            return _CHUNK_BYTES
        share = int(self.bytes_per_second * _CHUNK_SECONDS)
        return min(_CHUNK_BYTES, max(_SMALLEST_CHUNK_BYTES, share))

    @property
    def bound_bytes(self) -> int:
        """Most that one connection may have in flight."""
        return _SLACK_BYTES + int(self.delay * _FASTEST_BYTES_PER_SECOND)

    def take(self, size: int, now: float) -> float:
        """Return when this many bytes, taken now, reach the other end."""
        if self.bytes_per_second is None:
            return now + self.delay
        self.clear_at = max(now, self.clear_at) + size / self.bytes_per_second
        return self.clear_at + self.delay

    def wait(self, now: float) -> float:
        """Return the seconds to hold senders back, at most 0 for none."""
        if self.bytes_per_second is None:
            return 0.0
        return self.clear_at - _BACKLOG_SECONDS - now


class LinkEnd(asyncio.BufferedProtocol):
    """Endpoint of a proxied connection; forwards what it reads to its peer.

    Parameters
    ----------
    wire
        The direction that leads away from this end.
    forget
        Called when this end is closed.
    """

    def __init__(
        self, wire: LinkConnection, forget: Callable[["LinkEnd"], None]
    ) -> None:
        self._wire = wire
        self._forget = forget
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray(_CHUNK_BYTES)
        self._flight: deque[tuple[float, bytes | _Mark]] = deque()
        self._flying = 0
        self._timer: asyncio.TimerHandle | None = None
        self._peer_full = False
        self._ended = False
        self._finished = False
        self._peer: LinkEnd | None = None
        self.transport: asyncio.Transport | None = None
        self.opened = asyncio.Event()

    def join(self, peer: "LinkEnd") -> None:
        """Connect two ends; until then nothing is read from either."""
        self._peer, peer._peer = peer, self  # noqa: SLF001
        self.update()
        peer.update()

    def update(self) -> None:
        """Send what is due, and read on if there is room for more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._peer is None or self._wire.stalled:
            self._read(wanted=False)
            return
        now = self._loop.time()
        self._send_due(now)
        wait = self._wire.wait(now)
        room = self._flying < self._wire.bound_bytes
        self._read(wanted=room and wait <= 0)
        wake = [now + wait] if wait > 0 else []
        if self._flight and not self._peer_full:
            wake.append(self._flight[0][0])
        if wake:
            self._wake_at(min(wake))

    def _wake_at(self, when: float) -> None:
        # A write may have filled the peer and so have armed it meanwhile.
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(when, self.update)

    def _send_due(self, now: float) -> None:
        while self._flight and not self._peer_full:
            due, what = self._flight[0]
            if due > now:
                return
            self._flight.popleft()
            if isinstance(what, bytes):
                self._flying -= len(what)
            self._hand_over(what)

    def _hand_over(self, what: bytes | _Mark) -> None:
        out = None if self._peer is None else self._peer.transport
        if self._peer is None or out is None or out.is_closing():
            return
        if isinstance(what, bytes):
            out.write(what)
        elif what is _Mark.RESET:
            reset(out)
        else:
            with suppress(OSError):  # it may be gone already
                out.write_eof()
            self._finished = True
            if self._peer._finished and self.transport:  # noqa: SLF001
                self.transport.close()
                out.close()

    def _read(self, *, wanted: bool) -> None:
        reader = self.transport
        if reader is None or reader.is_closing() or self._ended:
            return
        if wanted and not reader.is_reading():
            reader.resume_reading()
        elif not wanted and reader.is_reading():
            reader.pause_reading()

    def _push(self, what: bytes | _Mark) -> None:
        now = self._loop.time()
        size = len(what) if isinstance(what, bytes) else 0
        due = self._wire.take(size, now)
        held = self._flight or self._peer_full or self._wire.stalled
        if due <= now and not held:
            self._hand_over(what)  # the cheap way, when nothing is shaped
            return
        self._flight.append((due, what))
        self._flying += size
        self.update()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        transport.get_extra_info("socket").setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
        )
        self.opened.set()
        self.update()

    def get_buffer(self, sizehint: int) -> memoryview:
        return memoryview(self._buffer)[: self._wire.chunk_bytes]

    def buffer_updated(self, nbytes: int) -> None:
        self._push(bytes(memoryview(self._buffer)[:nbytes]))

    def eof_received(self) -> bool:
        self._ended = True
        self._push(_Mark.EOF)
        return True  # the other direction may still have something to say

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget(self)
        if exc is not None:
            self._push(_Mark.RESET)
        elif self._peer is not None:
            # Nobody is left to take what the peer still has in flight.
            self._peer._flight.clear()  # noqa: SLF001
            self._peer._flying = 0  # noqa: SLF001

    def pause_writing(self) -> None:
        if self._peer is not None:
            self._peer._peer_full = True  # noqa: SLF001
            self._peer.update()

    def resume_writing(self) -> None:
        if self._peer is not None:
            self._peer._peer_full = False  # noqa: SLF001
            self._peer.update()


def reset(transport: asyncio.Transport) -> None:
    """Close a connection so that the other side sees a reset, not an end."""
    sock: socket.socket = transport.get_extra_info("socket")
    with suppress(OSError):  # it may be gone already
        sock.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
    transport.abort()


_LOOPBACK = "127.0.0.1"

_PATIENCE_SECONDS = 60.0
"""Timeout of an order to the link's own thread. It only ever does short work,
so more means that it is dead."""


class Link(StartStop):
    """A TCP proxy with a round-trip time, a bandwidth, a stall and a cut.

    Parameters
    ----------
    listen_port
        Port to listen on, on loopback; 0 takes a free one.
    upstream
        Host and port that connections lead to.

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
        self._out = LinkConnection()
        self._back = LinkConnection()
        self._ends: set[LinkEnd] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._opening: set[asyncio.Task[Any]] = set()
        self._joining: set[asyncio.Task[Any]] = set()
        self._listener: socket.socket | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None

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

    def _end(self, wire: LinkConnection) -> LinkEnd:
        end = LinkEnd(wire, self._ends.discard)
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

    async def _join(self, near: LinkEnd) -> None:
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


LOOPBACK = "127.0.0.1"
"""Everything in a lab listens here and nowhere else."""

_FIRST, _LAST = 20000, 32000
"""Below the range from which Linux and macOS pick ports for outgoing
connections: while a killed broker is down, none of them can take its port."""

_TRIES = 200
"""Ports tried before giving up; even on a busy machine the first is free."""


class Ports:
    """Free ports on loopback, reserved until closed.

    Notes
    -----
    A broker that was killed must come back at its old ports, and brokers
    cannot inherit a bound socket. So each port is reserved by a lock on a
    file named for it: the kernel drops the lock when its owner dies in
    whatever way, and two labs never pick the same port.
    """

    def __init__(self) -> None:
        self._locks = ExitStack()
        self._folder = Path(tempfile.gettempdir()) / (
            f"mirrorwatch-ports-{os.getuid()}"
        )

    def take(self) -> int:
        """Reserve a free port.

        Raises
        ------
        LabError
            Raised if no port is free.
        """
        self._folder.mkdir(mode=0o700, exist_ok=True)
        for _ in range(_TRIES):
            port = random.randint(_FIRST, _LAST)  # noqa: S311
            if self._reserve(port):
                return port
        raise LabError(f"No free port between {_FIRST} and {_LAST}")

    def close(self) -> None:
        """Give all ports back."""
        self._locks.close()

    def _reserve(self, port: int) -> bool:
        with ExitStack() as held:
            lock = held.enter_context((self._folder / str(port)).open("wb"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Without SO_REUSEADDR: a link takes no port either on which
                # connections of a former lab are in TIME_WAIT.
                with socket.socket() as probe:
                    probe.bind((LOOPBACK, port))
            except OSError:
                return False
            self._locks.enter_context(held.pop_all())
        return True
