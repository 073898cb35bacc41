"""Ends of partitions at a real broker: transactions, growth, other topics."""

import gc
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from mirrorwatch.kafka.admin import Cluster, describe, read_ends
from mirrorwatch.kafka.offsets import EndOffsets
from mirrorwatch_lab import Lab, LabSettings
from mirrorwatch_lab.faults import recreate_topic
from tests.support.lab import FLUSH_SECONDS
from tests.support.watch import wait_until

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(LabSettings(start_mirror=False)) as lab:
        yield lab


@pytest.fixture
def cluster(lab: Lab) -> Cluster:
    return Cluster("summit", lab.source.client_properties())


@pytest.fixture
def ends(lab: Lab, cluster: Cluster) -> Iterator[EndOffsets]:
    ends = EndOffsets(cluster, lab.source.client_properties())
    yield ends
    ends.close()


def write(lab: Lab, topic: str, count: int, partition: int = 0) -> None:
    producer = Producer(lab.source.client_properties())
    for n in range(count):
        producer.produce(topic, str(n), partition=partition)
    assert producer.flush(FLUSH_SECONDS) == 0


def test_an_open_transaction_holds_back_committed_ends_only(
    lab: Lab, cluster: Cluster, ends: EndOffsets
) -> None:
    lab.source.topics.create("shop.paid", 1, {})
    place = ("shop.paid", 0)
    write(lab, "shop.paid", 5)
    producer = Producer(
        {
            **lab.source.client_properties(),
            "transactional.id": "shop",
            "log_level": 0,
        }
    )
    producer.init_transactions(FLUSH_SECONDS)
    producer.begin_transaction()
    for n in range(3):
        producer.produce("shop.paid", str(n))
    assert producer.flush(FLUSH_SECONDS) == 0
    for _ in range(2):
        assert ends.read([place]) == {place: 8}
        assert ends.read([place], read_committed=True) == {place: 5}
    # As the other way of asking says.
    assert read_ends(cluster, [place]) == {place: 8}
    assert read_ends(cluster, [place], read_committed=True) == {place: 5}
    producer.commit_transaction(FLUSH_SECONDS)
    # The marker of the end is an offset too; it is written a moment later.
    for committed in (False, True):
        wait_until(
            lambda: ends.read([place], read_committed=committed) == {place: 9}  # noqa: B023
        )


def test_partitions_that_are_added_are_known_at_once(
    lab: Lab, cluster: Cluster, ends: EndOffsets
) -> None:
    lab.source.topics.create("shop.grown", 1, {})
    describe(cluster)
    assert ends.read([("shop.grown", 0)]) == {("shop.grown", 0): 0}
    lab.source.topics.grow("shop.grown", 3)
    write(lab, "shop.grown", 7, partition=2)
    wanted = {("shop.grown", 0): 0, ("shop.grown", 1): 0, ("shop.grown", 2): 7}
    for _ in range(3):  # as a survey does it: topics, ends, starts
        assert describe(cluster).topics["shop.grown"].partitions == 3
        assert ends.read(wanted) == wanted
        assert ends.read_starts(wanted) == dict.fromkeys(wanted, 0)


def test_a_topic_that_is_made_anew_has_ends_and_starts_of_its_own(
    lab: Lab, cluster: Cluster, ends: EndOffsets
) -> None:
    topics, place = lab.source.topics, ("shop.anew", 0)
    topics.create("shop.anew", 1, {})
    write(lab, "shop.anew", 9)
    topics.delete_records("shop.anew", {0: 4})
    describe(cluster)
    assert ends.read([place]) == {place: 9}
    assert ends.read_starts([place]) == {place: 4}
    recreate_topic(topics, "shop.anew", 1)
    write(lab, "shop.anew", 2)
    describe(cluster)
    assert ends.read([place]) == {place: 2}
    assert ends.read_starts([place]) == {place: 0}


def test_descriptions_that_are_gone_leave_nothing(
    lab: Lab, cluster: Cluster
) -> None:
    def ids() -> int:
        gc.collect()
        return sum(type(x).__name__ == "Uuid" for x in gc.get_objects())

    lab.source.topics.create("described", 1, {})
    before = ids()
    for _ in range(20):
        assert "described" in describe(cluster).topics
    assert ids() == before
