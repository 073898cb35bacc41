"""Looks for records by time, in many partitions at once."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from ..domain.view import TopicPartition as Place
from .cluster import TIMEOUT, Cluster

__all__ = ["FirstRecord", "read_first_since", "to_time"]

BATCH = 2000
"""Partitions that are asked for at once, as in `Ends`."""

EPOCH = datetime.fromtimestamp(0, UTC)

LATEST = (datetime.max.replace(tzinfo=UTC) - EPOCH) // timedelta(seconds=1)
"""Seconds of the last time that Python knows. Kafka knows later ones, and a
producer that takes microseconds for milliseconds writes them."""


class FirstRecord(NamedTuple):
    """The first record that is not older than a time."""

    offset: int | None
    """Its offset; `None` if there is none."""

    written_at: datetime | None
    """Its timestamp; `None` if it has none, or there is no record."""


def read_first_since(
    cluster: Cluster, wanted: Mapping[Place, datetime]
) -> dict[Place, FirstRecord]:
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
    found: dict[Place, FirstRecord] = {}
    for batch in _batches(sorted(wanted.items())):
        specs = {
            TopicPartition(*place): OffsetSpec.for_timestamp(_to_ms(time))
            for place, time in batch
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
            found[key.topic, key.partition] = FirstRecord(
                None if offset < 0 else offset, to_time(int(answer.timestamp))
            )
    return found


def to_time(milliseconds: int) -> datetime | None:
    """Return a timestamp of Kafka as a time, `None` if it is none.

    One that Python does not know is taken for the last one that it knows.
    """
    if milliseconds < 0:
        return None
    seconds = min(milliseconds / 1000, LATEST)
    return EPOCH + timedelta(seconds=seconds)


def _to_ms(time: datetime) -> int:
    """Return the first whole millisecond that is not before a time."""
    # Below zero they mean something else to Kafka.
    return max(0, -((EPOCH - time) // timedelta(milliseconds=1)))


def _batches(
    items: Sequence[tuple[Place, datetime]],
) -> Iterator[Sequence[tuple[Place, datetime]]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]
