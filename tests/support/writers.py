"""What writes at the source of a lab: on and on, by keys, in transactions."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from threading import Event, Thread
from types import TracebackType
from typing import Self

from confluent_kafka import Producer

from mirrorwatch_lab import Lab

from .lab import FLUSH_SECONDS

__all__ = ["Writer", "traffic", "write_at", "write_keys"]
__all__ += ["write_transactions"]


class Writer:
    """Writes a record every ten milliseconds, of some size at least."""

    def __init__(self, lab: Lab, topic: str, *, size: int = 0) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": lab.source.bootstrap,
                "enable.idempotence": True,
                "log_level": 0,
            }
        )
        self._topic = topic
        self._size = size
        self._stop = Event()
        self._thread = Thread(target=self._run, daemon=True)
        self.written = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()
        assert self._producer.flush(FLUSH_SECONDS) == 0

    def _run(self) -> None:
        while not self._stop.wait(0.01):
            value = f"w {self.written}".ljust(self._size).encode()
            self._producer.produce(self._topic, value, partition=0)
            self._producer.poll(0)
            self.written += 1


def write_keys(lab: Lab, topic: str, count: int, name: str) -> None:
    """Write records of five keys in turn."""
    producer = Producer({"bootstrap.servers": lab.source.bootstrap})
    for n in range(count):
        producer.produce(topic, f"{name} {n}".encode(), key=str(n % 5))
    assert producer.flush(FLUSH_SECONDS) == 0


def write_transactions(lab: Lab, topic: str, name: str) -> None:
    """Write eight transactions of ten records; each fourth is aborted."""
    producer = Producer(
        {
            "bootstrap.servers": lab.source.bootstrap,
            "transactional.id": f"tests.{topic}.{name}",
        }
    )
    producer.init_transactions(FLUSH_SECONDS)
    for n in range(8):
        producer.begin_transaction()
        for m in range(10):
            producer.produce(topic, f"{name} {n} {m}".encode())
        producer.flush(FLUSH_SECONDS)
        if n % 4 == 3:
            producer.abort_transaction(FLUSH_SECONDS)
        else:
            producer.commit_transaction(FLUSH_SECONDS)


def write_at(
    lab: Lab, topic: str, times: Sequence[datetime], name: str
) -> None:
    """Write a record with each of these timestamps."""
    producer = Producer({"bootstrap.servers": lab.source.bootstrap})
    for n, time in enumerate(times):
        sent = int(time.timestamp() * 1000)
        producer.produce(topic, f"{name} {n}", partition=0, timestamp=sent)
    assert producer.flush(FLUSH_SECONDS) == 0


@contextmanager
def traffic(lab: Lab, topic: str, partitions: int) -> Iterator[None]:
    """Write to all partitions of a topic, some hundred records a second."""
    stopping = Event()

    def run() -> None:
        client = {"bootstrap.servers": lab.source.bootstrap, "linger.ms": 5}
        producer = Producer(client)
        number = 0
        while not stopping.wait(0.02):
            for partition in range(partitions):
                for _ in range(partition * 3 + 1):
                    producer.produce(
                        topic, f"{partition} {number}", partition=partition
                    )
                    number += 1
            producer.poll(0)
        producer.flush(FLUSH_SECONDS)

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()
