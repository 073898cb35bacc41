"""One connection through the link: two ends, and what is between them."""

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import cast

__all__ = ["End", "Wire", "reset"]

_CHUNK_BYTES = 64 * 1024
"""Most that is read at once: large enough to be cheap at full speed."""

_SMALLEST_CHUNK_BYTES = 1500
"""Least that is read at once on a slow link: about one Ethernet frame."""

_CHUNK_SECONDS = 0.01
"""Share of a slow link that one read may take, so that connections which
share it take turns instead of waiting for each other's lumps."""

_BACKLOG_SECONDS = 0.05
"""How much may wait for a slow link before senders are held back. A deeper
queue would turn bandwidth into delay."""

_SLACK_BYTES = 256 * 1024
"""What one direction of a connection may always hold."""

_FASTEST_BYTES_PER_SECOND = 128 * 1024 * 1024
"""Speed that a delayed connection must be able to keep in flight; two
brokers on one machine stay below it."""


class _Mark(Enum):
    """What can follow the last byte."""

    EOF = "eof"
    RESET = "reset"


@dataclass(slots=True)
class Wire:
    """Properties of one direction, shared by all connections."""

    delay: float = 0.0
    """Time to cross, in seconds."""

    bytes_per_second: float | None = None
    """Bandwidth; `None` is as fast as the machine."""

    stalled: bool = False
    """Whether nothing flows."""

    clear_at: float = 0.0
    """When all that was taken will have been sent, in loop time: a token
    bucket without a burst, kept as a time."""

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


class End(asyncio.BufferedProtocol):
    """One end of a connection; carries what it reads to its peer.

    Parameters
    ----------
    wire
        The direction that leads away from this end.
    forget
        Called when this end is closed.
    """

    def __init__(self, wire: Wire, forget: Callable[["End"], None]) -> None:
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
        self._peer: End | None = None
        self.transport: asyncio.Transport | None = None
        self.opened = asyncio.Event()

    def join(self, peer: "End") -> None:
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
