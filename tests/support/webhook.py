"""A webhook on loopback that behaves as it is told."""

import json
import time
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import structlog

from mirrorwatch.config import NotifyConfig
from mirrorwatch.domain.notices.model import (
    Notice,
    NotificationPolicy,
    NotificationState,
)
from mirrorwatch.domain.notices.notifier import Notifier
from mirrorwatch.domain.notices.text import Links
from mirrorwatch.domain.report import (
    Cause,
    Flow,
    Health,
    MaintenanceWindow,
    Verdict,
    keep_since,
)
from mirrorwatch.state import Database
from mirrorwatch.wiring import wire_notify

from .builders import FLOW, NOON, a_report, a_verdict
from .sink_process import stepping

__all__ = [
    "OTHER",
    "PATIENCE_SECONDS",
    "Delivering",
    "Telling",
    "Webhook",
    "kinds",
    "running",
    "serve_webhook",
    "until",
]


PATH = "/services/T0001/B0001/s3cretT0ken"
"""Ends in what nobody may see, as the addresses of Slack do."""


class Webhook:
    """What a webhook was sent, and what it answers."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}{PATH}"
        self.apprise_url = f"json://127.0.0.1:{port}{PATH}"

        self.port = port
        self.status = 200
        self.words = "ok"
        self.headers: dict[str, str] = {}
        self.bodies: list[dict[str, Any]] = []

        self.seen: list[dict[str, str]] = []

        self.hangs = False
        self.hanging = Event()

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
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield webhook
    finally:
        webhook.release.set()
        server.shutdown()
        server.server_close()
        thread.join()


PATIENCE_SECONDS = 120

LINKS = Links("http://watch.example")


class Delivering:
    """An agent's notices, from the report to the wire.

    Every tick comes a minute after the one before, and nothing is held down:
    what changes is told at once.
    """

    def __init__(
        self, state: Path, *webhooks: Webhook, kind: str = "webhook"
    ) -> None:
        config = NotifyConfig.model_validate(
            {
                "hold": "0s",
                "receivers": [
                    {
                        "name": f"r{n}",
                        "kind": kind,
                        "url": webhook.url
                        if kind == "webhook"
                        else webhook.apprise_url,
                    }
                    for n, webhook in enumerate(webhooks)
                ],
            }
        )
        self.database = Database(state)
        self.sink = wire_notify(
            config, self.database, LINKS, structlog.get_logger()
        )
        self.now = NOON

    def tick(
        self, health: Health, *, maintenance: Sequence[MaintenanceWindow] = ()
    ) -> None:
        self.now += timedelta(minutes=1)
        self.sink.publish(
            a_report(
                self.now,
                verdicts=[a_verdict(health, since=self.now)],
                maintenance=maintenance,
            )
        )

    def close(self) -> None:
        self.sink.close()
        self.database.close()


@contextmanager
def running(delivering: Delivering) -> Iterator[Delivering]:
    """Bring messages in threads, as the daemon does."""
    with ExitStack() as stack:
        stack.callback(delivering.close)
        for delivery in delivering.sink.deliveries:
            stack.enter_context(stepping(delivery))
        yield delivering


def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)  # between looks; the deadline decides


def kinds(webhook: Webhook) -> list[str]:
    """Return what kinds of notices a webhook took."""
    return [body["kind"] for body in webhook.bodies]


OTHER = Flow(name="commands", source="summit", target="ldf")


class Telling:
    """Ticks by hand, and what was told by them."""

    def __init__(
        self,
        policy: NotificationPolicy | None = None,
        *,
        flows: Iterable[Flow] = (FLOW,),
    ) -> None:
        self.policy = policy or NotificationPolicy()
        self.notifier = Notifier(self.policy)
        self.books = NotificationState()
        self.now = NOON
        self.told: list[Notice] = []
        self.flows = tuple(flows)
        self.verdicts: tuple[Verdict, ...] = ()

    def tick(
        self,
        health: Health | Mapping[str, Health],
        *,
        after: timedelta = timedelta(seconds=5),
        held: Collection[str] = (),
        flow: str = FLOW.name,
        cause: Cause | None = None,
    ) -> list[Notice]:
        """Judge a flow some time after the last tick, others as before."""
        self.now += after
        checks = {"canary": health} if isinstance(health, Health) else health
        others = tuple(v for v in self.verdicts if v.flow != flow)
        fresh = tuple(
            a_verdict(
                found,
                flow=flow,
                check=check,
                since=self.now,
                reason=f"{check} says {found.label}",
            )
            for check, found in checks.items()
        )
        self.verdicts = (*others, *keep_since(fresh, self.verdicts))
        self.books, notices = self.notifier.see(
            self.books,
            self.flows,
            self.verdicts,
            held,
            self.now,
            causes=[] if cause is None else [cause],
        )
        self.told += notices
        return list(notices)

    def last(
        self,
        health: Health | Mapping[str, Health],
        duration: timedelta,
        *,
        every: timedelta = timedelta(seconds=5),
        held: Collection[str] = (),
        cause: Cause | None = None,
    ) -> list[Notice]:
        """Let a health last for a while; return what was told of it."""
        told: list[Notice] = []
        end = self.now + duration
        while self.now < end:
            told += self.tick(health, after=every, held=held, cause=cause)
        return told

    def restart(self) -> None:
        """Begin anew with what was kept."""
        self.notifier = Notifier(self.policy)
