"""Leaders and offsets of all partitions, looked up at every tick."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from operator import attrgetter
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Requested
from confluent_kafka.admin import ClusterMetadata

from ..domain.cluster_view import TopicPartition
from .errors import LEADERS_MS, TIMEOUT, batched, consumer_properties

__all__ = ["BATCH", "EARLIEST", "LATEST", "OffsetLookup"]


LATEST, EARLIEST = -1, -2
"""Times that Kafka's ListOffsets takes for the end and the start of a log."""

BATCH = 250
"""Partitions that are asked for at once. The library makes one request of
them for each broker, and goes through all of them three times for each one of
them (`rd_kafka_topic_partition_list_find`). One of 10,000 took, in batches of
1,000, 500, 250 and 100: 10, 7.1, 5.3 and 4.7 µs of processor time."""

AT_ONCE = 4
"""Batches that are under way at the same time, as each waits for a round trip
between the sites."""


_ERROR, _OFFSET = attrgetter("error"), attrgetter("offset")
"""Of an answer: an attribute for each of 10,000, without a step of Python."""


class OffsetLookup:
    """Lists topics, and asks the leaders of partitions for offsets.

    Parameters
    ----------
    properties
        librdkafka properties.
    on_error
        Takes why connections fail, from within `list_topics` and `poll`.
    clock
        A clock that only goes forward, in seconds.

    Notes
    -----
    The requests are those of the library's administrator. But that answers
    with a future for each partition, with a lock and a callback; a consumer
    with a list, for a third of the time: 17 against 50 ms of processor time
    for 1,500 partitions. Nor does it end the process: see
    `Cluster.list_offsets`.

    A consumer remembers which partitions there are and who leads them, and
    says nothing of a whole batch where one broker is silent, or where one
    partition of it fails.

    Topics are listed with the client that asks for offsets, just before: by
    another one, each batch would take a request for metadata more. With 1,172
    topics on both sides all took 45 ms of processor time instead of 30, and
    120 ms instead of 85. Nor is a broker believed that names a leader with an
    older epoch than what is remembered (``has_reliable_leader_epochs`` in
    ``rd_kafka_metadata_cache_topic_update``).
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        on_error: Callable[[KafkaError], None] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._properties = properties
        self._own = {} if on_error is None else {"error_cb": on_error}
        self._clock = clock
        self._listed_at: float | None = None
        # By isolation level: a client has one. Most mirrors need one only.
        self._consumers: dict[bool, Consumer] = {}

    def list_topics(self) -> ClusterMetadata:
        """List brokers and topics, and remember who leads partitions.

        Raises
        ------
        KafkaException
            Raised if no broker answers.
        """
        self.poll(0)
        at = self._clock()
        # In no variable: an error would hold it, and so the client.
        listed: ClusterMetadata = self._consumer(
            read_committed=False
        ).list_topics(timeout=TIMEOUT)
        self._listed_at = at
        return listed

    @property
    def _knows_leaders(self) -> bool:
        return self._listed_at is not None and (
            self._clock() < self._listed_at + LEADERS_MS / 1000
        )

    def poll(self, seconds: float) -> None:
        """Wait some seconds for why connections of the client that lists
        topics fail.
        """
        consumer = self._consumers.get(False)
        if consumer is not None:
            consumer.poll(seconds)

    def read(
        self,
        wanted: Mapping[TopicPartition, int],
        *,
        read_committed: bool,
    ) -> dict[TopicPartition, int]:
        """Read offsets.

        Parameters
        ----------
        wanted
            Times in milliseconds, or `LATEST`, or `EARLIEST`.
        read_committed
            The isolation level.

        Returns
        -------
        dict
            The first offset that is not older; -1 if there is none. Whatever
            failed is left out, and so may be any other where one failed.
        """
        found: dict[TopicPartition, int] = {}
        if not wanted:
            return found

        def ask(
            consumer: Consumer, batch: Sequence[TopicPartition]
        ) -> Sequence[Requested]:
            return consumer.offsets_for_times(
                [Requested(*p, wanted[p]) for p in batch], timeout=TIMEOUT
            )

        # By topic, so that a batch is about as few of them as possible.
        batches = [*batched(sorted(wanted), BATCH)]
        with suppress(KafkaException):
            # What makes it fails, too, where a token or a file is missing.
            if not read_committed and not self._knows_leaders:
                self.list_topics()
            question = partial(
                ask, self._consumer(read_committed=read_committed)
            )
            for batch, answers in zip(
                batches, _ask_at_once(question, batches), strict=True
            ):
                # They come in the order of the questions.
                places, given = _answered(batch, answers, wanted)
                found.update(zip(places, map(_OFFSET, given), strict=True))
        if len(found) < len(wanted):
            # What it remembers may no longer be so.
            self.renew(read_committed=read_committed)
        return found

    def renew(self, *, read_committed: bool = False) -> None:
        """Take another client, which remembers nothing.

        Notes
        -----
        If one can be made: what it takes, such as a file, may be missing at
        the moment, and the old one has read it.
        """
        with suppress(KafkaException):
            self._consumers[read_committed] = self._make(
                read_committed=read_committed
            )
        if not read_committed:
            self._listed_at = None

    def close(self) -> None:
        """Let go of connections, and of what is remembered."""
        self._consumers.clear()
        self._listed_at = None

    def _consumer(self, *, read_committed: bool) -> Consumer:
        found = self._consumers.get(read_committed)
        if found is None:
            found = self._make(read_committed=read_committed)
            self._consumers[read_committed] = found
        return found

    def _make(self, *, read_committed: bool) -> Consumer:
        # It has no topic to ask for again: it has to forget them, if they are
        # not listed again.
        own: dict[str, Any] = {"metadata.max.age.ms": LEADERS_MS}
        if not read_committed:
            # The other one is polled by nobody: errors would pile up.
            own = self._own
        return Consumer(
            own
            | consumer_properties(
                self._properties, read_committed=read_committed
            )
        )


def _answered(
    batch: Sequence[TopicPartition],
    answers: Sequence[Requested],
    wanted: Mapping[TopicPartition, int],
) -> tuple[Sequence[TopicPartition], Sequence[Requested]]:
    if not any(map(_ERROR, answers)) and min(map(_OFFSET, answers)) >= 0:
        return batch, answers  # nearly always
    # Ends and starts are not negative.
    found = [
        (place, answer)
        for place, answer in zip(batch, answers, strict=True)
        if answer.error is None and (answer.offset >= 0 or wanted[place] >= 0)
    ]
    return [place for place, _ in found], [answer for _, answer in found]


def _ask_at_once(
    ask: Callable[[Sequence[TopicPartition]], Sequence[Requested]],
    batches: Sequence[Sequence[TopicPartition]],
) -> Iterator[Sequence[Requested]]:
    # A small site needs no threads.
    if len(batches) < 2:
        yield from map(ask, batches)
        return
    with ThreadPoolExecutor(AT_ONCE, "ends") as pool:
        yield from pool.map(ask, batches)
