"""Writes records again, as they were read."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from .errors import client_properties, to_source_error

__all__ = ["CopiedRecord", "RecordWriter"]


LARGEST = 1_000_000_000
"""librdkafka's own limit of a record, in bytes: what the source took may be
larger than the default, and the target's broker decides."""

SEND_SECONDS = 120
"""Delivery timeout of a record in seconds, retries included: Java's default
(``delivery.timeout.ms``)."""


@dataclass(frozen=True, slots=True)
class CopiedRecord:
    """Fields that a copy shares with its record."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int
    """Milliseconds."""

    @classmethod
    def of(cls, message: Message) -> "CopiedRecord":
        """Return what a record has."""
        headers: Sequence[Any] = list(message.headers() or ())
        return cls(
            key=_raw(message.key()),
            value=_raw(message.value()),
            headers=tuple((name, value) for name, value in headers),
            timestamp=message.timestamp()[1],
        )


def _raw(field: Any) -> bytes | None:
    return None if field is None else bytes(field)


class RecordWriter:
    """Writes records to partitions of one cluster.

    Parameters
    ----------
    properties
        librdkafka properties of the cluster.
    cluster
        Our alias of it.
    make_producer
        Makes a producer of its properties.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        cluster: str,
        make_producer: Callable[[dict[str, Any]], Producer] = Producer,
    ) -> None:
        settings: dict[str, Any] = {
            **client_properties(properties),
            "enable.idempotence": "true",
            "message.max.bytes": LARGEST,
            "message.timeout.ms": SEND_SECONDS * 1000,
        }
        # Consumers know it, producers do not.
        del settings["allow.auto.create.topics"]
        self._cluster = cluster
        self._producer = make_producer(settings)
        self._refused: KafkaError | None = None

    def write(
        self,
        topic: str,
        partition: int,
        records: Iterable[CopiedRecord],
    ) -> None:
        """Write records in their order, and wait until all are acknowledged.

        Parameters
        ----------
        topic
            Topic; it must exist.
        partition
            Its partition.
        records
            Records to write.

        Raises
        ------
        SourceError
            Raised if one was not taken; some may have been.
        """
        for record in records:
            self._send(topic, partition, record)
            if self._refused is not None:
                break
        self._producer.flush(SEND_SECONDS)
        if self._refused is None and len(self._producer):
            self._refused = KafkaError(KafkaError._MSG_TIMED_OUT)  # noqa: SLF001
        if self._refused is not None:
            raise to_source_error(
                KafkaException(self._refused),
                cluster=self._cluster,
                right=f"WRITE on topic {topic}",
            )

    def _send(self, topic: str, partition: int, record: CopiedRecord) -> None:
        while True:
            try:
                self._producer.produce(
                    topic,
                    partition=partition,
                    key=record.key,
                    value=record.value,
                    headers=list(record.headers),
                    timestamp=record.timestamp,
                    on_delivery=self._note,
                )
            except BufferError:
                # Full: until some were taken.
                self._producer.poll(1)
            except KafkaException as e:
                self._refused = e.args[0]
                return
            else:
                self._producer.poll(0)
                return

    def _note(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._refused = self._refused or error
