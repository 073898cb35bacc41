"""A plain reader, for the truth of what a topic holds."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from ..exceptions import LabError

__all__ = ["Reader"]

_TIMEOUT_SECONDS = 90
"""Longest wait for an answer of a broker on this machine, which may do other
things."""

_PAUSE_SECONDS = 0.1
"""Between two tries, while a partition has no leader."""


class Reader:
    """Reads whole topics, without a consumer group.

    Parameters
    ----------
    client
        Properties of librdkafka to reach the cluster with.
    isolation_level
        Whether records of open or aborted transactions count, as Kafka names
        it.
    """

    def __init__(
        self, client: Mapping[str, Any], isolation_level: str
    ) -> None:
        self._properties = {
            **client,
            "group.id": "mirrorwatch.lab",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "isolation.level": isolation_level,
            "allow.auto.create.topics": False,
            "check.crcs": True,
        }

    def ends(self, topic: str, partitions: int) -> dict[int, tuple[int, int]]:
        """Return log start and end of each partition."""
        with self._consumer(topic) as consumer:
            return _watermarks(consumer, topic, partitions)

    def read(
        self, topic: str, partitions: int, start: Mapping[int, int]
    ) -> list[Message]:
        """Return every record up to the ends of this moment."""
        with self._consumer(topic) as consumer:
            ends = _watermarks(consumer, topic, partitions)
            return _drain(consumer, topic, ends, start)

    @contextmanager
    def _consumer(self, topic: str) -> Iterator[Consumer]:
        consumer = Consumer(self._properties)
        try:
            yield consumer
        except KafkaException as e:
            raise LabError(f"Cannot read {topic}: {e}") from e
        finally:
            consumer.close()


def _watermarks(
    consumer: Consumer, topic: str, partitions: int
) -> dict[int, tuple[int, int]]:
    return {
        partition: _watermark(consumer, TopicPartition(topic, partition))
        for partition in range(partitions)
    }


def _watermark(
    consumer: Consumer, partition: TopicPartition
) -> tuple[int, int]:
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while True:
        try:
            return consumer.get_watermark_offsets(
                partition, timeout=_TIMEOUT_SECONDS
            )
        except KafkaException as e:
            # A broker that has just come back does not yet lead everything
            # that it says it leads.
            moved = e.args[0].code() == KafkaError.NOT_LEADER_FOR_PARTITION
            if not moved or time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE_SECONDS)


def _drain(
    consumer: Consumer,
    name: str,
    watermarks: Mapping[int, tuple[int, int]],
    start: Mapping[int, int],
) -> list[Message]:
    open_partitions = {
        partition
        for partition, (low, high) in watermarks.items()
        if low < high
    }
    if not open_partitions:
        return []
    consumer.assign(
        [
            TopicPartition(name, p, max(start.get(p, 0), watermarks[p][0]))
            for p in sorted(open_partitions)
        ]
    )
    records = []
    while open_partitions:
        message = consumer.poll(_TIMEOUT_SECONDS)
        if message is None:
            raise LabError(f"Reading {name} does not get to its end")
        partition, offset = message.partition(), message.offset()
        if partition is None or offset is None:
            raise KafkaException(message.error())
        if error := message.error():
            # The end of what may be read: beyond the last record there may
            # be transaction markers, so an offset alone cannot tell.
            if error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001
                raise KafkaException(error)
            open_partitions.discard(partition)
        elif offset < watermarks[partition][1]:
            records.append(message)
        if offset + 1 >= watermarks[partition][1]:
            open_partitions.discard(partition)
    return records
