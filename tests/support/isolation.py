"""An isolated sink on a fake outlet and a fake clock."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from sqlite3 import Connection

import structlog

from mirrorwatch.exceptions import StateError
from mirrorwatch.sinks.queued import Backoff, QueuedSink
from mirrorwatch.state import Database
from mirrorwatch.state.queue import DeliveryQueue, DurableQueue

from .builders import NOON, a_report
from .sink_process import FakeOutlet

__all__ = ["Bench", "BrokenDatabase", "FakeClock", "kept_bytes"]

MOST_STEPS = 1000


@dataclass
class FakeClock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


class BrokenDatabase(Database):
    """A state file on a disk that is full, while it is told to be."""

    broken = False

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        if self.broken:
            raise StateError("Cannot use the state file: disk full")
        with super().transaction() as sql:
            yield sql


def kept_bytes(body: str) -> int:
    """Return what a body takes in the spool."""
    return len(zlib.compress(body.encode(), 1))


class Bench:
    """An isolated sink on a fake outlet and a fake clock.

    Parameters
    ----------
    limit
        How many batches of one point may be spooled.
    points
        How many points a tick has.
    path
        Where the state file is; `None` for memory only.
    most_fresh
        How many batches may wait in memory.
    outlet
        What it sends to.
    in_order
        Whether no batch may overtake another.
    """

    def __init__(
        self,
        limit: int = 1000,
        points: int = 1,
        path: Path | None = None,
        most_fresh: int = 3,
        outlet: FakeOutlet | None = None,
        *,
        in_order: bool = False,
    ) -> None:
        self.outlet = outlet or FakeOutlet(points=points)
        self.clock = FakeClock()
        self.database = BrokenDatabase(path)
        self.queue = DeliveryQueue(
            DurableQueue(
                self.database, "fake", most_bytes=limit * kept_bytes("0000")
            ),
            most_fresh=most_fresh,
            in_order=in_order,
        )
        self.backoff = Backoff(clock=self.clock, jitter=lambda: 0.5)
        self.sink = QueuedSink(
            self.outlet,
            encode=self.outlet.encode,
            queue=self.queue,
            backoff=self.backoff,
            clock=self.clock,
            logger=structlog.get_logger(),
        )
        self.published = 0

    def publish(self, count: int = 1) -> None:
        for _ in range(count):
            at = NOON + timedelta(seconds=self.published)
            self.published += 1
            self.sink.publish(a_report(at))

    def step(self) -> None:
        """Step after any pause is over."""
        self.clock.now += 3600
        self.sink.step()

    def drain(self) -> None:
        """Step until nothing waits."""
        steps = 0
        while self.sink.spooled_points:
            steps += 1
            assert steps < MOST_STEPS, "it never drains"
            self.step()
