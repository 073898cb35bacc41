"""Times the probes at the target on its own, beside the agent."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from threading import Event, Thread
from types import TracebackType
from typing import Self

from confluent_kafka import OFFSET_END, Consumer, TopicPartition

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.canary import Message
from mirrorwatch.lab import CANARY_TOPIC, Lab

__all__ = ["Onlooker", "Timed"]

POLL_SECONDS = 0.2
"""How long one poll waits; it returns as soon as there is a record."""


@dataclass(frozen=True, slots=True)
class Timed:
    """One probe that was seen."""

    probe: Message
    seen_at: datetime

    @property
    def seconds(self) -> float:
        return (self.seen_at - self.probe.sent_at).total_seconds()


class Onlooker(AbstractContextManager["Onlooker"]):
    """Reads the canary topic at the target from its end on, plainly.

    It shares nothing with the agent but the clock of the machine and the
    layout of a probe.
    """

    def __init__(self, lab: Lab) -> None:
        self.seen: list[Timed] = []
        self._topic = lab.target_name(CANARY_TOPIC)
        self._partitions = lab.target.topics.names()[self._topic]
        self._consumer = Consumer(
            {
                "bootstrap.servers": lab.target.bootstrap,
                "group.id": "onlooker",
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "allow.auto.create.topics": False,
                "isolation.level": "read_uncommitted",
            }
        )
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="onlooker", daemon=True)

    def __enter__(self) -> Self:
        self._consumer.assign(
            [
                TopicPartition(self._topic, p, OFFSET_END)
                for p in range(self._partitions)
            ]
        )
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

    def median_seconds(self, since: datetime) -> float:
        """Return the median of what was seen from a time on."""
        return median(t.seconds for t in self.seen if t.seen_at >= since)

    def _run(self) -> None:
        while not self._stopping.is_set():
            message = self._consumer.poll(POLL_SECONDS)
            now = utc_now()
            if message is None or message.error() is not None:
                continue
            probe = Message.decode(message.value())
            if probe is not None:
                self.seen.append(Timed(probe, now))
