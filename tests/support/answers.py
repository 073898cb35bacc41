"""An HTTP server that answers as a test wants it to, or never."""

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import trustme

__all__ = ["Answer", "answering", "certified"]


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
    """Whether it takes the request and says nothing."""

    url: str = ""
    """Where the server is, once it runs."""

    asked: list[str] = field(default_factory=list)
    """Paths that were asked for."""

    logins: list[str | None] = field(default_factory=list)
    """What each request said of who asks."""


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
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
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
