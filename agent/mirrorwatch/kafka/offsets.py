"""Ends of very many partitions, at every tick."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaException,
)
from confluent_kafka import TopicPartition as Requested
from confluent_kafka.admin import AdminClient, OffsetSpec

from ..domain.cluster_view import TopicPartition
from .admin import Cluster, read_ends, read_starts
from .errors import TIMEOUT, batched, consumer_properties
from .reader import EPOCH, to_time

__all__ = ["EndOffsets", "read_first_since"]


LATEST, EARLIEST = -1, -2
"""Times that Kafka's ListOffsets takes for the end and the start of a log."""

BATCH = 500
"""Partitions that are asked for at once. The library makes one request of
them for each broker, and goes through all of them three times for each one of
them (`rd_kafka_topic_partition_list_find`). 8,000 took, in batches of 8,000,
4,000, 2,000, 1,000, 500 and 250: 450, 270, 160, 116, 80 and 70 ms of processor
time."""

AT_ONCE = 4
"""Batches that are under way at the same time, as each waits for a round trip
between the sites."""


class EndOffsets:
    """Reads ends and starts of the partitions of one cluster.

    Parameters
    ----------
    cluster
        The cluster.
    properties
        librdkafka properties.

    Notes
    -----
    The requests are the same as those of `read_ends`. But the library's
    administrator answers with a future for each partition, with a lock and a
    callback; its consumer with a list, for a third of the time: 17 against
    50 ms of processor time for 1,500 partitions.

    The consumer remembers for a quarter of an hour which partitions there are
    and who leads them, and nothing for all where one broker is silent. The
    administrator learns it at each survey, with the list of all topics. So
    where the consumer does not know every end, the administrator is asked, and
    at once from there on until it knows them all; then a new consumer is.
    """

    def __init__(
        self, cluster: Cluster, properties: Mapping[str, str]
    ) -> None:
        self._cluster = cluster
        self._properties = properties
        # By isolation level: a client has one. Most mirrors need one only.
        self._consumers: dict[bool, Consumer] = {}
        self._troubled = False

    def read(
        self,
        partitions: Iterable[TopicPartition],
        *,
        read_committed: bool = False,
    ) -> dict[TopicPartition, int]:
        """Read the ends of partitions; those without a leader are left out.

        Raises
        ------
        SourceError
            Raised if the cluster cannot be asked.
        """
        partitions = set(partitions)
        found = self._request(
            partitions, LATEST, read_committed=read_committed
        )
        if found is None:
            found = read_ends(
                self._cluster, partitions, read_committed=read_committed
            )
            self._troubled = len(found) < len(partitions)
        return found

    def read_starts(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Read the lowest offsets that partitions still hold.

        Raises
        ------
        SourceError
            Raised if the cluster cannot be asked.
        """
        partitions = set(partitions)
        found = self._request(partitions, EARLIEST, read_committed=False)
        return (
            read_starts(self._cluster, partitions) if found is None else found
        )

    def close(self) -> None:
        """Let go of connections."""
        for consumer in self._consumers.values():
            consumer.close()
        self._consumers.clear()

    def _request(
        self,
        partitions: set[TopicPartition],
        time: int,
        *,
        read_committed: bool,
    ) -> dict[TopicPartition, int] | None:
        """Ask the consumer; return `None` if it does not know them all."""
        if self._troubled:
            return None
        consumer = self._consumer(read_committed=read_committed)

        def ask(batch: Sequence[TopicPartition]) -> Sequence[Requested]:
            return consumer.offsets_for_times(
                [Requested(*p, time) for p in batch], timeout=TIMEOUT
            )

        # By topic, so that a batch is about as few of them as possible.
        batches = [*batched(sorted(partitions), BATCH)]
        found: dict[TopicPartition, int] = {}
        with suppress(KafkaException):
            for batch, answers in zip(
                batches, _ask_at_once(ask, batches), strict=True
            ):
                # They come in the order of the questions.
                for partition, answer in zip(batch, answers, strict=True):
                    if answer.error is None and answer.offset >= 0:
                        found[partition] = answer.offset
        if len(found) == len(partitions):
            return found
        self._troubled = True
        self.close()
        return None

    def _consumer(self, *, read_committed: bool) -> Consumer:
        if read_committed not in self._consumers:
            self._consumers[read_committed] = Consumer(
                consumer_properties(
                    self._properties, read_committed=read_committed
                )
            )
        return self._consumers[read_committed]


def _ask_at_once(
    ask: Callable[[Sequence[TopicPartition]], Sequence[Requested]],
    batches: Sequence[Sequence[TopicPartition]],
) -> Iterator[Sequence[Requested]]:
    """Yield the answers in the order of the batches."""
    # A small site needs no threads.
    if len(batches) < 2:
        yield from map(ask, batches)
        return
    with ThreadPoolExecutor(AT_ONCE, "ends") as pool:
        yield from pool.map(ask, batches)


class RecordAtTime(NamedTuple):
    """The first record that is not older than a time."""

    offset: int | None
    """Its offset; `None` if there is none."""

    written_at: datetime | None
    """Its timestamp; `None` if it has none, or there is no record."""


def read_first_since(
    cluster: Cluster, wanted: Mapping[TopicPartition, datetime]
) -> dict[TopicPartition, RecordAtTime]:
    """Look for the first record of each partition not older than a time.

    Parameters
    ----------
    cluster
        The cluster.
    wanted
        Times by topic and partition; those before 1970 count as 1970.

    Returns
    -------
    dict
        All partitions that were asked for.

    Raises
    ------
    SourceError
        Raised if the cluster cannot be asked, or one partition of it.

    Notes
    -----
    It is the first by offset. What follows may be older, what is before it is
    not younger. Records of unfinished transactions count.
    """
    found: dict[TopicPartition, RecordAtTime] = {}
    for batch in batched(sorted(wanted.items()), BATCH):
        specs = {
            Requested(*partition): OffsetSpec.for_timestamp(_to_ms(time))
            for partition, time in batch
        }

        def ask(admin: AdminClient, specs: Mapping[Any, Any] = specs) -> Any:
            return admin.list_offsets(
                dict(specs),
                isolation_level=IsolationLevel.READ_UNCOMMITTED,
                request_timeout=TIMEOUT,
            )

        futures = cluster.call(ask, "DESCRIBE on its topics")
        for key, future in futures.items():
            answer = cluster.wait(
                future, f"DESCRIBE (READ includes it) on topic {key.topic}"
            )
            offset = int(answer.offset)
            found[key.topic, key.partition] = RecordAtTime(
                None if offset < 0 else offset, to_time(int(answer.timestamp))
            )
    return found


def _to_ms(time: datetime) -> int:
    """Return the first whole millisecond that is not before a time."""
    # Below zero they mean something else to Kafka.
    return max(0, -((EPOCH - time) // timedelta(milliseconds=1)))
