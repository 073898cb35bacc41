"""Reads stretches of many partitions of one cluster at once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from ...domain.conservation import Span
from ...domain.view import TopicPartition as Place
from ...exceptions import SourceUnavailableError
from ..kafka import is_about_groups, reading, to_source_error
from .looks import Look, look_of

__all__ = ["Stretches"]

BATCH = 1000
"""Records taken at once."""

POLL = 0.25
"""Seconds to wait for records that are known to be there."""

PATIENCE = 40
"""Empty polls in a row after which the cluster is called unavailable."""

END = KafkaError._PARTITION_EOF  # noqa: SLF001 - how the library names it


@dataclass(slots=True)
class _Left:
    """What is still to be read."""

    ends: dict[Place, int]
    found: dict[Place, dict[int, Look]] = field(default_factory=dict)
    held: set[Place] = field(default_factory=set)
    """Partitions that end before the span does, as far as may be read."""


class Stretches:
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
        self, wanted: Iterable[tuple[Place, Span]], *, committed: bool
    ) -> dict[Place, dict[int, Look] | None]:
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
        rounds: list[dict[Place, Span]] = []
        found: dict[Place, dict[int, Look]] = {}
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

    def _read(self, consumer: Consumer, spans: Mapping[Place, Span]) -> _Left:
        left = _Left({place: span.end for place, span in spans.items()})
        try:
            consumer.assign(
                [TopicPartition(*p, span.first) for p, span in spans.items()]
            )
            patience = PATIENCE
            while left.ends:
                messages = consumer.consume(BATCH, POLL)
                patience = PATIENCE if messages else patience - 1
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
            left.found.setdefault(place, {})[offset] = look_of(message)
        if offset + 1 >= end:
            del left.ends[place]
