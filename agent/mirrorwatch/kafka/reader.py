"""Reads records by offset: ranges of partitions, whole topics, or for ever.

A range is read completely or not at all: a read that did not begin at the
offset asked for, or stopped before its end, proves nothing about the rest.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from sys import maxsize
from typing import Any, Self

from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
)
from confluent_kafka import TopicPartition as Assignment

from ..domain.cluster_view import TopicPartition
from ..domain.lag.model import FirstRecord, ReadAt
from ..domain.offsets import OffsetRange
from ..exceptions import SourceError, SourceUnavailableError
from .admin import Cluster
from .errors import (
    DENIED,
    TIMEOUT,
    UNREACHABLE,
    consumer_properties,
    to_source_error,
)

__all__ = [
    "EPOCH",
    "EXACTLY",
    "OUT_OF_RANGE",
    "NewestReader",
    "OffsetConsumer",
    "PartitionEnd",
    "RangeReader",
    "ReadFailure",
    "RecordFingerprint",
    "read_all",
    "read_first_records",
    "read_range",
    "to_time",
    "written_at",
]


BATCH = 1000

POLL = 0.25
"""Seconds to wait for records that are known to be there."""

PATIENCE = 10.0
"""Seconds without a record, after which what is known to be there is given
up: the cluster does not serve it now."""

END = KafkaError._PARTITION_EOF  # noqa: SLF001 - how the library names it

OUT_OF_RANGE = {
    KafkaError._AUTO_OFFSET_RESET,  # noqa: SLF001 - how the library names it
    KafkaError._LOG_TRUNCATION,  # noqa: SLF001 - how the library names it
    KafkaError.OFFSET_OUT_OF_RANGE,
}
"""The offset to read next is not in the log."""

EXACTLY = {"auto.offset.reset": "error"}
"""Property of a consumer that must begin at the offset asked for. With any
other value the library begins at the log start where that offset has expired:
what it reads there says nothing about what lies between."""


@dataclass(frozen=True, slots=True)
class PartitionEnd:
    """A partition was read to its end."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class ReadFailure:
    """A partition, or all of them, cannot be read."""

    error: KafkaError
    topic: str | None
    """`None` if it concerns the connection, and so all partitions."""

    partition: int | None
    offset: int | None


class OffsetConsumer:
    """Consumes partitions from given offsets, and is in no consumer group.

    Parameters
    ----------
    properties
        librdkafka properties of the cluster.
    cluster
        Our alias of it.
    read_committed
        Its isolation level: whether it leaves out aborted records, and waits
        for the end of transactions.
    own
        librdkafka properties of this consumer alone.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        *,
        cluster: str,
        read_committed: bool,
        own: Mapping[str, Any] | None = None,
    ) -> None:
        self._cluster = cluster
        self._topic = ""
        self._consumer = Consumer(
            {
                **consumer_properties(
                    properties, read_committed=read_committed
                ),
                "enable.partition.eof": "true",
                **(own or {}),
            }
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._consumer.close()

    def assign(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Read these partitions from these offsets on, and no others.

        Raises
        ------
        SourceError
            Raised if the library refuses.
        """
        self.unassign()
        self.add(offsets)

    def unassign(self) -> None:
        """Read no partition."""
        self._consumer.unassign()

    def add(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Read these partitions, too, from these offsets on.

        Raises
        ------
        SourceError
            Raised if the library refuses.
        """
        if not offsets:
            return
        self._topic = next(iter(offsets))[0]
        try:
            self._consumer.incremental_assign(
                [Assignment(*p, offset) for p, offset in offsets.items()]
            )
        except KafkaException as e:
            raise self.to_error(e.args[0]) from e

    def drop(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions no longer."""
        self._consumer.incremental_unassign(
            [Assignment(*p) for p in partitions]
        )

    def bounds(self, partition: TopicPartition) -> tuple[int, int]:
        """Return the start and the end of a partition's log.

        Raises
        ------
        KafkaException
            Raised if the cluster does not answer, or refuses.
        """
        return self._consumer.get_watermark_offsets(
            Assignment(*partition), timeout=TIMEOUT
        )

    def follow(
        self, batch: int, seconds: float
    ) -> Iterator[Message | PartitionEnd | ReadFailure]:
        """Wait some seconds for so many records; yield what came.

        Raises
        ------
        SourceError
            Raised if the library refuses.
        """
        try:
            messages = self._consumer.consume(batch, seconds)
        except KafkaException as e:
            raise self.to_error(e.args[0]) from e
        for message in messages:
            error, topic = message.error(), message.topic()
            if error is None:
                yield message
            elif error.code() == END:
                yield PartitionEnd(*_partition_of(message), _offset(message))
            # The library looks for the coordinator of every `group.id`, and
            # reports once if that is refused: it reads all the same.
            elif error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED:
                yield ReadFailure(
                    error, topic, message.partition(), message.offset()
                )

    def consume(
        self, batch: int, seconds: float
    ) -> Iterator[Message | PartitionEnd]:
        """Wait some seconds for so many records; yield what came.

        Raises
        ------
        SourceError
            Raised if a partition cannot be read.
        """
        for event in self.follow(batch, seconds):
            if isinstance(event, ReadFailure):
                raise self.to_error(event.error, event.topic)
            yield event

    def read(
        self,
        left: dict[TopicPartition, int],
        *,
        patience: float = PATIENCE,
        refused: dict[str, SourceError] | None = None,
    ) -> Iterator[Message | PartitionEnd]:
        """Read until nothing is left, or nothing has come for too long.

        What was read to its end is fetched no longer. A partition whose
        offset is out of range stays in what is left.

        Parameters
        ----------
        left
            Ends by partition. What was read to its end is removed, and the
            caller may remove more. What is left afterwards is not served now.
        patience
            Seconds without a record after which it stops.
        refused
            Takes the topics that may not be read, while others are read on;
            without it, one of them is an error.

        Yields
        ------
        Message or PartitionEnd
            Records below the ends, and where a partition ended before.

        Raises
        ------
        SourceError
            Raised if a partition cannot be read.
        """
        idle, fetched = 0.0, set(left)
        lacking = dict[TopicPartition, int]()
        while left and idle < patience:
            idle += POLL
            for event in self.follow(BATCH, POLL):
                idle = 0.0
                if isinstance(event, ReadFailure):
                    partition, why = self._failed(event, refused)
                    end = left.pop(partition, None)
                    if why is None and end is not None:
                        lacking[partition] = end
                elif isinstance(event, PartitionEnd):
                    partition = event.topic, event.partition
                    if event.offset < left.pop(partition, event.offset):
                        yield event
                elif self._is_wanted(event, left):
                    yield event
            if left and (done := fetched - left.keys()):
                self.drop(done)
                fetched -= done
        left.update(lacking)

    def _failed(
        self, failure: ReadFailure, refused: dict[str, SourceError] | None
    ) -> tuple[TopicPartition, SourceError | None]:
        """Return the partition that is not read, and why if it is refused.

        Raises
        ------
        SourceError
            Raised if the failure is another one.
        """
        topic = failure.topic
        if refused is None or not topic or failure.error.code() not in DENIED:
            return self.out_of_range(failure), None
        refused[topic] = why = self.to_error(failure.error, topic)
        return (topic, failure.partition or 0), why

    def _is_wanted(
        self, message: Message, left: dict[TopicPartition, int]
    ) -> bool:
        """Tell whether a record is below its end; take off what is done."""
        partition, offset = _partition_of(message), _offset(message)
        end = left.get(partition)
        if end is not None and offset + 1 >= end:
            del left[partition]
        return end is not None and offset < end

    def out_of_range(self, failure: ReadFailure) -> TopicPartition:
        """Return the partition whose offset is not in its log.

        Raises
        ------
        SourceError
            Raised if the failure is another one.
        """
        if failure.error.code() not in OUT_OF_RANGE:
            raise self.to_error(failure.error, failure.topic)
        return failure.topic or "", failure.partition or 0

    def to_error(
        self, error: KafkaError, topic: str | None = None
    ) -> SourceError:
        """Translate what the library says of a topic, or of them all."""
        return to_source_error(
            KafkaException(error),
            cluster=self._cluster,
            right=f"READ on topic {topic or self._topic}",
        )


def _partition_of(message: Message) -> TopicPartition:
    return message.topic() or "", message.partition() or 0


def _offset(message: Message) -> int:
    return message.offset() or 0


def _not_served(text: str, cluster: str) -> SourceUnavailableError:
    return SourceUnavailableError(text, source="kafka", cluster=cluster)


RANGE_PATIENCE = 5.0
"""Shorter, as a survey of the clusters waits for it."""


def read_range(
    properties: Mapping[str, str],
    *,
    cluster: str,
    partition: TopicPartition,
    offsets: OffsetRange,
    read_committed: bool = False,
) -> Iterator[Message]:
    """Read the records of a range, read uncommitted as MirrorMaker 2's own.

    Parameters
    ----------
    properties
        librdkafka properties of the cluster.
    cluster
        Our alias of it.
    partition
        Topic and partition.
    offsets
        Which; their end is at most that of the partition.
    read_committed
        Aborted records are left out.

    Raises
    ------
    SourceError
        Raised if the range cannot be read to its end, or if that is not
        decided, as a transaction is open.
    """
    at, end = offsets.first, offsets.end
    if at >= end:
        return
    left = {partition: end}
    with OffsetConsumer(
        properties, cluster=cluster, read_committed=read_committed
    ) as consumer:
        consumer.assign({partition: at})
        for event in consumer.read(left, patience=RANGE_PATIENCE):
            if isinstance(event, PartitionEnd):
                # Of a new leader, which may yet catch up.
                left[partition] = end
                at = max(at, event.offset)
            else:
                at = _offset(event) + 1
                yield event
    if left:
        topic, number = partition
        raise _not_served(
            f"{topic}[{number}] at {cluster} could be read only to offset "
            f"{at}, not to {end}",
            cluster,
        )


def read_all(
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
    found = cluster.describe_topic(topic, right="READ")
    if found is None:
        return
    starts = cluster.starts(topic, found.leaders)
    left = {
        (topic, partition): end
        for partition, end in sorted(
            cluster.ends(topic, found.leaders).items()
        )
        if end > starts[partition]
    }
    if not left:
        return
    with OffsetConsumer(
        properties, cluster=cluster.alias, read_committed=True
    ) as consumer:
        consumer.assign({p: starts[p[1]] for p in left})
        for event in consumer.read(left):
            if not isinstance(event, PartitionEnd):
                yield event
    if left:
        raise _not_served(
            f"{topic} at {cluster.alias} could not be read to its end",
            cluster.alias,
        )


FIRST_RECORD_PATIENCE = 3.0
"""The end behind aborted records takes two fetches, which brokers hold for
500 ms each. What has not come by then is asked for again by anyone who wants
it."""


def read_first_records(
    properties: Mapping[str, str],
    *,
    cluster: str,
    wanted: Sequence[ReadAt],
    read_committed: bool,
    refused: dict[str, SourceError] | None = None,
) -> list[FirstRecord]:
    """Read the first data record at or after each position.

    Parameters
    ----------
    properties
        librdkafka properties of the source.
    cluster
        Our alias of it.
    wanted
        Positions to read from.
    read_committed
        Isolation level of the mirror's consumer.
    refused
        Takes the topics that may not be read; without it, one of them is an
        error.

    Returns
    -------
    list of FirstRecord
        Of those partitions that answered in time.

    Raises
    ------
    SourceError
        Raised if the records may not be read.
    """
    open_ = {w.place: w for w in wanted}
    left = dict.fromkeys(open_, maxsize)
    found: list[FirstRecord] = []
    with OffsetConsumer(
        properties,
        cluster=cluster,
        read_committed=read_committed,
        # One record of each partition is wanted, not what follows it.
        own=EXACTLY
        | {"fetch.message.max.bytes": 16_384, "queued.min.messages": 1},
    ) as consumer:
        consumer.assign({p: w.position for p, w in open_.items()})
        for event in consumer.read(
            left, patience=FIRST_RECORD_PATIENCE, refused=refused
        ):
            if isinstance(event, PartitionEnd):
                asked = open_[event.topic, event.partition]
                found.append(FirstRecord(asked, None))
            else:
                asked = open_[_partition_of(event)]
                found.append(
                    FirstRecord(asked, event.offset(), written_at(event))
                )
                del left[asked.place]
    return found


_PARTITION_BYTES = 2**20
"""Bytes of one partition in a fetch, as many as a batch has at most by default
(``max.message.bytes``). Where batches are larger than that, a fetch returns
one of them, whole, and of each other partition a part that is of no use: 400
partitions in batches of 200 kB took 160 s with 16 kB, and 1.5 s so."""

_FETCH_BYTES = 8 * 2**20
"""Bytes in a fetch: what the answer of a broker takes in memory."""


def _fetched_at_once(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return the properties of a consumer that reads a little of very many
    partitions.
    """
    # The library refuses to fetch less than a message may have.
    least = int(properties.get("message.max.bytes", 0))
    return {
        "fetch.message.max.bytes": _PARTITION_BYTES,
        "fetch.max.bytes": properties.get(
            "fetch.max.bytes", max(_FETCH_BYTES, least)
        ),
        # A partition is fetched again once its records were taken; not, as by
        # default, a second later.
        "queued.min.messages": 1,
        "fetch.queue.backoff.ms": 20,
    }


class NewestReader:
    """Samples the newest records of many partitions.

    Parameters
    ----------
    properties
        librdkafka properties of the cluster.
    cluster
        Our alias of it.

    Notes
    -----
    Records are fetched from all partitions of a broker at once, so requests
    grow with brokers. The consumer is kept, and reads nothing in between.
    """

    def __init__(self, properties: Mapping[str, str], cluster: str) -> None:
        self._properties = properties
        self._cluster = cluster
        self._consumer: OffsetConsumer | None = None

    def read(
        self,
        wanted: Mapping[TopicPartition, OffsetRange],
        patience: float,
    ) -> tuple[list[Message], dict[TopicPartition, SourceError | None]]:
        """Read what comes in time of so many ranges.

        Parameters
        ----------
        wanted
            Offsets by partition; their ends are at most those of the logs.
        patience
            Seconds without a record after which it stops.

        Returns
        -------
        tuple
            Records, and the partitions that did not give theirs, with the
            reason where one is known.

        Raises
        ------
        SourceError
            Raised if the cluster cannot be read at all.
        """
        if self._consumer is None:
            self._consumer = OffsetConsumer(
                self._properties,
                cluster=self._cluster,
                read_committed=False,
                own=EXACTLY | _fetched_at_once(self._properties),
            )
        consumer = self._consumer
        left: dict[TopicPartition, SourceError | None] = dict.fromkeys(wanted)
        found: list[Message] = []
        idle, open_ = 0.0, set(wanted)
        try:
            consumer.assign({p: w.first for p, w in wanted.items()})
            while open_ and idle < patience:
                idle += POLL
                done = set[TopicPartition]()
                for event in consumer.follow(BATCH, POLL):
                    idle = 0.0
                    place = self._sort(event, wanted, found, left)
                    if place in open_:
                        done.add(place)
                open_ -= done
                if open_:
                    consumer.drop(done)
            consumer.unassign()
        except SourceError:
            self.close()
            raise
        return found, left

    def _sort(
        self,
        event: Message | PartitionEnd | ReadFailure,
        wanted: Mapping[TopicPartition, OffsetRange],
        found: list[Message],
        left: dict[TopicPartition, SourceError | None],
    ) -> TopicPartition | None:
        """Keep one event; return its partition if no other one is awaited."""
        if isinstance(event, ReadFailure):
            assert self._consumer is not None  # noqa: S101 - it said this
            error = self._consumer.to_error(event.error, event.topic)
            if event.topic is None or event.error.code() in UNREACHABLE:
                raise error
            place = event.topic, event.partition or 0
            if place in left and event.error.code() not in OUT_OF_RANGE:
                left[place] = error
            return place
        if isinstance(event, PartitionEnd):
            place = event.topic, event.partition
            if place in wanted and event.offset < wanted[place].end:
                return None  # of a new leader, which may yet catch up
        else:
            place = _partition_of(event)
            if place not in wanted:
                return None
            if _offset(event) < wanted[place].end:
                found.append(event)
            if _offset(event) + 1 < wanted[place].end:
                return None
        left.pop(place, None)
        return place

    def close(self) -> None:
        """Let go of the connections."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None


EPOCH = datetime.fromtimestamp(0, UTC)

NEWEST_TIMESTAMP = (datetime.max.replace(tzinfo=UTC) - EPOCH) // timedelta(
    seconds=1
)
"""Seconds of the last time that Python knows. Kafka knows later ones, and a
producer that takes microseconds for milliseconds writes them."""


def to_time(milliseconds: int) -> datetime | None:
    """Return a timestamp of Kafka as a time, `None` if it is none.

    One that Python does not know is taken for the last one that it knows.
    """
    if milliseconds < 0:
        return None
    seconds = min(milliseconds / 1000, NEWEST_TIMESTAMP)
    return EPOCH + timedelta(seconds=seconds)


def written_at(message: Message) -> datetime | None:
    """Return the time that a record has, `None` if it has none."""
    kind, milliseconds = message.timestamp()
    return None if kind == TIMESTAMP_NOT_AVAILABLE else to_time(milliseconds)


@dataclass(frozen=True, slots=True)
class RecordFingerprint:
    """Fingerprint of one record, to match it with its copy."""

    content: int
    timestamp: int
    """Milliseconds; a copy has that of its record."""

    by_broker: bool

    def number(self, *, timed: bool) -> int:
        """Return one number; two records are alike if theirs are equal.

        Parameters
        ----------
        timed
            The timestamp counts.
        """
        return hash((self.content, self.timestamp if timed else None))

    @classmethod
    def of(cls, message: Message) -> Self:
        """Return how a record looks.

        Headers are left out: transforms add and remove them, and nothing else
        of a record that MirrorMaker 2 copies can be altered by Connect's own.
        """
        digest = blake2b(digest_size=8)
        for part in (message.key(), message.value()):
            content = b"" if part is None else bytes(part)
            digest.update(b"-" if part is None else b"%d:" % len(content))
            digest.update(content)
        kind, milliseconds = message.timestamp()
        return cls(
            content=int.from_bytes(digest.digest(), "big"),
            timestamp=int(milliseconds),
            by_broker=kind == TIMESTAMP_LOG_APPEND_TIME,
        )


END_PATIENCE = 3.0
"""Seconds in which a broker refuses an offset that its log does not have: it
answers at once, and others after the 500 ms that they hold a fetch."""

_MARKERS = 1000
"""Offsets up to which a range is read, as it may hold no record."""


class RangeReader:
    """Reads ranges of many partitions of one cluster.

    Parameters
    ----------
    properties
        librdkafka properties of the cluster.
    cluster
        Our alias of it.
    """

    def __init__(self, properties: Mapping[str, str], cluster: str) -> None:
        self._properties = properties
        self._cluster = cluster
        self.bytes_read = 0
        """Bytes of keys and values of ranges, since it was made."""

    def find_empty(
        self, wanted: Iterable[tuple[TopicPartition, OffsetRange]]
    ) -> set[TopicPartition]:
        """Return the partitions of which a range holds no record: only
        markers of transactions, or what was compacted.

        Long ranges are not read: they hold some.

        Raises
        ------
        SourceError
            Raised if a cluster does not answer, or refuses.
        """
        spans = [(p, span) for p, span in wanted if 0 < len(span) <= _MARKERS]
        found = self.read(spans, committed=False)
        return {place for place, records in found.items() if records == {}}

    def find_truncated(
        self, wanted: Mapping[TopicPartition, int]
    ) -> set[TopicPartition]:
        """Return the partitions whose logs end before an offset.

        The end that a broker tells may be an old one: it holds back what is
        behind that, but refuses an offset only where its log ends before it.

        Raises
        ------
        SourceError
            Raised if the cluster does not answer, or refuses.
        """
        found, open_, idle = set[TopicPartition](), set(wanted), 0.0
        if not wanted:
            return found
        with OffsetConsumer(
            self._properties,
            cluster=self._cluster,
            read_committed=False,
            own=EXACTLY | _fetched_at_once(self._properties),
        ) as consumer:
            consumer.assign(wanted)
            while open_ and idle < END_PATIENCE:
                idle += POLL
                done = set[TopicPartition]()
                for event in consumer.follow(BATCH, POLL):
                    if isinstance(event, ReadFailure):
                        place = consumer.out_of_range(event)
                        found.add(place)
                    elif isinstance(event, PartitionEnd):
                        place = event.topic, event.partition
                    else:
                        place = _partition_of(event)
                    done.add(place)
                if answered := done & open_:
                    idle = 0.0
                    open_ -= answered
                    consumer.drop(answered)
        return found

    def read(
        self,
        wanted: Iterable[tuple[TopicPartition, OffsetRange]],
        *,
        committed: bool,
    ) -> dict[TopicPartition, dict[int, RecordFingerprint] | None]:
        """Read the records of some ranges.

        Parameters
        ----------
        wanted
            Partitions and offsets; a partition may have several ranges.
        committed
            Aborted records are left out (isolation level read committed).

        Returns
        -------
        dict
            Records by offset, ascending; `None` for a partition that cannot
            be read to the end of a range now. The broker holds records of an
            unfinished transaction back, or the log has become shorter: what
            was not seen may be there.

        Raises
        ------
        SourceError
            Raised if a cluster does not answer, or refuses.
        """
        # A consumer reads one range of a partition at a time.
        rounds: list[dict[TopicPartition, OffsetRange]] = []
        found: dict[TopicPartition, dict[int, RecordFingerprint]] = {}
        for partition, span in wanted:
            found.setdefault(partition, {})
            if not len(span):
                continue
            free = next((r for r in rounds if partition not in r), None)
            if free is None:
                rounds.append({partition: span})
            else:
                free[partition] = span
        if not rounds:
            return {**found}
        ended_before: set[TopicPartition] = set()
        with OffsetConsumer(
            self._properties,
            cluster=self._cluster,
            read_committed=committed,
            # A range is some hundred records: no more is fetched ahead.
            own={
                "queued.max.messages.kbytes": 4096,
                "fetch.message.max.bytes": 262144,
            },
        ) as consumer:
            for spans in rounds:
                left = {p: span.end for p, span in spans.items()}
                consumer.assign({p: s.first for p, s in spans.items()})
                for event in consumer.read(left):
                    if isinstance(event, PartitionEnd):
                        ended_before.add((event.topic, event.partition))
                    else:
                        records = found[_partition_of(event)]
                        records[_offset(event)] = RecordFingerprint.of(event)
                        self.bytes_read += sum(
                            len(part)
                            for part in (event.key(), event.value())
                            if part is not None
                        )
                if left:
                    (topic, number), end = next(iter(left.items()))
                    raise _not_served(
                        f"{topic}[{number}] at {self._cluster} could not be "
                        f"read to offset {end}",
                        self._cluster,
                    )
        return {
            partition: None
            if partition in ended_before
            else dict(sorted(records.items()))
            for partition, records in found.items()
        }
