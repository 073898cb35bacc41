"""A webhook on loopback that behaves as it is told."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

__all__ = ["Webhook", "serve_webhook"]

PATH = "/services/T0001/B0001/s3cretT0ken"
"""Ends in what nobody may see, as the addresses of Slack do."""


class Webhook:
    """What a webhook was sent, and what it answers."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}{PATH}"
        self.port = port
        self.status = 200
        self.words = "ok"
        self.headers: dict[str, str] = {}
        self.bodies: list[dict[str, Any]] = []
        """What it took."""

        self.seen: list[dict[str, str]] = []
        """Headers of every request."""

        self.hangs = False
        self.hanging = Event()
        """Set while it keeps somebody waiting."""

        self.release = Event()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    webhook: Webhook


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        webhook = self.server.webhook
        body = self.rfile.read(int(self.headers["Content-Length"]))
        webhook.seen.append(dict(self.headers))
        if webhook.hangs:
            webhook.hanging.set()
            webhook.release.wait()
            self.close_connection = True
            return
        assert self.path == PATH
        if webhook.status == 200:
            webhook.bodies.append(json.loads(body))
        self.send_response(webhook.status)
        for name, value in webhook.headers.items():
            self.send_header(name, value)
        words = webhook.words.encode()
        self.send_header("Content-Length", str(len(words)))
        self.end_headers()
        self.wfile.write(words)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def serve_webhook(port: int = 0) -> Iterator[Webhook]:
    """Serve a webhook, on a free port unless one is given."""
    server = _Server(("127.0.0.1", port), _Handler)
    server.webhook = webhook = Webhook(server.server_address[1])
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield webhook
    finally:
        webhook.release.set()
        server.shutdown()
        server.server_close()
        thread.join()
