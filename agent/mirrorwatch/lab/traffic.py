"""Traffic like that of an observatory's engineering database."""

import time
from collections import Counter
from collections.abc import Mapping
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from ..clock import utc_now
from .signals import TRAFFIC_TOPICS, Signal, plan

__all__ = ["TRAFFIC_TOPICS", "Traffic"]

_BEHIND_SECONDS = 2.0
"""A writer that was held up for longer goes on from now: a sensor does not
make up for what it did not measure."""

_FLUSH_SECONDS = 30.0
"""How long the last records may take to be acknowledged at the end."""


class Traffic:
    """A thread that writes such traffic to one cluster.

    Parameters
    ----------
    client
        Properties of librdkafka to reach the cluster with.
    seed
        Seed of the generator.

    Notes
    -----
    The topics are not made here: they exist before the mirror starts, as
    it would otherwise find them ten minutes later.
    """

    def __init__(self, client: Mapping[str, str], *, seed: int = 1) -> None:
        self._producer = Producer(
            {
                "enable.idempotence": True,
                "linger.ms": 5,
                "compression.type": "lz4",
                # A broker that is down is the point of some demos.
                "log_level": 0,
                **client,
            }
        )
        self._plan = plan(seed)
        self._stopping = Event()
        self._lock = Lock()
        self._acked: Counter[str] = Counter()
        self._failed = 0
        self._thread = Thread(target=self._run, name="traffic", daemon=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def acked(self) -> Mapping[str, int]:
        """Records that the cluster has taken so far, by topic."""
        with self._lock:
            return dict(self._acked)

    @property
    def failed(self) -> int:
        """Records that the cluster did not take."""
        with self._lock:
            return self._failed

    def start(self) -> None:
        """Start to write."""
        self._thread.start()

    def stop(self) -> None:
        """Stop writing, and wait until the last records are taken."""
        self._stopping.set()
        self._thread.join()
        self._producer.flush(_FLUSH_SECONDS)

    def _run(self) -> None:
        begin = time.monotonic()
        sequences: Counter[str] = Counter()
        for signal in self._plan:
            wait = begin + signal.at - time.monotonic()
            if wait < -_BEHIND_SECONDS:
                begin -= wait
            if self._stopping.wait(max(0.0, wait)):
                return
            self._send(signal, sequences[signal.topic])
            sequences[signal.topic] += 1
            self._producer.poll(0)

    def _send(self, signal: Signal, sequence: int) -> None:
        now = utc_now().timestamp()
        try:
            self._producer.produce(
                signal.topic,
                signal.to_json(sequence, now),
                timestamp=round(now * 1000),
                on_delivery=self._delivered,
            )
        except (BufferError, KafkaException):
            self._fail()

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._fail()
            return
        with self._lock:
            self._acked[message.topic() or ""] += 1

    def _fail(self) -> None:
        with self._lock:
            self._failed += 1
