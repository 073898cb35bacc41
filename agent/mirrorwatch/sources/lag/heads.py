"""Reads the record at the mirror's position, of many partitions at once."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from confluent_kafka import (
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from ...domain.lag import Head, Wanted
from ..kafka import is_about_groups, reading, to_source_error

__all__ = ["read_heads"]

POLL = 1.0
"""Seconds to wait for records before the reading is given up; what is still
wanted is wanted again."""

BATCH = 500
"""Records taken at once."""

END = KafkaError._PARTITION_EOF  # noqa: SLF001 - how the library names it

SMALL: Mapping[str, Any] = {
    # One record of each partition is wanted, not what follows it.
    "fetch.message.max.bytes": 16_384,
    "queued.min.messages": 1,
    "enable.partition.eof": "true",
}


def read_heads(
    properties: Mapping[str, str],
    *,
    cluster: str,
    wanted: Sequence[Wanted],
    isolation: str,
) -> list[Head]:
    """Read the first data record at or after each position.

    Parameters
    ----------
    properties
        librdkafka properties of the source.
    cluster
        Our alias of it.
    wanted
        Where to read.
    isolation
        ``isolation.level`` of the mirror's consumer.

    Raises
    ------
    SourceError
        Raised if the records may not be read.
    """
    own = {**reading(properties), **SMALL, "isolation.level": isolation}
    open_ = {w.place: w for w in wanted}
    found: list[Head] = []
    consumer = Consumer(own)
    try:
        consumer.assign([TopicPartition(*w.place, w.position) for w in wanted])
        while open_ and (messages := consumer.consume(BATCH, POLL)):
            heads = list(_heads(messages, open_, cluster))
            found += heads
            consumer.incremental_unassign(
                [TopicPartition(*head.wanted.place) for head in heads]
            )
    finally:
        consumer.close()
    return found


def _heads(
    messages: Sequence[Message],
    open_: dict[tuple[str, int], Wanted],
    cluster: str,
) -> Iterator[Head]:
    for message in messages:
        place = (message.topic() or "", message.partition() or 0)
        error = message.error()
        if error is not None and error.code() != END:
            if is_about_groups(error):
                continue
            raise to_source_error(
                KafkaException(error),
                cluster=cluster,
                right=f"READ on topic {place[0]}",
            )
        asked = open_.pop(place, None)
        if asked is None:
            continue
        if error is not None:
            yield Head(asked, None)
        else:
            yield Head(asked, message.offset(), _written_at(message))


def _written_at(message: Message) -> datetime | None:
    kind, milliseconds = message.timestamp()
    if kind == TIMESTAMP_NOT_AVAILABLE:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
