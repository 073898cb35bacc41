"""Reads the canary topic at the target, and knows when it did not look."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka import Message as KafkaMessage

from ...kafka.errors import is_about_groups, reading, to_source_error

__all__ = ["AtEnd", "CanaryConsumer", "ReadProbe", "Unreadable"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadProbe:
    """A record of the canary topic."""

    partition: int
    offset: int
    value: bytes | None
    seen_at: datetime
    absent_until: datetime
    """Until when it is known not to have been there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AtEnd:
    """A partition was read to its end."""

    partition: int
    offset: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Unreadable:
    """A partition goes on at another offset; what was there is gone."""

    partition: int
    offset: int


AWAY = timedelta(seconds=2)
"""Longest time between two looks that counts as looking all along. A look
takes a quarter of a second; after a pause of the process or the machine,
nobody knows when within it a record came."""

AGAIN = timedelta(seconds=2)
"""How often to try again where reading failed. The library tells a failure
once, and nothing when it is mended unless a record comes: a new try tells
either the failure or the end of the partition."""

BATCH = 500
"""Records taken at once, to catch up quickly."""

OUT_OF_RANGE = {
    KafkaError._AUTO_OFFSET_RESET,  # noqa: SLF001 - how the library names it
    KafkaError._LOG_TRUNCATION,  # noqa: SLF001 - how the library names it
    KafkaError.OFFSET_OUT_OF_RANGE,
}
"""The offset to read next is not in the log."""

END = KafkaError._PARTITION_EOF  # noqa: SLF001 - how the library names it


class CanaryConsumer:
    """Reads the target's canary topic by explicit offsets.

    Parameters
    ----------
    properties
        librdkafka properties of the target cluster.
    cluster
        Our alias of it.
    topic
        Name of the canary topic there.
    clock
        Gives the time.

    Notes
    -----
    Read committed: what an exactly-once mirror may still take back has not
    arrived. For any other mirror that is the same.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        *,
        cluster: str,
        topic: str,
        clock: Callable[[], datetime],
    ) -> None:
        own = {
            "auto.offset.reset": "error",
            "enable.partition.eof": "true",
            # Answered at once when there is a record, so it costs no latency;
            # it halves the requests of an idle hour.
            "fetch.wait.max.ms": 1000,
        }
        self._consumer = Consumer(reading(properties) | own)
        self._cluster = cluster
        self._topic = topic
        self._clock = clock
        self._looked_at: datetime | None = None
        self._before: datetime | None = None
        self._absent_until: dict[int, datetime] = {}
        self._next: dict[int, int] = {}
        self._problems: dict[int, str] = {}
        self._again_at: datetime | None = None

    @property
    def problem(self) -> str | None:
        """Why some partition cannot be read; `None` if all can."""
        return next(iter(self._problems.values()), None)

    @property
    def caught_up(self) -> bool:
        """Whether every partition has been read to its end."""
        return not self._absent_until

    def read(
        self, partition: int, offset: int, absent_until: datetime
    ) -> None:
        """Read a partition from an offset on.

        Parameters
        ----------
        partition
            Partition number.
        offset
            Offset to read next.
        absent_until
            Until when the records from there on are known not to have been
            written, should there be any already.
        """
        self._assign(partition, offset)
        self._absent_until[partition] = absent_until

    def stop(self) -> None:
        """Read no partition: the topic is gone, or will be read anew."""
        self._consumer.unassign()
        self._next.clear()
        self._problems.clear()
        self._absent_until.clear()

    def receive(
        self, timeout: float
    ) -> Iterator[ReadProbe | AtEnd | Unreadable]:
        """Wait some seconds for records; yield what came."""
        self._try_again()
        first = self._consumer.poll(timeout)
        seen_at = self._look()
        if first is None:
            return
        yield from self._translate(first, seen_at)
        rest = self._consumer.consume(BATCH, 0)
        seen_at = self._look()
        for message in rest:
            yield from self._translate(message, seen_at)

    def close(self) -> None:
        """Let go of the connections."""
        self._consumer.close()

    def _look(self) -> datetime:
        now, before = self._clock(), self._looked_at
        self._before, self._looked_at = before, now
        if before is not None and now - before > AWAY:
            for partition in self._next:
                self._absent_until.setdefault(partition, before)
        return now

    def _assign(self, partition: int, offset: int) -> None:
        where = [TopicPartition(self._topic, partition, offset)]
        if partition in self._next:
            self._consumer.incremental_unassign(where)
        self._consumer.incremental_assign(where)
        self._next[partition] = offset

    def _try_again(self) -> None:
        now = self._clock()
        if self._again_at is None or now < self._again_at:
            return
        self._again_at = now + AGAIN if self._problems else None
        for partition in self._problems:
            self._assign(partition, self._next[partition])

    def _translate(
        self, message: KafkaMessage, seen_at: datetime
    ) -> Iterator[ReadProbe | AtEnd | Unreadable]:
        partition, offset = message.partition(), message.offset()
        error = message.error()
        if error is not None:
            if message.topic() is None:
                # It concerns the connection, and so all partitions.
                self._fail(error, *self._next)
            elif partition is not None:
                yield from self._translate_error(error, partition, offset)
            return
        if partition is None or offset is None:
            return
        self._problems.pop(partition, None)
        self._next[partition] = offset + 1
        yield ReadProbe(
            partition=partition,
            offset=offset,
            value=message.value(),
            seen_at=seen_at,
            absent_until=self._absent_until.get(partition, seen_at),
        )

    def _translate_error(
        self, error: KafkaError, partition: int, offset: int | None
    ) -> Iterator[AtEnd | Unreadable]:
        code = error.code()
        if offset is not None and code == END:
            self._problems.pop(partition, None)
            self._absent_until.pop(partition, None)
            yield AtEnd(partition=partition, offset=offset)
        elif code in OUT_OF_RANGE:
            offset = self._nearest(partition, offset)
            if offset is not None:
                yield Unreadable(partition=partition, offset=offset)
        else:
            self._fail(error, partition)

    def _fail(self, error: KafkaError, *partitions: int) -> None:
        """Note that partitions are not read, and since when."""
        if is_about_groups(error):
            return
        problem = to_source_error(
            KafkaException(error),
            cluster=self._cluster,
            right=f"READ on topic {self._topic}",
        )
        now = self._clock()
        self._again_at = self._again_at or now + AGAIN
        for partition in partitions:
            self._problems[partition] = str(problem)
            self._absent_until.setdefault(partition, self._before or now)

    def _nearest(self, partition: int, offset: int | None) -> int | None:
        """Find the offset that the log has, nearest to one that it lacks."""
        where = TopicPartition(self._topic, partition)
        try:
            low, high = self._consumer.get_watermark_offsets(where, timeout=4)
        except KafkaException as e:
            self._fail(e.args[0], partition)
            return None
        return low if offset is None or offset < low else high
