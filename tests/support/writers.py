"""What writes at the source of a lab: on and on, by keys, in transactions."""

from threading import Event, Thread
from types import TracebackType
from typing import Self

from confluent_kafka import Producer

from mirrorwatch.lab import Lab

from .lab import FLUSH_SECONDS

__all__ = ["Writer", "write_keys", "write_transactions"]


class Writer:
    """Writes a record every ten milliseconds."""

    def __init__(self, lab: Lab, topic: str) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": lab.source.bootstrap,
                "enable.idempotence": True,
                "log_level": 0,
            }
        )
        self._topic = topic
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
            value = f"w {self.written}".encode()
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
