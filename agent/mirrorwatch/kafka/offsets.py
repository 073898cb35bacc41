"""Offsets of partitions: ends, starts, and the first of a time."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from confluent_kafka.admin import OffsetSpec

from ..domain.cluster_view import TopicPartition
from ..exceptions import SourceError
from .admin import Cluster, OtherBrokerError
from .list_offsets import EARLIEST, LATEST
from .reader import EPOCH, to_time

__all__ = [
    "RecordAtTime",
    "find_first_since",
    "read_ends",
    "read_first_since",
    "read_newest_ends",
    "read_newest_timestamp",
    "read_starts",
]


def read_ends(
    cluster: Cluster,
    partitions: Iterable[TopicPartition],
    *,
    read_committed: bool = False,
) -> dict[TopicPartition, int]:
    """Read the ends of partitions; those without a leader are left out.

    Parameters
    ----------
    cluster
        The cluster.
    partitions
        Topics and partitions.
    read_committed
        Read as a consumer with isolation level read committed: up to the last
        stable offset.

    Raises
    ------
    SourceError
        Raised if the cluster cannot be asked.
    """
    return cluster.offsets(
        dict.fromkeys(partitions, LATEST), read_committed=read_committed
    )


def read_starts(
    cluster: Cluster, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, int]:
    """Read the lowest offsets that partitions still hold.

    Those without a leader are left out.

    Raises
    ------
    SourceError
        Raised if the cluster cannot be asked.
    """
    return cluster.offsets(dict.fromkeys(partitions, EARLIEST))


TRIES = 10
"""Retry limit of a look-up that one given broker must answer: on a busy
machine another one answered two of five new clients."""


def read_newest_ends(
    cluster: Cluster,
    properties: Mapping[str, str],
    partitions: Iterable[TopicPartition],
) -> dict[TopicPartition, int]:
    """Ask most brokers who leads partitions, and these leaders for ends.

    A broker that is cut off from its cluster takes itself for a leader still,
    and answers with the end that its log had. Other brokers know better.

    Parameters
    ----------
    cluster
        The cluster.
    properties
        Its librdkafka properties.
    partitions
        Topics and partitions.

    Returns
    -------
    dict
        The end that the newest leader of each tells; none where most brokers
        name no leader that answers.

    Raises
    ------
    SourceError
        Raised if the cluster cannot be asked.
    """
    wanted = {place: OffsetSpec.latest() for place in partitions}
    if not wanted:
        return {}
    brokers = cluster.metadata().brokers
    most = len(brokers) // 2 + 1
    told: dict[TopicPartition, list[tuple[int, int]]] = {p: [] for p in wanted}
    for number, broker in brokers.items():
        host = str(broker.host)
        if ":" in host:
            host = f"[{host}]"
        address = {"bootstrap.servers": f"{host}:{broker.port}"}
        each = Cluster(cluster.alias, {**properties, **address})
        for place, answer in _ends_by(each, number, wanted).items():
            epoch = -1 if answer.leader_epoch is None else answer.leader_epoch
            told[place].append((epoch, int(answer.offset)))
        if all(len(ends) >= most for ends in told.values()):
            break
    return {
        place: max(ends)[1]
        for place, ends in told.items()
        if len(ends) >= most
    }


def _ends_by(
    broker: Cluster, number: int, wanted: Mapping[TopicPartition, OffsetSpec]
) -> dict[TopicPartition, Any]:
    """Return what the leaders answer that a broker names; nothing if it is
    down or cannot be reached.
    """
    for _ in range(TRIES):
        try:
            return broker.list_offsets(wanted, named_by=number)
        except OtherBrokerError:
            continue  # it would count twice
        except SourceError:
            break
    return {}


def find_first_since(
    cluster: Cluster, wanted: Mapping[TopicPartition, datetime]
) -> dict[TopicPartition, int | None]:
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
        Offsets of all partitions that were asked for; `None` if there is no
        such record.

    Raises
    ------
    SourceError
        Raised if the cluster cannot be asked, or one partition of it.

    Notes
    -----
    It is the first by offset. What follows may be older, what is before it is
    not younger. Records of unfinished transactions count.
    """
    found = cluster.offsets(
        {place: _to_ms(time) for place, time in wanted.items()}, strict=True
    )
    return {
        place: None if offset < 0 else offset
        for place, offset in found.items()
    }


class RecordAtTime(NamedTuple):
    """The first record that is not older than a time."""

    offset: int | None
    """Its offset; `None` if there is none."""

    written_at: datetime | None
    """Its timestamp; `None` if it has none, or there is no record."""


def read_first_since(
    cluster: Cluster, wanted: Mapping[TopicPartition, datetime]
) -> dict[TopicPartition, RecordAtTime]:
    """Look for the same records, and read when they were written.

    That takes new connections, so it is not for every tick.
    """
    found = cluster.list_offsets(
        {
            place: OffsetSpec.for_timestamp(_to_ms(time))
            for place, time in wanted.items()
        },
        strict=True,
    )
    return {place: _to_record(answer) for place, answer in found.items()}


def read_newest_timestamp(cluster: Cluster, topic: str) -> datetime | None:
    """Read the highest timestamp of the first partition of a topic.

    Raises
    ------
    SourceError
        Raised if it cannot be asked for.
    """
    asked = {(topic, 0): OffsetSpec.max_timestamp()}
    (answer,) = cluster.list_offsets(asked, strict=True).values()
    return to_time(int(answer.timestamp))


def _to_record(answer: Any) -> RecordAtTime:
    offset = int(answer.offset)
    return RecordAtTime(
        None if offset < 0 else offset, to_time(int(answer.timestamp))
    )


def _to_ms(time: datetime) -> int:
    """Return the first whole millisecond that is not before a time."""
    # Below zero they mean something else to Kafka.
    return max(0, -((EPOCH - time) // timedelta(milliseconds=1)))
