"""Offsets where leaders are silent, refuse or are not known."""

import gc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, OffsetSpec

from mirrorwatch.exceptions import (
    SourceDeniedError,
    SourceError,
    SourceUnavailableError,
)
from mirrorwatch.kafka import admin as admin_module
from mirrorwatch.kafka import list_offsets as list_offsets_module
from mirrorwatch.kafka.admin import MOST_FAILURES, Cluster
from mirrorwatch.kafka.offsets import (
    find_first_since,
    read_ends,
    read_first_since,
)
from tests.support.builders import NOON
from tests.support.mock_brokers import LIST_OFFSETS, MockBrokers

pytestmark = pytest.mark.slow


BROKERS = 3

PLACES = [("t", n) for n in range(BROKERS)]

TIMEOUT = 0.5
"""Seconds; mock brokers answer within milliseconds."""


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Iterator[MockBrokers]:
    for module in (admin_module, list_offsets_module):
        monkeypatch.setattr(module, "TIMEOUT", TIMEOUT)
    made = MockBrokers(BROKERS)
    made.create("t", BROKERS)
    producer = Producer({"bootstrap.servers": made.servers, "log_level": 0})
    for topic, partition in PLACES:
        producer.produce(topic, "", partition=partition)
    assert producer.flush(30) == 0
    yield made
    made.close()


@pytest.fixture
def cluster(brokers: MockBrokers) -> Cluster:
    return Cluster("summit", _properties(brokers))


QUESTIONS: dict[str, Callable[[Cluster], object]] = {
    "ends": lambda c: read_ends(c, PLACES),
    "firsts": lambda c: find_first_since(c, dict.fromkeys(PLACES, NOON)),
    "first records": lambda c: read_first_since(
        c, dict.fromkeys(PLACES, NOON)
    ),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_nothing_is_told_while_a_leader_is_silent(
    brokers: MockBrokers,
    cluster: Cluster,
    question: Callable[[Cluster], object],
) -> None:
    """The library answers -1001 and no error."""
    assert question(cluster)
    brokers.delay(2, 60_000)
    with pytest.raises(SourceUnavailableError, match="no offsets of t from"):
        question(cluster)


def test_a_silent_cluster_is_asked_once_a_tick(
    brokers: MockBrokers, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for broker in range(1, BROKERS + 1):
        brokers.stop(broker)
    for _ in range(2):
        with pytest.raises(SourceUnavailableError):
            read_ends(cluster, PLACES)
        # A consumer, too, would wait for all of its time.
        monkeypatch.delattr(list_offsets_module, "Consumer", raising=False)


def test_who_leads_nothing_that_is_up_is_left_out(
    brokers: MockBrokers, cluster: Cluster
) -> None:
    brokers.create("u", BROKERS)
    brokers.lead("t", 0, -1)
    brokers.stop(2)
    assert read_ends(cluster, PLACES) == {("t", 2): 1}
    assert read_ends(cluster, PLACES[:2]) == {}
    with pytest.raises(SourceError, match="a partition has no leader"):
        cluster.ends("t", [1])


def test_what_refuses_leaves_no_client(
    brokers: MockBrokers, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[weakref.ref[AdminClient]] = []

    class Kept(AdminClient):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            made.append(weakref.ref(self))

    monkeypatch.setattr(admin_module, "AdminClient", Kept)
    denied = KafkaError.TOPIC_AUTHORIZATION_FAILED
    gc.disable()
    try:
        for _ in range(2):
            brokers.refuse(1, LIST_OFFSETS, denied, denied)
            with pytest.raises(SourceDeniedError, match="on topic t at"):
                cluster.ends("t", range(BROKERS))
            brokers.refuse(1, LIST_OFFSETS)
        assert [ref() for ref in made] == [None] * len(made)
    finally:
        gc.enable()
    assert made


def test_offsets_do_not_hide_that_the_other_client_fails(
    cluster: Cluster,
) -> None:
    """It is replaced after so many failures in a row."""
    first = cluster._admin  # noqa: SLF001 - no one is told
    for _ in range(MOST_FAILURES):
        with pytest.raises(SourceUnavailableError):
            cluster.call(_fail, "DESCRIBE")
        place = ("t", 0)
        assert cluster.list_offsets({place: OffsetSpec.latest()}).keys() == {
            place
        }
    assert cluster._admin is not first  # noqa: SLF001 - no one is told


def test_a_client_that_cannot_be_made_is_a_failure_of_the_cluster(
    cluster: Cluster, tmp_path: Path
) -> None:
    """Files of certificates are read, and tokens made, with each client."""
    gone = {
        "security.protocol": "ssl",
        "ssl.ca.location": str(tmp_path / "no"),
    }
    cluster._settings |= gone  # noqa: SLF001 - as if it were deleted since
    cluster._lookup._properties = {**gone}  # noqa: SLF001 - as above
    with pytest.raises(SourceError, match=r"ssl\.ca\.location"):
        read_ends(cluster, PLACES)
    for _ in range(MOST_FAILURES):
        with pytest.raises(SourceUnavailableError):
            cluster.call(_fail, "DESCRIBE")


def _fail(_: AdminClient) -> None:
    raise KafkaException(KafkaError(KafkaError._TRANSPORT))  # noqa: SLF001


def _properties(brokers: MockBrokers) -> dict[str, str]:
    return {"bootstrap.servers": brokers.servers}
