"""Servers of the imagination, for sinks that are isolated."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Thread

from mirrorwatch.exceptions import SinkError, SinkRejectedError
from mirrorwatch.ports import Report, Worker
from mirrorwatch.sinks.queue import Batch

__all__ = ["FakeOutlet", "HangingOutlet", "stepping"]


class FakeOutlet:
    """Takes what it is sent, unless it is told to fail."""

    name = "fake"

    def __init__(self, *, points: int = 1) -> None:
        self.points = points
        self.error: Exception | None = None
        self.bad: set[str] = set()
        """Points that are refused."""

        self.strict = False
        """Whether it takes nothing of a body with a bad point, as InfluxDB
        2.x does with lines that it cannot parse. Else it takes the rest and
        says how many it dropped."""

        self.sent: list[str] = []
        self.requests: list[int] = []
        """How many points each request had."""

        self.timeouts: list[timedelta] = []
        self.closed = 0

    def encode(self, report: Report) -> Batch:
        """Name each point after the second of its tick."""
        second = f"{report.at:%M%S}"
        more = [f"{second}.{n}" for n in range(1, self.points)]
        return Batch("\n".join([second, *more]).encode(), self.points)

    def send(self, batch: Batch, timeout: timedelta) -> None:
        self.timeouts.append(timeout)
        self.requests.append(batch.points)
        if self.error is not None:
            raise self.error
        points = batch.body.decode().split("\n")
        assert len(points) == batch.points
        good = [point for point in points if point not in self.bad]
        dropped = len(points) - len(good)
        if not (dropped and self.strict):
            self.sent += good
        if dropped:
            raise SinkRejectedError(
                "bad point",
                sink=self.name,
                points=None if self.strict else dropped,
            )

    def close(self) -> None:
        self.closed += 1


class HangingOutlet(FakeOutlet):
    """Does not answer until it is released; then says that it is away."""

    def __init__(self) -> None:
        super().__init__()
        self.entered = Event()
        self.release = Event()

    def send(self, batch: Batch, timeout: timedelta) -> None:
        self.entered.set()
        self.release.wait()
        raise SinkError("no answer in time", sink=self.name)


@contextmanager
def stepping(worker: Worker) -> Iterator[Thread]:
    """Step a worker in a thread, as the daemon does."""
    stop = Event()

    def loop() -> None:
        while not stop.is_set():
            worker.step()

    thread = Thread(target=loop, daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        stop.set()
        thread.join(timeout=120)
