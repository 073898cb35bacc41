"""The sink of notices with its receivers, fed with reports by hand."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import structlog

from mirrorwatch.config import NotifyConfig
from mirrorwatch.domain.notices.text import Links
from mirrorwatch.domain.report import Health, MaintenanceWindow
from mirrorwatch.state import Database
from mirrorwatch.wiring import wire_notify

from .builders import NOON, a_report, a_verdict
from .outlets import stepping
from .webhook import Webhook

__all__ = ["PATIENCE_SECONDS", "Delivering", "kinds", "running", "until"]

PATIENCE_SECONDS = 120

LINKS = Links("http://watch.example", lambda check, _: f"/runbook#{check}")


class Delivering:
    """An agent's notices, from the report to the wire.

    Every tick comes a minute after the one before, and nothing is held down:
    what changes is told at once.
    """

    def __init__(self, state: Path, *webhooks: Webhook) -> None:
        config = NotifyConfig.model_validate(
            {
                "hold": "0s",
                "recovery": "0s",
                "receivers": [
                    {"name": f"r{n}", "kind": "webhook", "url": webhook.url}
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
