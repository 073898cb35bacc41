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
from mirrorwatch.domain.canary.model import ProbeMessage
from mirrorwatch_lab import CANARY_TOPIC, Lab

__all__ = ["Onlooker", "Timed"]

POLL_SECONDS = 0.2
"""How long one poll waits; it returns as soon as there is a record."""


@dataclass(frozen=True, slots=True)
class Timed:
    """One probe that was seen."""

    probe: ProbeMessage
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

    def median_seconds(self, begin: datetime, end: datetime) -> float:
        """Return the median of what was seen between two times."""
        return median(self._seconds(begin, end))

    def worst_percent_seconds(self, begin: datetime, end: datetime) -> float:
        """Return what one of a hundred exceeded, 0 if none was seen."""
        slowest = sorted(self._seconds(begin, end), reverse=True)
        return slowest[len(slowest) // 100] if slowest else 0.0

    def _seconds(self, begin: datetime, end: datetime) -> list[float]:
        return [t.seconds for t in self.seen if begin <= t.seen_at <= end]

    def _run(self) -> None:
        while not self._stopping.is_set():
            message = self._consumer.poll(POLL_SECONDS)
            now = utc_now()
            if message is None or message.error() is not None:
                continue
            probe = ProbeMessage.decode(message.value())
            if probe is not None:
                self.seen.append(Timed(probe, now))
