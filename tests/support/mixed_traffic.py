"""Everything that healthy topics do: nothing of it may be called amiss."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from threading import Event, Thread
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaException, Producer

from mirrorwatch_lab import Lab

from .lab import FLUSH_SECONDS

__all__ = ["MIXED_CONFIGS", "MIXED_TOPICS", "MixedTraffic"]

IDLE = "mixed.idle"
BURSTS = "mixed.bursts"
TRANSACTIONS = "mixed.transactions"
COMPACTED = "mixed.compacted"
EXPIRING = "mixed.expiring"
GROWING = "mixed.growing"
NEW = "mixed.new"

MIXED_TOPICS = {
    IDLE: 2,
    BURSTS: 3,
    TRANSACTIONS: 2,
    COMPACTED: 2,
    EXPIRING: 1,
    GROWING: 1,
}
"""Topics that exist before the mirror starts, and their partitions."""

MIXED_CONFIGS = {
    # A segment is closed by the next record after this time; only closed
    # ones are compacted or expire.
    COMPACTED: {
        "cleanup.policy": "compact",
        "segment.ms": "5000",
        "min.cleanable.dirty.ratio": "0.01",
    },
    EXPIRING: {"retention.ms": "120000", "segment.ms": "10000"},
}
"""Their configuration."""

BURST = 3000
"""Records at once, every 20 s: seconds of work for no mirror."""

KEYS = 5
"""Of the compacted topic: few, so that most of its records go."""


class MixedTraffic:
    """A thread that writes to all of them, and makes more topics.

    A transaction is committed or aborted in turn, every fifth record of the
    compacted topic is a tombstone, a topic is made every 100 s and another
    grows by a partition every 150 s.
    """

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._client = {"bootstrap.servers": lab.source.bootstrap}
        self._stopping = Event()
        self._failed: list[str] = []
        self._thread = Thread(target=self._run, name="mixed", daemon=True)
        self._grown = MIXED_TOPICS[GROWING]
        self.rounds = 0
        """Seconds of work done."""

    def __enter__(self) -> Self:
        self._plain = Producer({**self._client, "linger.ms": 5})
        self._transactional = Producer(
            {**self._client, "transactional.id": "mixed-traffic"}
        )
        self._transactional.init_transactions(FLUSH_SECONDS)
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
        assert self._plain.flush(FLUSH_SECONDS) == 0
        assert self._failed == []

    def _run(self) -> None:
        """Do what is due, second by second."""
        begin = time.monotonic()
        for second, deeds in enumerate(self._due()):
            for deed in deeds:
                deed()
            self._plain.poll(0)
            self.rounds = second + 1
            pause = begin + second + 1 - time.monotonic()
            if self._stopping.wait(max(0.0, pause)):
                return

    def _due(self) -> Iterator[list[Callable[[], None]]]:
        deeds = {
            self._compact: 1,
            self._transact: 2,
            self._sample: 3,
            self._burst: 20,
            self._make: 100,
            self._grow: 150,
        }
        for second in count(1):
            yield [
                deed for deed, every in deeds.items() if second % every == 0
            ]

    def _write(
        self, topic: str, partition: int, value: bytes | None, key: str = ""
    ) -> None:
        self._plain.produce(
            topic,
            value,
            key or None,
            partition=partition,
            on_delivery=lambda error, _: (
                self._failed.append(str(error)) if error else None
            ),
        )

    def _compact(self) -> None:
        for partition in range(MIXED_TOPICS[COMPACTED]):
            n = self.rounds
            value = None if n % 5 == 0 else f"state {n}".encode()
            self._write(COMPACTED, partition, value, f"key {n % KEYS}")

    def _transact(self) -> None:
        producer = self._transactional
        producer.begin_transaction()
        for n in range(7):
            producer.produce(TRANSACTIONS, f"{self.rounds}/{n}")
        if self.rounds % 4 == 1:
            # Aborted with records in the log, not only in the producer.
            producer.flush(FLUSH_SECONDS)
            producer.abort_transaction(FLUSH_SECONDS)
        else:
            producer.commit_transaction(FLUSH_SECONDS)

    def _sample(self) -> None:
        self._write(EXPIRING, 0, f"sample {self.rounds}".encode())
        found = self._plain.list_topics(GROWING, timeout=FLUSH_SECONDS)
        for partition in found.topics[GROWING].partitions:
            # The producer knows what it was just told of a moment later.
            with suppress(KafkaException):
                self._write(GROWING, partition, f"n {self.rounds}".encode())

    def _burst(self) -> None:
        for n in range(BURST):
            self._write(BURSTS, n % MIXED_TOPICS[BURSTS], b"x" * 200)

    def _make(self) -> None:
        name = f"{NEW}.{self.rounds}"
        self._lab.source.topics.create(name, 2, {})
        for n in range(20):
            self._write(name, n % 2, f"first {n}".encode())

    def _grow(self) -> None:
        self._grown += 1
        self._lab.source.topics.grow(GROWING, self._grown)
