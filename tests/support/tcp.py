"""A TCP echo server, and clients that talk to it."""

import random
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler
from threading import Thread

import httpx

from tests.support.http import HTTP, handling
from tests.support.tick_site import Server

__all__ = [
    "BreakingProxy",
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


WRITES = {"POST", "PUT", "PATCH", "DELETE"}


class BreakingProxy:
    """Passes requests on; one write is its server's last.

    Parameters
    ----------
    server
        The server; it is killed as by a loss of power.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self.writes_left: int | None = None
        """Writes until the server is killed: after the last one was done,
        and before anybody is told so."""
        self.missed = threading.Event()
        """Set when a request has found it away. Starting it again is for the
        test's own thread: what a thread starts dies with that thread."""

    def listen(self) -> AbstractContextManager[str]:
        """Yield the address to use instead of the server's."""
        return handling(self.pass_on)

    def pass_on(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"] or 0))
        try:
            answer = HTTP.request(
                request.command,
                self.server.url + request.path,
                content=body,
                headers={"Content-Type": "application/json"},
                timeout=120,
            )
        except httpx.TransportError:
            self.missed.set()
            request.close_connection = True
            return
        if request.command in WRITES and self.writes_left is not None:
            self.writes_left -= 1
            if not self.writes_left:
                self.writes_left = None
                self.server.kill()
                request.close_connection = True
                return
        request.send_response(answer.status_code)
        request.send_header("Content-Length", str(len(answer.content)))
        request.end_headers()
        request.wfile.write(answer.content)
