"""Reads all that a compacted topic says now."""

from collections.abc import Iterator, Mapping
from typing import Any

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from ..exceptions import SourceUnavailableError
from .cluster import Cluster
from .kafka import is_about_groups, reading, to_source_error

__all__ = ["read_whole"]

BATCH = 5000
"""Records taken at once."""

POLL = 0.5
"""Seconds to wait for records that are known to be there."""

PATIENCE = 20
"""Empty polls in a row after which the cluster is called unavailable."""

END = KafkaError._PARTITION_EOF  # noqa: SLF001 - how the library names it


def read_whole(
    cluster: Cluster, properties: Mapping[str, str], topic: str
) -> Iterator[Message]:
    """Read a topic up to the ends that it has at first, read committed.

    Parameters
    ----------
    cluster
        The cluster.
    properties
        librdkafka properties of it.
    topic
        A topic, which need not exist.

    Yields
    ------
    Message
        Its records, each partition's in order.

    Raises
    ------
    SourceError
        Raised if it cannot be read to these ends.
    """
    found = cluster.topic(topic, right="READ")
    if found is None:
        return
    starts = cluster.starts(topic, found.leaders)
    left = {
        partition: end
        for partition, end in cluster.ends(topic, found.leaders).items()
        if end > starts[partition]
    }
    if not left:
        return
    own: dict[str, Any] = {"enable.partition.eof": "true"}
    consumer = Consumer(reading(properties) | own)
    patience = PATIENCE
    try:
        consumer.assign(
            [TopicPartition(topic, p, starts[p]) for p in sorted(left)]
        )
        while left:
            messages = consumer.consume(BATCH, POLL)
            patience = PATIENCE if messages else patience - 1
            if not patience:
                raise SourceUnavailableError(
                    f"{topic} at {cluster.alias} could not be read to its end",
                    source="kafka",
                    cluster=cluster.alias,
                )
            for message in messages:
                if _belongs(message, left, cluster.alias, topic):
                    yield message
    finally:
        consumer.close()


def _belongs(
    message: Message, left: dict[int, int], cluster: str, topic: str
) -> bool:
    """Tell whether it is a record below the end; note what is read."""
    partition = message.partition()
    error, offset = message.error(), message.offset() or 0
    if error is not None:
        if error.code() == END and partition is not None:
            left.pop(partition, None)
        elif not is_about_groups(error):
            raise to_source_error(
                KafkaException(error),
                cluster=cluster,
                right=f"READ on topic {topic}",
            )
        return False
    end = None if partition is None else left.get(partition)
    if end is None or partition is None:
        return False
    if offset + 1 >= end:
        del left[partition]
    return offset < end
