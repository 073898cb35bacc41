"""What both sides hold, by plain readers, and what is written there.

Shares nothing with the agent: every record has a value of its own, and a copy
is a record of the target with that value.
"""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from itertools import count
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Self

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from mirrorwatch_lab.exceptions import LabError
from tests.support.lab import FLUSH_SECONDS

__all__ = ["Reader", "Traffic", "written_by"]

POLL_SECONDS = 0.5
LOOK_SECONDS = 2.0

CATCH_UP_SECONDS = 120.0


class Reader(AbstractContextManager["Reader"]):
    """Follows topics of one side from their starts on.

    Parameters
    ----------
    bootstrap
        Address of the side.
    topics
        Topics, which are never made again: a reader would miss that.
    """

    def __init__(self, bootstrap: str, topics: Iterable[str]) -> None:
        self._topics = frozenset(topics)
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "chaos",
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "allow.auto.create.topics": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_uncommitted",
                "reconnect.backoff.max.ms": 500,
                "topic.metadata.refresh.interval.ms": 2000,
                "log_level": 0,
            }
        )
        self._lock = Lock()
        self._copies: dict[str, Counter[bytes]] = {}
        self._next: dict[tuple[str, int], int] = {}
        self._assigned: set[tuple[str, int]] = set()
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="reader", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._thread.join()
        self._consumer.close()

    def values(self, topic: str) -> Counter[bytes]:
        """Return how often each value was read from a topic."""
        with self._lock:
            return Counter(self._copies.get(topic, {}))

    def read_to(self, topic: str, ends: Mapping[int, int]) -> None:
        """Wait until all below these offsets was read."""
        deadline = time.monotonic() + CATCH_UP_SECONDS
        while time.monotonic() < deadline:
            with self._lock:
                if all(
                    self._next.get((topic, p), 0) >= end
                    for p, end in ends.items()
                    if end
                ):
                    return
            self._stopping.wait(0.05)
        raise LabError(f"{topic} was not read to {dict(ends)}")

    def _run(self) -> None:
        look_at = 0.0
        while not self._stopping.is_set():
            if time.monotonic() >= look_at:
                self._assign()
                look_at = time.monotonic() + LOOK_SECONDS
            for message in self._consumer.consume(1000, POLL_SECONDS):
                topic, value = message.topic(), message.value()
                partition, offset = message.partition(), message.offset()
                if (
                    message.error() is not None
                    or topic is None
                    or partition is None
                    or offset is None
                ):
                    continue
                with self._lock:
                    self._next[topic, partition] = offset + 1
                    if value is not None:
                        self._copies.setdefault(topic, Counter())[value] += 1

    def _assign(self) -> None:
        # A broker that is down is asked again.
        with suppress(KafkaException):
            found = self._consumer.list_topics(timeout=1).topics
            fresh = {
                (name, partition)
                for name in self._topics & found.keys()
                for partition in found[name].partitions
            } - self._assigned
            if fresh:
                self._consumer.incremental_assign(
                    [TopicPartition(n, p, 0) for n, p in sorted(fresh)]
                )
                self._assigned |= fresh


def written_by(
    bootstrap: str,
    topic: str,
    values: Iterable[str],
    *,
    partition: int = 0,
    headers: Mapping[str, bytes] | None = None,
) -> list[bytes]:
    """Write records, wait until they are, and return their values."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "log_level": 0,
        }
    )
    refused: list[str] = []
    sent = [value.encode() for value in values]
    for value in sent:
        producer.produce(
            topic,
            value,
            partition=partition,
            headers=dict(headers or {}),
            on_delivery=lambda error, _: (
                refused.append(str(error)) if error else None
            ),
        )
    if producer.flush(FLUSH_SECONDS) or refused:
        raise LabError(f"{topic} could not be written: {refused[:1]}")
    return sent


class Traffic(AbstractContextManager["Traffic"]):
    """Writes to topics all the time, and remembers what was taken.

    Parameters
    ----------
    bootstrap
        Address of the source.
    rates
        Records a second of each partition, by topic.
    """

    def __init__(self, bootstrap: str, rates: Mapping[str, int]) -> None:
        self._rates = dict(rates)
        self.partitions: dict[str, int] = {}
        self.written: dict[str, set[bytes]] = {t: set() for t in rates}

        self.refused: list[str] = []
        self._paused: set[str] = set()
        self._lock = Lock()
        self._stopping = Event()
        self._numbers = count()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": 900_000,
                "linger.ms": 5,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        self._thread = Thread(target=self._run, name="traffic", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Write nothing more, and wait until all is written."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
            self._producer.flush(FLUSH_SECONDS)

    def pause(self, topic: str) -> None:
        """Write nothing more to a topic, and wait until all is written."""
        with self._lock:
            self._paused.add(topic)
        self._producer.flush(FLUSH_SECONDS)

    def go_on(self, topic: str) -> None:
        with self._lock:
            self._paused.discard(topic)

    def _run(self) -> None:
        begin = time.monotonic()
        for tenth in count():
            with self._lock:
                due = [
                    (topic, partition)
                    for topic, rate in self._rates.items()
                    if topic not in self._paused
                    for partition in range(self.partitions.get(topic, 0))
                    if tenth * rate // 10 != (tenth + 1) * rate // 10
                ]
                for topic, partition in due:
                    self._write(topic, partition)
            self._producer.poll(0)
            pause = begin + (tenth + 1) / 10 - time.monotonic()
            if self._stopping.wait(max(0.0, pause)):
                return

    def _write(self, topic: str, partition: int) -> None:
        value = f"{topic} {next(self._numbers)}".encode()

        def note(error: Any, _: Any) -> None:
            if error is None:
                self.written[topic].add(value)
            else:
                self.refused.append(f"{topic}: {error}")

        # A partition that was just added is known a moment later.
        with suppress(KafkaException, BufferError):
            self._producer.produce(
                topic, value, partition=partition, on_delivery=note
            )
