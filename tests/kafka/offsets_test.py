"""Ends of many partitions, from librdkafka's own mock brokers."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from mirrorwatch.domain.cluster_view import TopicPartition
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch.kafka.offsets import BATCH, EndOffsets

BROKERS, PARTITIONS = 3, 4
"""Of the cluster; that many partitions has each topic that is asked for."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Producer]:
    producer = Producer({"test.mock.num.brokers": BROKERS, "log_level": 0})
    yield producer
    producer.flush(10)


@pytest.fixture
def properties(cluster: Producer) -> dict[str, str]:
    brokers = cluster.list_topics(timeout=10).brokers.values()
    servers = (f"{broker.host}:{broker.port}" for broker in brokers)
    return {"bootstrap.servers": ",".join(servers)}


def make(cluster: Producer, *topics: str) -> list[TopicPartition]:
    """Make topics, as a producer does by asking; return the partitions."""
    for topic in topics:
        cluster.list_topics(topic, timeout=10)
    return [(topic, n) for topic in topics for n in range(PARTITIONS)]


class Requests:
    """Counts requests for offsets by broker, as librdkafka tells them."""

    def __init__(self) -> None:
        self._told: Counter[str] = Counter()
        self.properties: dict[str, Any] = {
            "statistics.interval.ms": 100,
            "stats_cb": self._note,
        }

    def of(self, ends: EndOffsets) -> Counter[str]:
        """Return what was counted, once the client has told it twice: the
        first may have been on its way already.
        """
        (consumer,) = ends._consumers.values()  # noqa: SLF001 - to be told
        for _ in range(2):
            self._told = Counter()
            while not self._told:
                consumer.poll(0.1)
        return self._told

    def _note(self, text: str) -> None:
        self._told = Counter(
            {
                name: broker["req"].get("ListOffsets", 0)
                for name, broker in json.loads(text)["brokers"].items()
            }
        )


def test_ends_and_starts_are_those_of_the_logs(
    cluster: Producer, properties: dict[str, str]
) -> None:
    places = make(cluster, "written.a", "written.b")
    for count, (topic, partition) in enumerate(places):
        for n in range(count):
            cluster.produce(topic, str(n), partition=partition)
    assert cluster.flush(30) == 0
    ends = EndOffsets(Cluster("summit", properties), properties)
    try:
        wanted = {place: count for count, place in enumerate(places)}
        assert ends.read(places) == wanted
        assert ends.read(places, read_committed=True) == wanted
        assert ends.read_starts(places) == dict.fromkeys(places, 0)
        assert ends.read([]) == {}
    finally:
        ends.close()


def test_each_broker_is_asked_once_for_a_batch(
    cluster: Producer, properties: dict[str, str]
) -> None:
    more = BATCH // PARTITIONS + 1
    places = make(cluster, *(f"many.{n}" for n in range(more)))
    requests = Requests()
    ends = EndOffsets(
        Cluster("summit", properties), {**properties, **requests.properties}
    )
    try:
        few = places[: 10 * BROKERS * PARTITIONS]
        assert ends.read(few) == dict.fromkeys(few, 0)
        first = requests.of(ends)
        assert sorted((+first).values()) == [1] * BROKERS
        cluster.produce(places[0][0], "", partition=places[0][1])
        for _ in range(2):
            cluster.produce(places[-1][0], "", partition=places[-1][1])
        assert cluster.flush(30) == 0
        assert ends.read(places) == {
            **dict.fromkeys(places, 0),
            places[0]: 1,
            places[-1]: 2,
        }
        both = requests.of(ends) - first
        assert BROKERS < both.total() <= 2 * BROKERS
        assert max(both.values()) == 2
    finally:
        ends.close()


def test_what_there_is_is_told_where_something_is_gone(
    cluster: Producer, properties: dict[str, str]
) -> None:
    places = make(cluster, "there")
    wanted = dict.fromkeys(places, 0)
    gone = [*places, ("gone", 0)]
    ends = EndOffsets(Cluster("summit", properties), properties)
    try:
        assert ends.read(places) == wanted
        assert is_quick(ends)
        for _ in range(2):
            assert ends.read(gone) == wanted
            assert ends.read_starts(gone) == wanted
            assert not is_quick(ends)
        # All were told: back to the quick way with the next ones.
        assert ends.read(places) == wanted
        assert not is_quick(ends)
        assert ends.read(places) == wanted
        assert is_quick(ends)
    finally:
        ends.close()


def is_quick(ends: EndOffsets) -> bool:
    """Tell whether a consumer was asked last, and not the administrator."""
    return bool(ends._consumers)  # noqa: SLF001 - nothing else tells
