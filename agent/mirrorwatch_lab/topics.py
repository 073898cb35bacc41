"""Topics of one cluster: made, grown, emptied, read."""

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from typing import Any

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from .exceptions import LabError
from .waiting import wait_until

__all__ = ["LabTopics"]


_TIMEOUT_SECONDS = 90
"""Longest wait for an answer of a broker on this machine, which may do other
things."""

_PAUSE_SECONDS = 0.1
"""Between two tries, while a partition has no leader."""


class PlainReader:
    """Reads whole topics, without a consumer group.

    Parameters
    ----------
    client
        Properties of librdkafka to reach the cluster with.
    isolation_level
        Isolation level, as Kafka names it.
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


_SOON = {
    # A broker that has just come back does not yet lead everything that it
    # says it leads.
    KafkaError.NOT_LEADER_FOR_PARTITION,
    # A client's first metadata on a busy machine: others know the partition.
    KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001 - librdkafka's own
}


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
            if e.args[0].code() not in _SOON or time.monotonic() > deadline:
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


_SILENT = logging.getLogger("mirrorwatch.lab.kafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


class LabTopics:
    """Topics of one cluster.

    Parameters
    ----------
    client
        Properties of librdkafka to reach the cluster with.
    """

    def __init__(self, client: Mapping[str, str]) -> None:
        # librdkafka would write to standard error while a broker is down,
        # which in a lab is where it is meant to be at times.
        self._client: dict[str, Any] = {**client, "logger": _SILENT}

    @cached_property
    def admin(self) -> AdminClient:
        """Administrator's client, kept: answers come only while it lives."""
        return AdminClient(dict(self._client))

    def create(
        self, name: str, partitions: int, configs: Mapping[str, str]
    ) -> None:
        """Make a topic, and wait until the broker leads it."""
        self.create_all({name: partitions}, {name: configs})

    def create_all(
        self,
        partitions: Mapping[str, int],
        configs: Mapping[str, Mapping[str, str]],
    ) -> None:
        """Make several topics at once."""
        if not partitions:
            return
        new = [
            NewTopic(name, count, 1, config=dict(configs.get(name, {})))
            for name, count in partitions.items()
        ]
        for name, future in self.admin.create_topics(new).items():
            _result(future, f"make the topic {name}")
        # Made by the controller; the broker that is asked next learns of it.
        wait_until(
            lambda: partitions.keys() <= self.names().keys(),
            limit=timedelta(seconds=_TIMEOUT_SECONDS),
            what=f"the broker does not know {', '.join(partitions)}",
        )

    def delete(self, name: str) -> None:
        """Delete a topic."""
        for future in self.admin.delete_topics([name]).values():
            _result(future, f"delete the topic {name}")

    def grow(self, name: str, partitions: int) -> None:
        """Add partitions until there are this many."""
        wanted = [NewPartitions(name, partitions)]
        for future in self.admin.create_partitions(wanted).values():
            _result(future, f"grow the topic {name}")
        # Made by the controller; the broker that is asked next learns of it.
        wait_until(
            lambda: self.names().get(name, 0) >= partitions,
            limit=timedelta(seconds=_TIMEOUT_SECONDS),
            what=f"the broker does not know all partitions of {name}",
        )

    def set_configs(self, name: str, configs: Mapping[str, str]) -> None:
        """Change some of a topic's configuration."""
        self._alter(name, configs, AlterConfigOpType.SET)

    def unset_configs(self, name: str, keys: Iterable[str]) -> None:
        """Give some of a topic's configuration back to the broker."""
        self._alter(name, dict.fromkeys(keys), AlterConfigOpType.DELETE)

    def _alter(
        self,
        name: str,
        configs: Mapping[str, str | None],
        operation: AlterConfigOpType,
    ) -> None:
        entries = [
            ConfigEntry(key, value, incremental_operation=operation)
            for key, value in configs.items()
        ]
        resource = ConfigResource(
            ResourceType.TOPIC, name, incremental_configs=entries
        )
        answer = self.admin.incremental_alter_configs([resource])
        for future in answer.values():
            _result(future, f"configure the topic {name}")

    def delete_records(self, name: str, before: Mapping[int, int]) -> None:
        """Delete the records of partitions before the given offsets."""
        wanted = [
            TopicPartition(name, partition, offset)
            for partition, offset in before.items()
        ]
        for future in self.admin.delete_records(wanted).values():
            _result(future, f"delete records of the topic {name}")

    def served(self) -> bool:
        """Return whether a broker is serving and leads all partitions."""
        try:
            found = self.admin.list_topics(timeout=1)
        except KafkaException:
            return False
        leaders = [
            partition.leader
            for topic in found.topics.values()
            for partition in topic.partitions.values()
        ]
        # A broker that is still fenced answers, but does not list itself;
        # one that has just come back leads its partitions a little later.
        return bool(found.brokers) and all(n in found.brokers for n in leaders)

    def names(self) -> dict[str, int]:
        """Return all topics and their number of partitions."""
        try:
            found = self.admin.list_topics(timeout=_TIMEOUT_SECONDS)
        except KafkaException as e:
            raise LabError(f"Cannot list the topics: {e}") from e
        return {
            name: len(topic.partitions) for name, topic in found.topics.items()
        }

    def ends(self, name: str) -> dict[int, tuple[int, int]]:
        """Return log start and end of each partition; none if no topic."""
        return self._reader("read_uncommitted").ends(
            name, self.names().get(name, 0)
        )

    def read(
        self,
        name: str,
        *,
        isolation_level: str = "read_uncommitted",
        start: Mapping[int, int] | None = None,
    ) -> list[Message]:
        """Return every record that a topic holds now, the plain truth.

        Parameters
        ----------
        name
            Topic; one that does not exist holds nothing.
        isolation_level
            Isolation level, as Kafka names it.
        start
            First offset to read of some partitions.
        """
        return self._reader(isolation_level).read(
            name, self.names().get(name, 0), start or {}
        )

    def _reader(self, isolation_level: str) -> PlainReader:
        return PlainReader(self._client, isolation_level)


def _result(future: "Future[Any]", what: str) -> None:
    try:
        future.result(_TIMEOUT_SECONDS)
    except (KafkaException, TimeoutError) as e:
        raise LabError(f"Cannot {what}: {e}") from e
