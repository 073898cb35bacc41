"""Reads a stretch of one partition, completely or not at all."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from ..domain.cluster_view import TopicPartition as Place
from ..domain.lag.model import FirstRecord, ReadAt
from ..domain.skips.model import OffsetRange
from ..exceptions import SourceUnavailableError
from .admin import Cluster
from .errors import is_about_groups, reading, to_source_error

__all__ = [
    "RangeReader",
    "RecordFingerprint",
    "read_all",
    "read_first_records",
    "read_range",
]


RANGE_BATCH = 1000
"""Records taken at once."""

RANGE_POLL = 0.5
"""Seconds to wait for records that are known to be there."""

RANGE_PATIENCE = 10
"""Empty polls in a row after which the cluster is called unavailable."""

END = KafkaError._PARTITION_EOF  # noqa: SLF001 - how the library names it


def read_range(
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
    at, patience = where.offset, RANGE_PATIENCE
    try:
        consumer.assign([where])
        while at < end:
            messages = consumer.consume(RANGE_BATCH, RANGE_POLL)
            patience = RANGE_PATIENCE if messages else patience - 1
            if not patience:
                raise SourceUnavailableError(
                    f"{where.topic}[{where.partition}] at {cluster} could be "
                    f"read only to offset {at}, not to {end}",
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


TOPIC_BATCH = 5000
"""Records taken at once."""

TOPIC_POLL = 0.5
"""Seconds to wait for records that are known to be there."""

TOPIC_PATIENCE = 20
"""Empty polls in a row after which the cluster is called unavailable."""


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
    patience = TOPIC_PATIENCE
    try:
        consumer.assign(
            [TopicPartition(topic, p, starts[p]) for p in sorted(left)]
        )
        while left:
            messages = consumer.consume(TOPIC_BATCH, TOPIC_POLL)
            patience = TOPIC_PATIENCE if messages else patience - 1
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


HEADS_POLL = 1.0
"""Seconds to wait for records before the reading is given up; what is still
wanted is wanted again."""

HEADS_BATCH = 500
"""Records taken at once."""


SMALL: Mapping[str, Any] = {
    # One record of each partition is wanted, not what follows it.
    "fetch.message.max.bytes": 16_384,
    "queued.min.messages": 1,
    "enable.partition.eof": "true",
}


def read_first_records(
    properties: Mapping[str, str],
    *,
    cluster: str,
    wanted: Sequence[ReadAt],
    isolation: str,
) -> list[FirstRecord]:
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
    found: list[FirstRecord] = []
    consumer = Consumer(own)
    try:
        consumer.assign([TopicPartition(*w.place, w.position) for w in wanted])
        while open_ and (
            messages := consumer.consume(HEADS_BATCH, HEADS_POLL)
        ):
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
    open_: dict[tuple[str, int], ReadAt],
    cluster: str,
) -> Iterator[FirstRecord]:
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
            yield FirstRecord(asked, None)
        else:
            yield FirstRecord(asked, message.offset(), _written_at(message))


def _written_at(message: Message) -> datetime | None:
    kind, milliseconds = message.timestamp()
    if kind == TIMESTAMP_NOT_AVAILABLE:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


@dataclass(frozen=True, slots=True)
class RecordFingerprint:
    """One record."""

    content: int
    """Of key and value."""

    timestamp: int
    """Milliseconds; a copy has that of its record."""

    by_broker: bool
    """Whether the broker set it when it stored the record."""

    def number(self, *, timed: bool) -> int:
        """Return one number; two records are alike if theirs are equal.

        Parameters
        ----------
        timed
            Whether the timestamp counts.
        """
        return hash((self.content, self.timestamp if timed else None))


def fingerprint_of(message: Message) -> RecordFingerprint:
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
    return RecordFingerprint(
        content=int.from_bytes(digest.digest(), "big"),
        timestamp=int(milliseconds),
        by_broker=kind == TIMESTAMP_LOG_APPEND_TIME,
    )


MANY_BATCH = 1000
"""Records taken at once."""

MANY_POLL = 0.25
"""Seconds to wait for records that are known to be there."""

MANY_PATIENCE = 40
"""Empty polls in a row after which the cluster is called unavailable."""


@dataclass(slots=True)
class _Left:
    """What is still to be read."""

    ends: dict[Place, int]
    found: dict[Place, dict[int, RecordFingerprint]] = field(
        default_factory=dict
    )
    held: set[Place] = field(default_factory=set)
    """Partitions that end before the span does, as far as may be read."""


class RangeReader:
    """Reads stretches of partitions of one cluster.

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

    def read(
        self, wanted: Iterable[tuple[Place, OffsetRange]], *, committed: bool
    ) -> dict[Place, dict[int, RecordFingerprint] | None]:
        """Read the records of some spans.

        Parameters
        ----------
        wanted
            Partitions and offsets; a partition may have several spans.
        committed
            Whether as a reader that leaves out aborted records.

        Returns
        -------
        dict
            Records by offset, ascending; `None` for a partition that cannot
            be read to the end of a span now. The broker holds records of an
            unfinished transaction back, or the log has become shorter: what
            was not seen may be there.

        Raises
        ------
        SourceError
            Raised if a cluster does not answer, or refuses.
        """
        rounds: list[dict[Place, OffsetRange]] = []
        found: dict[Place, dict[int, RecordFingerprint]] = {}
        for place, span in wanted:
            found.setdefault(place, {})
            if not len(span):
                continue
            free = next((r for r in rounds if place not in r), None)
            if free is None:
                rounds.append({place: span})
            else:
                free[place] = span
        if not rounds:
            return {**found}
        own: dict[str, Any] = {
            "enable.partition.eof": "true",
            "isolation.level": "read_committed"
            if committed
            else "read_uncommitted",
            # A stretch is some hundred records: no more is fetched ahead.
            "queued.max.messages.kbytes": 4096,
            "fetch.message.max.bytes": 262144,
        }
        consumer = Consumer(reading(self._properties) | own)
        held: set[Place] = set()
        try:
            for spans in rounds:
                left = self._read(consumer, spans)
                held |= left.held
                for place, records in left.found.items():
                    found[place].update(records)
        finally:
            consumer.close()
        return {
            place: None if place in held else dict(sorted(records.items()))
            for place, records in found.items()
        }

    def _read(
        self, consumer: Consumer, spans: Mapping[Place, OffsetRange]
    ) -> _Left:
        left = _Left({place: span.end for place, span in spans.items()})
        try:
            consumer.assign(
                [TopicPartition(*p, span.first) for p, span in spans.items()]
            )
            patience = MANY_PATIENCE
            while left.ends:
                messages = consumer.consume(MANY_BATCH, MANY_POLL)
                patience = MANY_PATIENCE if messages else patience - 1
                if not patience:
                    topic, partition = next(iter(left.ends))
                    raise SourceUnavailableError(
                        f"{topic}[{partition}] at {self._cluster} could not "
                        f"be read to offset {left.ends[topic, partition]}",
                        source="kafka",
                        cluster=self._cluster,
                    )
                for message in messages:
                    self._take(message, left)
            consumer.unassign()
        except KafkaException as e:
            topic, _ = next(iter(spans))
            raise to_source_error(
                e, cluster=self._cluster, right=f"READ on topic {topic}"
            ) from e
        return left

    def _take(self, message: Message, left: _Left) -> None:
        place = (message.topic() or "", message.partition() or 0)
        error, offset = message.error(), message.offset() or 0
        if error is not None:
            if error.code() == END:
                if offset < left.ends.pop(place, offset):
                    left.held.add(place)
            elif not is_about_groups(error):
                raise to_source_error(
                    KafkaException(error),
                    cluster=self._cluster,
                    right=f"READ on topic {place[0]}",
                )
            return
        end = left.ends.get(place)
        if end is None:
            return
        if offset < end:
            left.found.setdefault(place, {})[offset] = fingerprint_of(message)
        if offset + 1 >= end:
            del left.ends[place]
