"""The web server, in a thread of its own."""

import asyncio
import logging
import socket
import threading
import time
from contextlib import suppress
from email.utils import formatdate
from functools import partial
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.server import ServerState

from ..exceptions import WebError
from .connections import (
    HEAD_SECONDS,
    BoundedConnection,
    Connections,
    Handshake,
    Newcomer,
    RareLines,
    TLSNewcomer,
)
from .tls import ServerTLS

__all__ = ["Server"]


LOG = logging.getLogger("uvicorn.error")

START_SECONDS = 10.0
STOP_SECONDS = 1.5
"""The agent ends within 5 s."""

QUEUE = 4096
"""Connections that the kernel keeps until they are taken: Linux allows no
more. Beyond, a client tries again after a second."""

SOCKETS = 4 if hasattr(socket, "SO_REUSEPORT") else 1
"""Number of sockets that listen on the one address, each with a queue: a burst
of thousands must not fill them before one turn of the event loop."""

BATCH = 128 // SOCKETS
"""Connections that are taken at a time from each socket. Of all sockets, a
quarter of those that may wait for a request: it is read one turn of the event
loop later, and a flood must not close its connection before."""

PAUSE_SECONDS = 0.1
"""Until connections are taken again where no more files may be opened."""

GOODBYE_SECONDS = 1.0
"""Until a client has said that it read the last answer by TLS; asyncio would
wait for half a minute."""


class Server:
    """Serves the page until it is stopped.

    Parameters
    ----------
    app
        Application to serve.
    host
        Address to listen on.
    port
        Port to listen on, 0 for any free one.
    tls
        Certificate and key; without them the page is served by plain HTTP.
    """

    name = "web"

    def __init__(
        self,
        app: ASGIApp,
        host: str,
        port: int,
        tls: ServerTLS | None = None,
    ) -> None:
        self._host = host
        self._wanted_port = port
        self._tls = tls
        self._sockets: list[socket.socket] = []
        self.connections = Connections(tls=tls is not None)

        self._uvicorn = _CalmServer(
            uvicorn.Config(
                app,
                http="h11",
                access_log=False,
                log_config=None,
                lifespan="off",
                ws="none",
                server_header=False,
                timeout_graceful_shutdown=1,
            ),
            self.connections,
            tls,
        )
        self._thread = threading.Thread(
            target=self._run, name="web", daemon=True
        )

    @property
    def port(self) -> int:
        """Port that is listened on; the wanted one before `start`."""
        if not self._sockets:
            return self._wanted_port
        port: int = self._sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """Address to give to a browser."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://{host}:{self.port}"

    def start(self) -> None:
        """Listen, and serve from now on.

        Raises
        ------
        WebError
            Raised if the address cannot be listened on, or the certificate
            not be used.
        """
        if self._tls is not None:
            self._tls.load()
        self._sockets = self._listen()
        LOG.filters[:] = [RareLines()]
        self._thread.start()
        deadline = time.monotonic() + START_SECONDS
        while not self._uvicorn.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise WebError(f"The web server at {self.url} did not start")
            time.sleep(0.005)

    def stop(self) -> None:
        """Answer what is being asked, then stop listening."""
        self._uvicorn.stop()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)
        for each in self._sockets:
            each.close()

    def _listen(self) -> list[socket.socket]:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        address = (self._host, self._wanted_port)
        try:
            # Refused where anybody listens, another agent of ours included:
            # sockets that share an address would not be.
            with socket.create_server(address, family=family) as first:
                address = (self._host, first.getsockname()[1])
            return [
                socket.create_server(
                    address,
                    family=family,
                    backlog=QUEUE,
                    reuse_port=SOCKETS > 1,
                )
                for _ in range(SOCKETS)
            ]
        except (OSError, OverflowError) as e:
            raise WebError(
                f"Cannot listen on {self.url}: {e}. Stop what uses that "
                "address, or set web.listen in the configuration to another "
                "(127.0.0.1:0 takes any free port)"
            ) from e

    def _run(self) -> None:
        # Outside the main thread uvicorn leaves signals to the daemon.
        self._uvicorn.run(sockets=self._sockets)


class _Dated(ServerState):
    """Default headers of answers, with the time at which each is requested.

    uvicorn keeps it up to date ten times a second, which costs an idle agent
    more than serving does.
    """

    @property
    def default_headers(self) -> list[tuple[bytes, bytes]]:
        return [(b"date", formatdate(usegmt=True).encode())]

    @default_headers.setter
    def default_headers(self, _: list[tuple[bytes, bytes]]) -> None:
        """Leave what uvicorn sets when it starts."""


class _CalmServer(uvicorn.Server):
    """uvicorn that wakes up when it is asked, and stops at once.

    It takes connections itself: for each, asyncio and uvicorn make a task, a
    transport and a parser, though nothing was asked yet.
    """

    _loop: asyncio.AbstractEventLoop | None = None

    def __init__(
        self,
        config: uvicorn.Config,
        connections: Connections,
        tls: ServerTLS | None,
    ) -> None:
        super().__init__(config)
        self.server_state = _Dated()
        self._connections = connections
        self._tls = tls

    async def startup(
        self, sockets: list[socket.socket] | None = None
    ) -> None:
        self._asked = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        await super().startup([])
        for each in sockets or []:
            each.settimeout(0)
            self._listen(each)

    async def main_loop(self) -> None:
        await self._asked.wait()

    async def shutdown(
        self, sockets: list[socket.socket] | None = None
    ) -> None:
        for listening in sockets or []:
            asyncio.get_running_loop().remove_reader(listening)
        idle = {*self._connections.waiting, *self._connections.greeted}
        for waiting in idle:
            waiting.abort()
        await super().shutdown(sockets)

    def stop(self) -> None:
        """Stop at once; called from another thread."""
        self.should_exit = True
        if self._loop is not None:
            with suppress(RuntimeError):  # it has stopped by itself
                self._loop.call_soon_threadsafe(self._asked.set)

    def _listen(self, listening: socket.socket) -> None:
        if not self.should_exit:
            loop = asyncio.get_running_loop()
            loop.add_reader(listening, self._take, listening)

    def _take(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(BATCH):
            try:
                taken, address = listening.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as e:
                LOG.warning("No connection can be taken: %s", e)
                loop.remove_reader(listening)
                loop.call_later(PAUSE_SECONDS, self._listen, listening)
                return
            taken.settimeout(0)
            newcomer = Newcomer if self._tls is None else TLSNewcomer
            hand_over = partial(self._hand_over, address[0])
            newcomer(taken, address[0], self._connections, hand_over)

    def _hand_over(
        self, address: str, connection: socket.socket, said: bytes
    ) -> None:
        loop = asyncio.get_running_loop()
        protocol = partial(
            BoundedConnection,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
            _loop=loop,
            others=self._connections,
            said=said,
        )
        options: dict[str, Any] = {}
        if self._tls is not None:
            options = {
                "ssl": self._tls.context(),
                "ssl_handshake_timeout": HEAD_SECONDS,
                "ssl_shutdown_timeout": GOODBYE_SECONDS,
            }
        task = loop.create_task(
            loop.connect_accepted_socket(protocol, connection, **options)
        )
        if self._tls is not None:
            Handshake(connection, address, self._connections, task)
        tasks: set[asyncio.Task[Any]] = self.server_state.tasks
        tasks.add(task)
        task.add_done_callback(tasks.discard)
