"""Servers of the imagination, for sinks that are isolated."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Thread

from mirrorwatch.exceptions import SinkError
from mirrorwatch.ports import Report, Worker
from mirrorwatch.sinks.batch import Batch

__all__ = ["FakeOutlet", "HangingOutlet", "stepping"]


class FakeOutlet:
    """Takes what it is sent, unless it is told to fail."""

    name = "fake"

    def __init__(self, *, points: int = 1) -> None:
        self.points = points
        self.error: Exception | None = None
        self.sent: list[str] = []
        self.timeouts: list[timedelta] = []
        self.closed = 0

    def encode(self, report: Report) -> Batch:
        return Batch(f"{report.at:%S}".encode(), self.points)

    def send(self, batch: Batch, timeout: timedelta) -> None:
        self.timeouts.append(timeout)
        if self.error is not None:
            raise self.error
        self.sent.append(batch.body.decode())

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
        thread.join(timeout=15)
