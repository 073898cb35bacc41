"""A stand-in for mirrors that are a consumer and a producer."""

from abc import abstractmethod
from collections.abc import (
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition

from mirrorwatch_lab import Lab, LabSettings
from mirrorwatch_lab.start_stop import StartStop

__all__ = ["Copier", "RunningCopier", "lab_for_copier", "target_producer"]

Places = Mapping[tuple[str, int], int]
"""Next offset to copy, by topic and partition."""


class RunningCopier(StartStop):
    """What runs in a thread of its own, and can be stopped and started."""

    def __init__(self) -> None:
        self._stopped = Event()
        self._thread: Thread | None = None
        self._failed: Exception | None = None

    def start(self) -> None:
        self._stopped.clear()
        self._thread = Thread(target=self._copy_all, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop it, and see that it has not failed."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._failed is not None:
            raise self._failed

    @abstractmethod
    def run(self) -> None:
        """Copy until `is_stopped`."""

    @property
    def is_stopped(self) -> bool:
        return self._stopped.is_set()

    def _copy_all(self) -> None:
        try:
            self.run()
        except Exception as e:  # noqa: BLE001 - raised by stop
            self._failed = e


@contextmanager
def lab_for_copier(topics: Sequence[tuple[str, int]]) -> Iterator[Lab]:
    """Run a lab with topics on both sides, and no mirror but a stand-in."""
    settings = LabSettings(topics=dict(topics), start_mirror=False)
    with Lab(settings) as lab:
        for topic, partitions in topics:
            lab.target.topics.create(topic, partitions, {})
        yield lab


def target_producer(lab: Lab) -> Producer:
    """Return a producer that keeps the order of records."""
    return Producer(
        {
            "bootstrap.servers": lab.target.bootstrap,
            "enable.idempotence": True,
            "linger.ms": 5,
        }
    )


class Copier(RunningCopier):
    """Copies each record to the partition of its number.

    Parameters
    ----------
    lab
        The lab.
    topics
        Topics, and how many partitions they have.
    commit
        Takes the next offset of each partition after each round, once all
        that is before it was acknowledged.
    headers
        Makes headers that are added to a copy.
    """

    def __init__(
        self,
        lab: Lab,
        topics: Sequence[tuple[str, int]],
        *,
        commit: Callable[[Places], None],
        headers: Callable[[Message], list[tuple[str, bytes]]] | None = None,
    ) -> None:
        super().__init__()
        self.dropped: Collection[bytes] = ()
        """Values of records that are not copied."""
        self._lab = lab
        self._topics = topics
        self._commit = commit
        self._headers = headers
        self._next: dict[tuple[str, int], int] = {}

    def run(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._lab.source.bootstrap,
                "group.id": "stand-in",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 50,
                "metadata.max.age.ms": 1000,
            }
        )
        producer = target_producer(self._lab)
        try:
            for topic, partitions in self._topics:
                for partition in range(partitions):
                    self._next.setdefault((topic, partition), 0)
            consumer.assign(
                [TopicPartition(*k, o) for k, o in self._next.items()]
            )
            while not self.is_stopped:
                messages = consumer.consume(500, 0.1)
                for message in messages:
                    self._copy(producer, message)
                producer.flush()
                self._commit(self._next)
        finally:
            consumer.close()

    def _copy(self, producer: Producer, message: Message) -> None:
        assert message.error() is None, message.error()
        key = (message.topic() or "", message.partition() or 0)
        offset = message.offset()
        assert offset is not None
        self._next[key] = offset + 1
        if message.value() in self.dropped:
            return
        own = self._headers(message) if self._headers else []
        given: dict[str, Any] = {
            "key": message.key(),
            "headers": [*(message.headers() or []), *own],
            "timestamp": message.timestamp()[1],
        }
        producer.produce(key[0], message.value(), partition=key[1], **given)
