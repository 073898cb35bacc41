"""Looks for a record that a mirror cannot write at its target."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from ...domain.tasks import Stuck
from ..kafka import is_about_groups, reading, to_source_error

__all__ = ["Limit", "Search", "size_of"]

Limit = tuple[int, str]
"""Bytes, and whose limit it is."""

Place = tuple[str, int]

POLL = 0.5
"""Seconds of one step: the agent may be asked to stop in between."""

BATCH = 100
"""Records taken at once; they are large by nature."""

PATIENCE = timedelta(seconds=30)
"""Longest search: the records that wait may be many."""

BATCH_OVERHEAD = 61
"""Bytes of a record batch's header (``DefaultRecordBatch``)."""

RECORD_OVERHEAD = 7
"""Fewest bytes of a record beside key, value and headers."""

END = KafkaError._PARTITION_EOF  # noqa: SLF001 - how the library names it


class Search:
    """Reads partitions from the mirror's positions on, a little at a time.

    Parameters
    ----------
    properties
        librdkafka properties of the source.
    cluster
        Alias of the source.
    starts
        The mirror's position on each partition to read.
    limit_of
        Gives the largest record that may be written to a topic, by its name
        at the source; `None` if that is not known.
    isolation
        ``isolation.level`` of the mirror.
    clock
        Gives the time.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        *,
        cluster: str,
        starts: Mapping[Place, int],
        limit_of: Callable[[str], Limit | None],
        isolation: str,
        clock: Callable[[], datetime],
    ) -> None:
        own = {"enable.partition.eof": "true", "isolation.level": isolation}
        self._cluster = cluster
        self._limit_of = limit_of
        self._limits: dict[str, Limit | None] = {}
        self._clock = clock
        self._end = clock() + PATIENCE
        self._left = set(starts)
        self.found: list[Stuck] = []
        self._consumer = Consumer(reading(properties) | own)
        self._consumer.assign(
            [TopicPartition(*place, at) for place, at in starts.items()]
        )

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to read, or no time."""
        return not self._left or self._clock() >= self._end

    @property
    def complete(self) -> bool:
        """Whether everything was read up to what was found, or the end."""
        return not self._left

    def step(self) -> None:
        """Read on for at most half a second.

        Raises
        ------
        SourceError
            Raised if the source refuses.
        """
        for message in self._consumer.consume(BATCH, POLL):
            self._take(message)

    def close(self) -> None:
        """Let go of the connection."""
        self._consumer.close()

    def _take(self, message: Message) -> None:
        error = message.error()
        place = (message.topic() or "", message.partition() or 0)
        if error is not None:
            if error.code() == END:
                self._leave(place)
            elif not is_about_groups(error):
                raise to_source_error(
                    KafkaException(error),
                    cluster=self._cluster,
                    right=f"READ on topic {place[0]}",
                )
            return
        if place not in self._left:
            return
        topic = place[0]
        if topic not in self._limits:
            self._limits[topic] = self._limit_of(topic)
        limit, size = self._limits[topic], size_of(message)
        if limit is not None and size > limit[0]:
            self.found.append(
                Stuck(
                    topic=topic,
                    partition=place[1],
                    offset=message.offset() or 0,
                    size_bytes=size,
                    limit_bytes=limit[0],
                    limit=limit[1],
                )
            )
            self._leave(place)

    def _leave(self, place: Place) -> None:
        if place in self._left:
            self._left.discard(place)
            with suppress(KafkaException):
                self._consumer.pause([TopicPartition(*place)])


def size_of(message: Message) -> int:
    """Return the bytes of a record as the only one of its batch."""
    headers = message.headers() or []
    pairs = headers.items() if isinstance(headers, dict) else headers
    content: list[str | bytes | None] = [message.key(), message.value()]
    content += [part for pair in pairs for part in pair]
    return BATCH_OVERHEAD + RECORD_OVERHEAD + sum(map(_length, content))


def _length(part: str | bytes | None) -> int:
    if part is None:
        return 0
    return len(part.encode() if isinstance(part, str) else part)
