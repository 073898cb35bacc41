"""The HTTP client of everything that asks a server, with bounds.

Whatever a server does, a request ends in time and takes little memory: the
deadline is for all of it, from the name service to the end of the body, and
an answer is read and decompressed up to a size.
"""

import socket
import ssl
import time
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from email.utils import parsedate_to_datetime
from functools import cache
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import httpcore
import httpx

from .exceptions import ConfigError

__all__ = [
    "BUSY",
    "HttpAddress",
    "UnusableAnswerError",
    "bounded_client",
    "describe_failure",
    "open_client",
    "read_beginning",
    "read_retry_after",
    "resolve",
    "trust",
]


MOST_BYTES = 64 * 2**20
"""Largest answer: MBeans of 10,000 partitions are 8 MiB."""

PIECE = 2**14
"""Bytes that are written at once, between two looks at the deadline."""


class UnusableAnswerError(httpx.RemoteProtocolError):
    """An answer that is too large, or encoded as nobody asked for."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class HttpAddress:
    """Address and credentials of a server: never shown, wherever they go."""

    url: str
    username: str | None = None
    password: str | None = None
    ca: Path | None = None
    """CA file, if no public authority signs the server's certificate."""


def trust(ca: Path | None) -> ssl.SSLContext:
    """Return the TLS context that verifies a server.

    Parameters
    ----------
    ca
        CA file, if no public authority signs the server's certificate.

    Raises
    ------
    OSError
        Raised if the file cannot be read, or holds no certificate.
    """
    if ca is None:
        return _trust_public_authorities()
    return ssl.create_default_context(cafile=ca)


@cache
def _trust_public_authorities() -> ssl.SSLContext:
    # Some 150 certificates: read for each client, they take 0.1 s each time.
    return ssl.create_default_context()


def open_client(
    address: HttpAddress,
    *,
    key: str,
    timeout_seconds: float,
    accept: str = "application/json",
) -> httpx.Client:
    """Return a client that keeps its connection.

    Parameters
    ----------
    address
        Address of the server.
    key
        Key that configures it.
    timeout_seconds
        Timeout of a request.
    accept
        Media types that are understood.

    Raises
    ------
    ConfigError
        Raised if the certificate authority cannot be read.
    """
    try:
        verify = trust(address.ca)
    except OSError as e:
        raise ConfigError(f"{key}.ca {address.ca}: {e}") from e
    user, password = address.username, address.password or ""
    return bounded_client(
        timeout_seconds=timeout_seconds,
        auth=None if user is None else httpx.BasicAuth(user, password),
        verify=verify,
        headers={"Accept": accept},
        # One server, one connection; an answer that goes elsewhere is wrong.
        limits=httpx.Limits(max_connections=1),
    )


def bounded_client(
    *,
    timeout_seconds: float,
    deadline_seconds: float | None = None,
    most_bytes: int = MOST_BYTES,
    **options: Any,
) -> httpx.Client:
    """Return a client whose requests end in time, and answers in size.

    Parameters
    ----------
    timeout_seconds
        Timeout of a request, and of each step of it; the ``timeout`` of one
        request goes before it.
    deadline_seconds
        Deadline of a request, if it may take more than one step.
    most_bytes
        Size limit of an answer, decompressed.
    options
        Of `httpx.Client`. No redirect is followed unless they say so.

    Notes
    -----
    Too long an answer is a `httpx.TransportError`, as one that is late is.
    """

    def begin(request: httpx.Request) -> None:
        seconds = deadline_seconds or request.extensions["timeout"]["read"]
        _deadline.set(time.monotonic() + seconds)

    def bound(answer: httpx.Response) -> None:
        encoding = answer.headers.pop("Content-Encoding", "identity")
        if encoding not in {"gzip", "identity"}:
            raise UnusableAnswerError("an encoding that was not asked for")
        assert isinstance(answer.stream, httpx.SyncByteStream)  # noqa: S101
        answer.stream = _BoundedBody(
            answer.stream, most_bytes, gzip=encoding == "gzip"
        )

    client = httpx.Client(
        timeout=timeout_seconds,
        event_hooks={"request": [begin], "response": [bound]},
        **options,
    )
    client.headers["Accept-Encoding"] = "gzip"
    # httpx has no public way to give its pools a backend.
    for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001
        if isinstance(transport, httpx.HTTPTransport):
            pool = transport._pool  # noqa: SLF001
            pool._network_backend = _Backend(pool._network_backend)  # noqa: SLF001
    return client


def describe_failure(
    error: httpx.TransportError, timeout_seconds: float
) -> str:
    """Say why there was no answer; nothing of the request is part of it."""
    if isinstance(error, httpx.TimeoutException):
        return f"no answer within {timeout_seconds:g} s"
    return str(error) or type(error).__name__


def read_beginning(answer: httpx.Response, most_bytes: int) -> str:
    """Return the beginning of an answer, as much as comes in time."""
    body = b""
    try:
        for chunk in answer.iter_bytes():
            body += chunk
            if len(body) > most_bytes:
                break
    except httpx.TransportError:
        pass  # what came is as good as anything
    return body[:most_bytes].decode(errors="replace")


BUSY = {429, 503}
"""Statuses with which a server limits requests, or is unavailable: they say
nothing of what it was sent."""


def read_retry_after(answer: httpx.Response) -> timedelta | None:
    """Return how long a server asks to be left alone: seconds or a date."""
    asked = answer.headers.get("Retry-After", "").strip()
    try:
        if asked.isdecimal():
            return timedelta(seconds=int(asked))
        # Both by the server's clock, which may not be this machine's.
        said = parsedate_to_datetime(answer.headers.get("Date", ""))
        return max(parsedate_to_datetime(asked) - said, timedelta())
    except (ValueError, TypeError, OverflowError):
        return None  # a word, a date without a zone, or beyond all bounds


_deadline: ContextVar[float] = ContextVar("deadline")
"""Deadline of this thread's request, in monotonic seconds."""


class _BoundedBody(httpx.SyncByteStream):
    """The body of an answer, decompressed and bounded."""

    def __init__(
        self, inner: httpx.SyncByteStream, most_bytes: int, *, gzip: bool
    ) -> None:
        self._inner = inner
        self._most = most_bytes
        self._gzip = zlib.decompressobj(wbits=31) if gzip else None

    def __iter__(self) -> Iterator[bytes]:
        room, gzip = self._most, self._gzip
        for chunk in self._inner:
            piece = chunk
            if gzip is not None:
                try:
                    piece = gzip.decompress(chunk, room + 1)
                except zlib.error as e:
                    raise UnusableAnswerError("not gzip, as it says") from e
            room -= len(piece)
            if room < 0:
                raise UnusableAnswerError(
                    f"an answer of more than {self._most} bytes"
                )
            yield piece

    def close(self) -> None:
        self._inner.close()


def _left(timeout: float | None) -> float:
    left = _deadline.get() - time.monotonic()
    return left if timeout is None else min(timeout, left)


class _Stream(httpcore.NetworkStream):
    """A connection whose every step is within the request's deadline."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        left = _left(timeout)
        if left <= 0:
            raise httpcore.ReadTimeout
        return self._inner.read(max_bytes, left)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for begin in range(0, len(buffer), PIECE):
            left = _left(timeout)
            if left <= 0:
                raise httpcore.WriteTimeout
            self._inner.write(buffer[begin : begin + PIECE], left)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = max(_left(timeout), 0.001)
        return _Stream(
            self._inner.start_tls(ssl_context, server_hostname, left)
        )

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    """Opens such connections."""

    def __init__(self, inner: httpcore.NetworkBackend) -> None:
        self._inner = inner

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        addresses = _LOOKUPS.addresses(host, port, _left(timeout))
        while True:
            address = addresses.pop(0)
            # One that is out of reach leaves time for the others.
            left = max(_left(timeout) / (1 + len(addresses)), 0.001)
            try:
                return _Stream(
                    self._inner.connect_tcp(
                        address, port, left, local_address, socket_options
                    )
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if not addresses or _left(timeout) <= 0:
                    raise


class _Lookups:
    """Asks the name service, each time in a thread: it has no deadline.

    Nor can it be interrupted. Who asks for a name that is being looked up
    waits for that answer, so a service that hangs holds one thread a name.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._pending: dict[tuple[str, int], Future[list[str]]] = {}

    def addresses(self, host: str, port: int, seconds: float) -> list[str]:
        """Return the addresses of a host, if they are known in time."""
        with self._lock:
            found = self._pending.get((host, port))
            if found is None:
                found = self._pending[host, port] = Future()
                # Not of a pool: the end of the process would wait for it.
                Thread(
                    target=self._look_up,
                    args=(host, port, found),
                    name="name service",
                    daemon=True,
                ).start()
        try:
            return [*found.result(max(seconds, 0.0))]
        except TimeoutError as e:
            raise httpcore.ConnectTimeout from e
        except (OSError, UnicodeError) as e:
            raise httpcore.ConnectError(str(e)) from e

    def _look_up(self, host: str, port: int, found: Future[list[str]]) -> None:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found.set_result([str(address[0]) for *_, address in answers])
        except (OSError, UnicodeError) as e:
            found.set_exception(e)
        finally:
            with self._lock:
                del self._pending[host, port]


_LOOKUPS = _Lookups()


def resolve(host: str, port: int, seconds: float) -> list[str]:
    """Return the addresses of a host.

    Raises
    ------
    TimeoutError
        Raised if the name service does not answer in time.
    OSError
        Raised if it does not know the name.
    """
    try:
        return _LOOKUPS.addresses(host, port, seconds)
    except httpcore.ConnectTimeout as e:
        raise TimeoutError from e
    except httpcore.ConnectError as e:
        raise OSError(str(e)) from e
