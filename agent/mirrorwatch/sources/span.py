"""Reads a stretch of one partition, completely or not at all."""

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
from .kafka import is_about_groups, reading, to_source_error

__all__ = ["read_span"]

BATCH = 1000
"""Records taken at once."""

POLL = 0.5
"""Seconds to wait for records that are known to be there."""

PATIENCE = 10
"""Empty polls in a row after which the cluster is called unavailable."""

END = KafkaError._PARTITION_EOF  # noqa: SLF001 - how the library names it


def read_span(
    properties: Mapping[str, str],
    *,
    cluster: str,
    where: TopicPartition,
    end: int,
    isolation: str = "read_uncommitted",
) -> Iterator[Message]:
    """Read the records from an offset up to an end.

    Parameters
    ----------
    properties
        librdkafka properties of the cluster.
    cluster
        Our alias of it.
    where
        Topic, partition and first offset.
    end
        Offset after the last one; at most the end of the partition.
    isolation
        ``isolation.level``; by default as MirrorMaker 2's own.

    Raises
    ------
    SourceError
        Raised if the stretch cannot be read to its end.
    """
    own: dict[str, Any] = {
        "enable.partition.eof": "true",
        "isolation.level": isolation,
    }
    consumer = Consumer(reading(properties) | own)
    right = f"READ on topic {where.topic}"
    at, patience = where.offset, PATIENCE
    try:
        consumer.assign([where])
        while at < end:
            messages = consumer.consume(BATCH, POLL)
            patience = PATIENCE if messages else patience - 1
            if not patience:
                raise SourceUnavailableError(
                    f"{where.topic}[{where.partition}] at {cluster} could be "
                    f"read to offset {at} only, not to {end}",
                    source="kafka",
                    cluster=cluster,
                )
            for message in messages:
                error, offset = message.error(), message.offset() or 0
                if error is None:
                    at = max(at, offset + 1)
                    if offset < end:
                        yield message
                elif error.code() == END:
                    at = max(at, offset)
                elif not is_about_groups(error):
                    raise to_source_error(
                        KafkaException(error), cluster=cluster, right=right
                    )
    finally:
        consumer.close()
