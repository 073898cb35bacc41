"""Ends of very many partitions, at every tick."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from confluent_kafka import Consumer, KafkaException, TopicPartition

from ..domain.view import TopicPartition as Place
from .bulk import read_ends, read_starts
from .cluster import TIMEOUT, Cluster
from .kafka import reading

__all__ = ["Ends"]

LATEST, EARLIEST = -1, -2
"""Times that Kafka's ListOffsets takes for the end and the start of a log."""

BATCH = 2000
"""Partitions that are asked for at once. The library makes one request of
them for each broker, and finds each answer by going through all of them: 8,000
took 0.48 s of processor time at once and 0.16 s in four batches. Smaller ones
would save little more, and each costs a round trip."""


class Ends:
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
        self, places: Iterable[Place], *, read_committed: bool = False
    ) -> dict[Place, int]:
        """Read the ends of partitions; those without a leader are left out.

        Raises
        ------
        SourceError
            Raised if the cluster cannot be asked.
        """
        places = set(places)
        found = self._ask(places, LATEST, read_committed=read_committed)
        if found is None:
            found = read_ends(
                self._cluster, places, read_committed=read_committed
            )
            self._troubled = len(found) < len(places)
        return found

    def read_starts(self, places: Iterable[Place]) -> dict[Place, int]:
        """Read the lowest offsets that partitions still hold.

        Raises
        ------
        SourceError
            Raised if the cluster cannot be asked.
        """
        places = set(places)
        found = self._ask(places, EARLIEST, read_committed=False)
        return read_starts(self._cluster, places) if found is None else found

    def close(self) -> None:
        """Let go of connections."""
        for consumer in self._consumers.values():
            consumer.close()
        self._consumers.clear()

    def _ask(
        self, places: set[Place], time: int, *, read_committed: bool
    ) -> dict[Place, int] | None:
        """Ask the consumer; return `None` if it does not know them all."""
        if self._troubled:
            return None
        found: dict[Place, int] = {}
        # By topic, so that a batch is about as few of them as possible.
        for batch in _batches(sorted(places)):
            try:
                answers = self._consumer(
                    read_committed=read_committed
                ).offsets_for_times(
                    [TopicPartition(*place, time) for place in batch],
                    timeout=TIMEOUT,
                )
            except KafkaException:
                break
            # They come in the order of the questions.
            for place, answer in zip(batch, answers, strict=True):
                if answer.error is None and answer.offset >= 0:
                    found[place] = answer.offset
        if len(found) == len(places):
            return found
        self._troubled = True
        self.close()
        return None

    def _consumer(self, *, read_committed: bool) -> Consumer:
        if read_committed not in self._consumers:
            level = "read_committed" if read_committed else "read_uncommitted"
            self._consumers[read_committed] = Consumer(
                reading(self._properties) | {"isolation.level": level}
            )
        return self._consumers[read_committed]


def _batches(places: Sequence[Place]) -> Iterator[Sequence[Place]]:
    for start in range(0, len(places), BATCH):
        yield places[start : start + BATCH]
