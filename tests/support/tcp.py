"""A TCP echo server, and clients that talk to it."""

import random
import socket
import socketserver
import time
from threading import Thread

__all__ = [
    "Echo",
    "EchoServer",
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
