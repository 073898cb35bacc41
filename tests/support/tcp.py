"""A TCP echo server, and clients that talk to it."""

import random
import socket
import socketserver
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Thread

__all__ = [
    "Echo",
    "EchoServer",
    "black_hole",
    "closed_port",
    "frozen",
    "noise",
    "nothing_comes",
    "pour",
    "read",
    "round_trip",
    "send_until_held",
]


QUIET_SECONDS = 0.3
"""How long nothing must come before it counts as held back."""


class Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        try:
            while data := self.request.recv(65536):
                self.request.sendall(data)
        except ConnectionResetError:
            return


class EchoServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def noise(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)  # noqa: S311 - test data


def read(sock: socket.socket, size: int) -> bytes:
    got = bytearray()
    while len(got) < size:
        data = sock.recv(min(65536, size - len(got)))
        if not data:
            break
        got += data
    return bytes(got)


def pour(sock: socket.socket, data: bytes) -> Thread:
    thread = Thread(target=sock.sendall, args=(data,))
    thread.start()
    return thread


def round_trip(sock: socket.socket) -> float:
    begin = time.monotonic()
    sock.sendall(b"ping")
    assert read(sock, 4) == b"ping"
    return time.monotonic() - begin


def nothing_comes(sock: socket.socket, seconds: float = QUIET_SECONDS) -> bool:
    sock.settimeout(seconds)
    try:
        return sock.recv(1) is None
    except TimeoutError:
        return True
    finally:
        sock.settimeout(60)


def send_until_held(sock: socket.socket) -> int:
    sock.settimeout(QUIET_SECONDS)
    sent = 0
    try:
        while sent < 100_000_000:
            sent += sock.send(bytes(65536))
    except TimeoutError:
        return sent
    return sent


def closed_port() -> int:
    """Return a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def frozen() -> Iterator[int]:
    """Yield a port that accepts connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
        yield server.getsockname()[1]


@contextmanager
def black_hole() -> Iterator[int]:
    """Yield a port whose packets go nowhere, as behind a firewall: a full
    queue of connections drops those that want to join it.
    """
    with ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        address = server.getsockname()
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.settimeout(0)
            waiting.connect_ex(address)
        yield address[1]
