"""The page on a real socket, fed with reports by hand."""

import gzip
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

from starlette.types import Receive, Scope, Send

from mirrorwatch.clock import utc_now
from mirrorwatch.ports import Report
from mirrorwatch.state import Database
from mirrorwatch.state.events import EventStore
from mirrorwatch.state.history import History
from mirrorwatch.web.app import LatestReport, create_app
from mirrorwatch.web.audits import AuditInbox
from mirrorwatch.web.headers import protected
from mirrorwatch.web.login import Credentials
from mirrorwatch.web.server import Server
from mirrorwatch.web.tls import ServerTLS

__all__ = ["METRICS", "SetClock", "SharedServer", "Stage", "serve_stage"]

METRICS = (b"mirrorwatch_health 0\n", "text/plain; version=0.0.4")


class SetClock:
    """A clock that is set by hand."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


class Stage:
    """What a daemon would hold, without the daemon.

    Without a clock of its own it is always as late as the last report: none
    grows old while a machine is busy with a browser.
    """

    def __init__(
        self,
        *,
        interval: timedelta = timedelta(seconds=5),
        clock: Callable[[], datetime] | None = None,
        audits: Path | None = None,
        inbox: AuditInbox | None = None,
        hosts: Collection[str] | None = None,
        credentials: Credentials | None = None,
        tls: ServerTLS | None = None,
        path: str = "",
    ) -> None:
        self.metrics: bytes | None = METRICS[0]
        self.latest = LatestReport()
        self.database = Database(None)
        self.history = History(self.database, interval=interval)
        self.events = EventStore(self.database, {})
        self.accepted: list[str | None] = []
        self.hosts, self.credentials, self.tls = hosts, credentials, tls
        self.path = path
        self.app = create_app(
            self.latest,
            self.history,
            self.events,
            self.exposition,
            interval=interval,
            clock=clock or self._time_of_last_report,
            audits=audits,
            inbox=inbox,
        )

    def exposition(
        self, accept: str | None, *, packed: bool
    ) -> tuple[bytes, str]:
        self.accepted.append(accept)
        if self.metrics is None:
            raise ArithmeticError("a bug")
        body = gzip.compress(self.metrics) if packed else self.metrics
        return body, METRICS[1]

    def _time_of_last_report(self) -> datetime:
        report = self.latest.get()
        return utc_now() if report is None else report.at

    def tick(self, report: Report) -> None:
        self.history.record(report)
        self.events.take(report.verdicts, report.causes, report.own_at)
        self.events.save(report.own_at)
        self.latest.publish(report)


class SharedServer:
    """A server for the stages of several tests, one after another."""

    def __init__(self) -> None:
        self._server = Server(self, "127.0.0.1", 0)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    def serve(self, stage: Stage) -> Server:
        """Serve this stage from now on."""
        self._app = protected(stage.app, stage.hosts, path=stage.path)
        return self._server

    async def __call__(
        self, scope: Scope, receive: Receive, send: Send
    ) -> None:
        await self._app(scope, receive, send)


@contextmanager
def serve_stage(stage: Stage, port: int = 0) -> Iterator[Server]:
    """Serve the page on loopback, on a free port unless one is given."""
    app = protected(stage.app, stage.hosts, stage.credentials, stage.path)
    server = Server(app, "127.0.0.1", port, stage.tls)
    server.start()
    try:
        yield server
    finally:
        server.stop()
