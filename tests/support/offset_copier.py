"""A stand-in for mirrors that keep the offsets of records."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition

from mirrorwatch_lab import Lab

from .copier import RunningCopier, target_producer

__all__ = ["OffsetCopier"]


class OffsetCopier(RunningCopier):
    """Copies topics so that each record has its offset on both sides.

    It goes on at the target's end, as a link does. Where the log of the source
    begins later, that of the target is made to begin there as well.

    Parameters
    ----------
    lab
        The lab.
    topics
        Topics, and how many partitions they have.
    altered
        Topic, partition and offset of records that get another value.
    """

    group = "stand-in"

    def __init__(
        self,
        lab: Lab,
        topics: Sequence[tuple[str, int]],
        *,
        altered: Collection[tuple[str, int, int]] = (),
    ) -> None:
        super().__init__()
        self._altered = altered
        self._lab = lab
        self._topics = topics

    def commit(
        self,
        consumer: Consumer,
        producer: Producer,
        ends: Mapping[tuple[str, int], int],
    ) -> None:
        """Write down where it is: nothing, as a link does."""

    def run(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._lab.source.bootstrap,
                "group.id": self.group,
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 50,
            }
        )
        producer = target_producer(self._lab)
        try:
            ends = self._positions(consumer, producer)
            consumer.assign([TopicPartition(*key, ends[key]) for key in ends])
            while not self.is_stopped:
                for message in consumer.consume(500, 0.1):
                    self._copy(producer, message, ends)
                producer.flush()
                self.commit(consumer, producer, ends)
        finally:
            consumer.close()

    def _positions(
        self, consumer: Consumer, producer: Producer
    ) -> dict[tuple[str, int], int]:
        found = {}
        for topic, partitions in self._topics:
            ends = self._lab.target.topics.ends(topic)
            for partition in range(partitions):
                _, end = ends[partition]
                start, _ = consumer.get_watermark_offsets(
                    TopicPartition(topic, partition), timeout=60
                )
                if end < start:
                    for _ in range(start - end):
                        producer.produce(topic, b"", partition=partition)
                    producer.flush()
                    self._lab.target.topics.delete_records(
                        topic, {partition: start}
                    )
                found[topic, partition] = max(start, end)
        return found

    def _copy(
        self,
        producer: Producer,
        message: Message,
        ends: dict[tuple[str, int], int],
    ) -> None:
        assert message.error() is None, message.error()
        key = (message.topic() or "", message.partition() or 0)
        assert message.offset() == ends[key], (key, message.offset())
        ends[key] += 1
        place = (*key, ends[key] - 1)
        given: dict[str, Any] = {
            "key": message.key(),
            "headers": message.headers() or [],
            "timestamp": message.timestamp()[1],
        }
        value = b"altered" if place in self._altered else message.value()
        producer.produce(key[0], value, partition=key[1], **given)
