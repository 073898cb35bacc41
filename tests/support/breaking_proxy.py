"""Stands before a real server and kills it at a chosen write."""

import threading
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler

import httpx

from tests.support.handling import handling
from tests.support.plain_http import HTTP
from tests.support.tick_site import Server

__all__ = ["BreakingProxy"]

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
