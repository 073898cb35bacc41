"""Ends of partitions at a real broker: transactions, growth, other topics."""

import gc
from collections.abc import Iterator
from datetime import timedelta

import pytest
from confluent_kafka import Producer

from mirrorwatch.clock import utc_now
from mirrorwatch.kafka.admin import Cluster, describe
from mirrorwatch.kafka.offsets import (
    RecordAtTime,
    find_first_since,
    read_ends,
    read_first_since,
    read_newest_timestamp,
    read_starts,
)
from mirrorwatch.kafka.reader import EPOCH
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


def write(lab: Lab, topic: str, count: int, partition: int = 0) -> None:
    producer = Producer(lab.source.client_properties())
    for n in range(count):
        producer.produce(topic, str(n), partition=partition)
    assert producer.flush(FLUSH_SECONDS) == 0


def test_an_open_transaction_holds_back_committed_ends_only(
    lab: Lab, cluster: Cluster
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
        assert read_ends(cluster, [place]) == {place: 8}
        assert read_ends(cluster, [place], read_committed=True) == {place: 5}
    assert cluster.ends("shop.paid", [0]) == {0: 5}
    producer.commit_transaction(FLUSH_SECONDS)
    # The marker of the end is an offset too; it is written a moment later.
    for committed in (False, True):
        wait_until(
            lambda: (
                read_ends(cluster, [place], read_committed=committed)  # noqa: B023
                == {place: 9}
            )
        )


def test_partitions_that_are_added_are_known_at_once(
    lab: Lab, cluster: Cluster
) -> None:
    lab.source.topics.create("shop.grown", 1, {})
    describe(cluster)
    assert read_ends(cluster, [("shop.grown", 0)]) == {("shop.grown", 0): 0}
    lab.source.topics.grow("shop.grown", 3)
    write(lab, "shop.grown", 7, partition=2)
    wanted = {("shop.grown", 0): 0, ("shop.grown", 1): 0, ("shop.grown", 2): 7}
    for _ in range(3):  # as a survey does it: topics, ends, starts
        assert describe(cluster).topics["shop.grown"].partitions == 3
        assert read_ends(cluster, wanted) == wanted
        assert read_starts(cluster, wanted) == dict.fromkeys(wanted, 0)


def test_a_topic_that_is_made_anew_has_ends_and_starts_of_its_own(
    lab: Lab, cluster: Cluster
) -> None:
    topics, place = lab.source.topics, ("shop.anew", 0)
    topics.create("shop.anew", 1, {})
    write(lab, "shop.anew", 9)
    topics.delete_records("shop.anew", {0: 4})
    describe(cluster)
    assert read_ends(cluster, [place]) == {place: 9}
    assert read_starts(cluster, [place]) == {place: 4}
    recreate_topic(topics, "shop.anew", 1)
    write(lab, "shop.anew", 2)
    describe(cluster)
    assert read_ends(cluster, [place]) == {place: 2}
    assert read_starts(cluster, [place]) == {place: 0}


def test_records_of_a_time_are_found(lab: Lab, cluster: Cluster) -> None:
    # Kafka deletes records of 1970 half a minute after it starts.
    lab.source.topics.create("shop.timed", 2, {"retention.ms": "-1"})
    producer = Producer(lab.source.client_properties())
    times = [EPOCH + timedelta(seconds=n) for n in (1, 3, 2, 5)]
    for time in times:
        producer.produce(
            "shop.timed",
            "",
            partition=1,
            timestamp=round(time.timestamp() * 1000),
        )
    assert producer.flush(FLUSH_SECONDS) == 0
    here, empty = ("shop.timed", 1), ("shop.timed", 0)
    wanted = {
        "before": ({here: times[0] - timedelta(days=1), empty: EPOCH}, 0),
        "between": ({here: times[0] + timedelta(microseconds=1)}, 1),
        "last": ({here: times[3]}, 3),
        "after": ({here: times[3] + timedelta(microseconds=1)}, None),
    }
    for asked, offset in wanted.values():
        none = dict.fromkeys(asked)
        assert find_first_since(cluster, asked) == {**none, here: offset}
        written_at = None if offset is None else times[offset]
        assert read_first_since(cluster, asked) == {
            **dict.fromkeys(asked, RecordAtTime(None, None)),
            here: RecordAtTime(offset, written_at),
        }
    assert read_newest_timestamp(cluster, "shop.timed") is None
    write(lab, "shop.timed", 1)
    newest = read_newest_timestamp(cluster, "shop.timed")
    assert newest is not None
    assert abs(newest - utc_now()) < timedelta(minutes=5)


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
