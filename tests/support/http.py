"""Plain HTTP with servers on this machine."""

import gzip
import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
import trustme

__all__ = [
    "HTTP",
    "Answer",
    "answering",
    "certified",
    "handling",
    "serving",
    "serving_connect",
]


HTTP = httpx.Client(
    trust_env=False,
    # Each request on a connection of its own: servers come, go and are
    # killed, and nothing is left open.
    limits=httpx.Limits(max_keepalive_connections=0),
)
"""To be used in place of `httpx.get` and its like, which load the certificates
of all authorities for each request: twenty times the work of asking a server
of this machine. A test may ask from several threads."""


@contextmanager
def serving(body: bytes, status: int = 200) -> Iterator[str]:
    """Serve it under every path as plain text; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def handling(
    handle: Callable[[BaseHTTPRequestHandler], None],
) -> Iterator[str]:
    """Give every request to a function, and yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do(self) -> None:
            handle(self)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def serving_connect(
    connectors: Mapping[str, Any], version: str
) -> Iterator[str]:
    """Say what a worker of Connect does, and yield its address."""

    def handle(request: BaseHTTPRequestHandler) -> None:
        said = {"version": version} if request.path == "/" else connectors
        body = json.dumps(said).encode()
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    with handling(handle) as url:
        yield url


def certified(ca: Path) -> ssl.SSLContext:
    """Return a server's side of TLS; its authority is written to a file."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(ca))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


@dataclass
class Answer:
    """What the server says to every request."""

    status: int = 204
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    never: bool = False
    url: str = ""
    """Where the server is, once it runs."""

    asked: list[str] = field(default_factory=list)
    logins: list[str | None] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)


@contextmanager
def answering(
    answer: Answer, tls: ssl.SSLContext | None = None
) -> Iterator[Answer]:
    """Run a server on a free port of loopback."""
    over = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            answer.asked.append(self.path)
            answer.logins.append(self.headers.get("Authorization"))
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            answer.bodies.append(body)
            if answer.never:
                over.wait()
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        do_GET = do_POST  # noqa: N815 - how the library names it

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    scheme = "http" if tls is None else "https"
    answer.url = f"{scheme}://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield answer
    finally:
        over.set()
        server.shutdown()
        server.server_close()
        thread.join()
