"""Ends of many partitions, from librdkafka's own mock brokers."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from mirrorwatch.domain.cluster_view import TopicPartition
from mirrorwatch.exceptions import SourceError
from mirrorwatch.kafka import admin
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch.kafka.list_offsets import BATCH
from mirrorwatch.kafka.offsets import (
    find_first_since,
    read_ends,
    read_starts,
)
from tests.support.builders import NOON

pytestmark = pytest.mark.slow


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

    def of(self, cluster: Cluster) -> Counter[str]:
        """Return what was counted, once the client has told it twice: the
        first may have been on its way already.
        """
        (consumer,) = consumers_of(cluster)
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
    asked = Cluster("summit", properties)
    wanted = {place: count for count, place in enumerate(places)}
    assert read_ends(asked, places) == wanted
    assert read_ends(asked, places, read_committed=True) == wanted
    assert read_starts(asked, places) == dict.fromkeys(places, 0)
    assert read_ends(asked, []) == {}
    assert asked.ends("written.b", [3, 1]) == {1: 5, 3: 7}
    assert asked.starts("written.b", [3, 1]) == {1: 0, 3: 0}


def test_each_broker_is_asked_once_for_a_batch(
    cluster: Producer, properties: dict[str, str]
) -> None:
    more = BATCH // PARTITIONS + 1
    places = make(cluster, *(f"many.{n}" for n in range(more)))
    requests = Requests()
    asked = Cluster("summit", {**properties, **requests.properties})
    few = places[: 10 * BROKERS * PARTITIONS]
    assert read_ends(asked, few) == dict.fromkeys(few, 0)
    first = requests.of(asked)
    assert sorted((+first).values()) == [1] * BROKERS
    cluster.produce(places[0][0], "", partition=places[0][1])
    for _ in range(2):
        cluster.produce(places[-1][0], "", partition=places[-1][1])
    assert cluster.flush(30) == 0
    assert read_ends(asked, places) == {
        **dict.fromkeys(places, 0),
        places[0]: 1,
        places[-1]: 2,
    }
    both = requests.of(asked) - first
    assert BROKERS < both.total() <= 2 * BROKERS
    assert max(both.values()) == 2


def test_what_there_is_is_told_where_something_is_gone(
    cluster: Producer, properties: dict[str, str]
) -> None:
    places = make(cluster, "there")
    wanted = dict.fromkeys(places, 0)
    gone = [*places, ("gone", 0), ("there", PARTITIONS)]
    asked = Cluster("summit", properties)
    assert read_ends(asked, places) == wanted
    assert consumers_of(asked)
    for _ in range(2):
        assert read_ends(asked, gone) == wanted
        assert read_starts(asked, gone) == wanted
    # What is there is still asked for in the quick way.
    assert consumers_of(asked)
    with pytest.raises(SourceError, match="does not return the offsets"):
        asked.ends("there", [0, PARTITIONS])
    with pytest.raises(SourceError, match=r"lacks DESCRIBE .* on topic gone$"):
        asked.starts("gone", [0])


def test_what_is_back_is_asked_for_in_the_quick_way_again(
    cluster: Producer,
    properties: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    places = make(cluster, "early")
    asked = Cluster("summit", properties)
    both = [*places, *(("late", n) for n in range(PARTITIONS))]
    assert read_ends(asked, both) == dict.fromkeys(places, 0)
    make(cluster, "late")
    assert read_ends(asked, both) == dict.fromkeys(both, 0)
    monkeypatch.delattr(admin, "AdminClient")
    assert read_ends(asked, both) == dict.fromkeys(both, 0)
    assert consumers_of(asked)


def test_the_first_record_of_a_time_is_found(
    cluster: Producer, properties: dict[str, str]
) -> None:
    """The library's mock brokers answer no time: the lab tests read records
    by time.
    """
    places = make(cluster, "timed")
    asked = Cluster("summit", properties)
    assert find_first_since(asked, dict.fromkeys(places, NOON)) == (
        dict.fromkeys(places, None)
    )
    with pytest.raises(SourceError, match="does not return the offsets"):
        find_first_since(asked, {("gone", 0): NOON})


def consumers_of(cluster: Cluster) -> list[Consumer]:
    """Return what was asked; none since one of them did not know all."""
    return [*cluster._lookup._consumers.values()]  # noqa: SLF001 - as it says
