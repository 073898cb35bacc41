"""What our HTTP client bears of a server that means harm, or is broken."""

import gzip
import socket
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
import pytest

import mirrorwatch
import mirrorwatch_promotion
from mirrorwatch.http import (
    HttpAddress,
    bounded_client,
    open_client,
    read_retry_after,
)

pytestmark = pytest.mark.slow


OK = b"HTTP/1.1 200 OK\r\n"
LIMIT = 10_000
SECONDS = 0.4
PATIENCE = 60.0
"""Of a busy machine. Whoever waits for these servers waits for ever."""

Behaviour = Callable[[socket.socket, Event], None]


@contextmanager
def raw_server(behave: Behaviour) -> Iterator[str]:
    """Serve one connection after another, each by a function."""
    over = Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.05)

        def serve() -> None:
            while not over.is_set():
                try:
                    connection, _ = listening.accept()
                except TimeoutError:
                    continue
                with connection, suppress(OSError):
                    connection.settimeout(PATIENCE)
                    connection.recv(65536)
                    behave(connection, over)

        thread = Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            over.set()
            thread.join()


def drip(begin: bytes, piece: bytes) -> Behaviour:
    """Send something, then a little again and again, for ever."""

    def behave(connection: socket.socket, over: Event) -> None:
        connection.sendall(begin)
        while not over.wait(SECONDS / 8):
            connection.sendall(piece)

    return behave


def flood(begin: bytes, piece: bytes) -> Behaviour:
    def behave(connection: socket.socket, over: Event) -> None:
        connection.sendall(begin)
        while not over.is_set():
            connection.sendall(piece)

    return behave


def say(answer: bytes) -> Behaviour:
    return lambda connection, _: connection.sendall(answer)


LATE = {
    "dripping status": drip(b"H", b""),
    "dripping headers": drip(OK, b"x: y\r\n"),
    "one endless header": drip(OK + b"x: ", b"y"),
    "dripping body": drip(OK + b"Content-Length: 999\r\n\r\n", b"x"),
    "body without end": drip(OK + b"\r\n", b"x"),
    "silent": drip(b"", b""),
}


@pytest.mark.parametrize("behave", LATE.values(), ids=LATE)
def test_a_request_ends_in_time_however_the_answer_drips(
    behave: Behaviour,
) -> None:
    with (
        raw_server(behave) as url,
        bounded_client(timeout_seconds=SECONDS) as http,
    ):
        began = time.monotonic()
        with pytest.raises(httpx.TimeoutException):
            http.get(url)
        assert SECONDS <= time.monotonic() - began < PATIENCE / 2


BOMB = gzip.compress(bytes(10**8))
ENCODED = OK + b"Content-Encoding: gzip\r\n"
LARGE = {
    "endless body": flood(OK + b"\r\n", bytes(65536)),
    "endless chunks": flood(
        OK + b"Transfer-Encoding: chunked\r\n\r\n",
        b"4000\r\n" + bytes(0x4000) + b"\r\n",
    ),
    "a body too large": say(
        OK + b"Content-Length: 10001\r\n\r\n" + bytes(10001)
    ),
    "a bomb": say(ENCODED + b"Content-Length: %d\r\n\r\n" % len(BOMB) + BOMB),
    "no gzip": say(ENCODED + b"Content-Length: 3\r\n\r\nabc"),
    "another encoding": say(
        OK + b"Content-Encoding: deflate\r\nContent-Length: 3\r\n\r\nabc"
    ),
    "two encodings": say(
        OK + b"Content-Encoding: gzip, gzip\r\nContent-Length: 0\r\n\r\n"
    ),
    "headers without end": flood(OK, b"x: " + b"y" * 1000 + b"\r\n"),
}


@pytest.mark.parametrize("behave", LARGE.values(), ids=LARGE)
def test_an_answer_takes_no_more_memory_than_is_allowed(
    behave: Behaviour,
) -> None:
    with (
        raw_server(behave) as url,
        bounded_client(timeout_seconds=PATIENCE, most_bytes=LIMIT) as http,
        pytest.raises(httpx.TransportError) as caught,
    ):
        http.get(url)
    assert not isinstance(caught.value, httpx.TimeoutException)


def test_what_is_within_the_bounds_is_read_compressed_or_not() -> None:
    text = bytes(range(256)) * 39
    packed = gzip.compress(text)
    for answer in (
        OK + b"Content-Length: %d\r\n\r\n" % len(text) + text,
        ENCODED + b"Content-Length: %d\r\n\r\n" % len(packed) + packed,
    ):
        with (
            raw_server(say(answer)) as url,
            bounded_client(timeout_seconds=PATIENCE, most_bytes=LIMIT) as http,
        ):
            assert http.get(url).content == text
    assert zlib.decompress(packed, wbits=31) == text


def never_read(_: socket.socket, over: Event) -> None:
    over.wait(PATIENCE)


def test_a_server_that_does_not_read_is_given_up() -> None:
    with (
        raw_server(never_read) as url,
        bounded_client(timeout_seconds=SECONDS) as http,
    ):
        began = time.monotonic()
        with pytest.raises(httpx.TimeoutException):
            http.post(url, content=bytes(10**8))
        assert time.monotonic() - began < PATIENCE / 2


def test_a_client_with_a_login_is_bounded_as_well() -> None:
    with raw_server(LATE["dripping headers"]) as url:
        address = HttpAddress(url=url, username="a", password="b")  # noqa: S106
        with open_client(address, key="x", timeout_seconds=SECONDS) as http:
            for _ in range(2):
                with pytest.raises(httpx.TimeoutException):
                    http.get(url)


class NameService:
    """Answers for one name, and not before it is released."""

    name = "server.invalid"

    def __init__(self) -> None:
        self.released = Event()
        self.addresses = ["127.0.0.1"]
        self.asked = 0
        self._really = socket.getaddrinfo

    def __call__(self, host: str, port: int, *more: Any, **how: Any) -> Any:
        if host != self.name:
            return self._really(host, port, *more, **how)
        self.asked += 1
        self.released.wait(PATIENCE)
        if not self.addresses:
            raise socket.gaierror(socket.EAI_NONAME, "not known")
        return [
            found
            for address in self.addresses
            for found in self._really(address, port, *more, **how)
        ]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[NameService]:
    service = NameService()
    monkeypatch.setattr(socket, "getaddrinfo", service)
    yield service
    service.released.set()


NO_CONTENT = OK + b"Content-Length: 0\r\n\r\n"


@pytest.mark.parametrize(
    ("date", "seconds"),
    [
        ({"Date": "Wed, 01 Jan 2020 10:00:00 GMT"}, 90),
        ({"Date": "Wed, 01 Jan 2020 10:02:00 GMT"}, 0),
        ({}, None),
    ],
)
def test_a_date_to_wait_for_is_read_by_the_server_s_own_clock(
    date: dict[str, str], seconds: float | None
) -> None:
    until = {"Retry-After": "Wed, 01 Jan 2020 10:01:30 GMT"}
    answer = httpx.Response(503, headers=until | date)
    asked = None if seconds is None else timedelta(seconds=seconds)
    assert read_retry_after(answer) == asked


def test_a_name_service_that_hangs_holds_no_request_and_one_thread(
    names: NameService,
) -> None:
    with raw_server(say(NO_CONTENT)) as url:
        named = url.replace("127.0.0.1", names.name)
        began = time.monotonic()
        for _ in range(3):
            with (
                bounded_client(timeout_seconds=SECONDS) as http,
                pytest.raises(httpx.ConnectTimeout),
            ):
                http.get(named)
        assert time.monotonic() - began < PATIENCE / 2
        assert names.asked == 1
        names.released.set()
        with bounded_client(timeout_seconds=PATIENCE) as http:
            assert http.get(named).is_success


def test_a_name_with_several_addresses_is_reached_by_any(
    names: NameService,
) -> None:
    names.released.set()
    names.addresses = ["127.0.0.2", "127.0.0.1"]
    with (
        raw_server(say(NO_CONTENT)) as url,
        bounded_client(timeout_seconds=PATIENCE) as http,
    ):
        assert http.get(url.replace("127.0.0.1", names.name)).is_success


def test_a_name_that_is_not_known_is_said_to_be_so(
    names: NameService,
) -> None:
    names.released.set()
    names.addresses = []
    with (
        bounded_client(timeout_seconds=PATIENCE) as http,
        pytest.raises(httpx.ConnectError, match="not known"),
    ):
        http.get(f"http://{names.name}/")


def test_nobody_asks_a_server_but_by_the_bounded_client() -> None:
    packages = (mirrorwatch, mirrorwatch_promotion)
    folders = [Path(str(p.__file__)).parent for p in packages]
    ways = ("httpx.Client(", "httpx.get(", "httpx.post(", "urllib3", "urlopen")
    assert [
        f"{file}: {way}"
        for folder in folders
        for file in folder.rglob("*.py")
        for way in ways
        if way in file.read_text() and file != folders[0] / "http.py"
    ] == []
