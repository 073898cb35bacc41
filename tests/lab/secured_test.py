"""Which rights the agent needs, found out on real brokers.

The findings are written down in docs/security.md.
"""

import logging
from collections.abc import Iterator
from contextlib import closing

import pytest
from confluent_kafka import (
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from mirrorwatch.domain.rights import Right
from mirrorwatch.lab.artifacts import KAFKA_VERSIONS
from mirrorwatch.lab.lab import Lab
from mirrorwatch.lab.settings import CANARY_TOPIC, LabSettings
from mirrorwatch.sources.cluster import Cluster
from tests.support.deeds import follow, reader
from tests.support.rights import (
    DENIED,
    RIGHTS,
    expect,
    failed,
    holding,
    of_canary,
    site,
    until,
)

pytestmark = pytest.mark.lab

QUIET_LOGGER = logging.getLogger("tests.secured")
QUIET_LOGGER.addHandler(logging.NullHandler())
QUIET_LOGGER.propagate = False


@pytest.fixture(scope="module", params=KAFKA_VERSIONS)
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    settings = LabSettings(
        kafka=request.param,
        intervals="fast",
        secured=True,
        # The mirror would copy the rights that a test grants.
        mirror_properties={"sync.topic.acls.enabled": "false"},
    )
    with Lab(settings) as lab:
        yield lab


@pytest.fixture
def granted(lab: Lab) -> Iterator[Lab]:
    with holding(lab, *RIGHTS):
        yield lab


def test_the_mirror_copies_between_secured_sites(lab: Lab) -> None:
    before = len(lab.read("target", CANARY_TOPIC))
    producer = Producer(
        {
            "bootstrap.servers": lab.source.bootstrap,
            **(
                lab.source.security.administrator()
                if lab.source.security
                else {}
            ),
        }
    )
    producer.produce(CANARY_TOPIC, b"hello", partition=0)
    assert producer.flush(10) == 0
    until(
        lambda: len(lab.read("target", CANARY_TOPIC)) == before + 1,
        "The record was not copied",
    )


def test_the_minimal_rights_are_enough(granted: Lab) -> None:
    assert {str(r): failed(granted, r) for r in RIGHTS} == {
        str(r): None for r in RIGHTS
    }


def test_they_allow_all_that_the_agent_asks_of_a_cluster(
    granted: Lab,
) -> None:
    sides = {"source": granted.source, "target": granted.target}
    for side, where in sides.items():
        cluster = Cluster(where.alias, where.client_properties())
        assert cluster.brokers().ids == {1}
        for name in {r.topic for r in RIGHTS if r.side == side}:
            topic = cluster.topic(name)
            assert topic is not None
        canary = range(6)
        starts = cluster.starts(CANARY_TOPIC, canary)
        ends = cluster.ends(CANARY_TOPIC, canary)
        assert starts.keys() == ends.keys() == set(canary)
        assert cluster.max_message_bytes(CANARY_TOPIC) > 0


@pytest.mark.parametrize("lost", RIGHTS, ids=lambda r: f"{r.side}: {r}")
def test_a_right_taken_away_is_missed_and_no_other_stands_in(
    granted: Lab, lost: Right
) -> None:
    site(granted, lost).grants.revoke([lost])
    expect(granted, lost, DENIED)
    others = [right for right in RIGHTS if right is not lost]
    assert {str(r): failed(granted, r) for r in others} == {
        str(r): None for r in others
    }
    site(granted, lost).grants.grant([lost])
    expect(granted, lost, None)


def test_the_cluster_is_described_to_everybody(lab: Lab) -> None:
    admin = AdminClient(lab.source.client_properties())
    assert admin.describe_cluster().result(10).cluster_id


def test_ends_of_a_forbidden_topic_fail_without_saying_why(lab: Lab) -> None:
    admin = AdminClient(lab.source.client_properties())
    wanted = {TopicPartition(CANARY_TOPIC, 0): OffsetSpec.latest()}
    (future,) = admin.list_offsets(wanted).values()
    with pytest.raises(KafkaException, match="_NOENT"):
        future.result(10)


def test_a_forbidden_topic_that_does_not_exist_is_called_forbidden(
    lab: Lab,
) -> None:
    admin = AdminClient(lab.source.client_properties())
    (future,) = admin.describe_topics(TopicCollection(["none"])).values()
    with pytest.raises(KafkaException, match=DENIED):
        future.result(10)


def test_reading_needs_no_group_but_the_lack_of_it_is_told_once(
    granted: Lab,
) -> None:
    client = granted.target.client_properties()
    topic = "mm2-configs.summit.internal"
    with closing(reader(client, topic)) as consumer:
        seen = follow(consumer, 5)
    assert seen.count("GROUP_AUTHORIZATION_FAILED") == 1
    assert set(seen) == {
        "record",
        "_PARTITION_EOF",
        "GROUP_AUTHORIZATION_FAILED",
    }


def test_reading_a_forbidden_topic_is_silent_until_it_is_granted(
    lab: Lab,
) -> None:
    client = lab.source.client_properties()
    with closing(reader(client, CANARY_TOPIC)) as consumer:
        assert follow(consumer, 3) == ["GROUP_AUTHORIZATION_FAILED"]
        with holding(lab, of_canary("READ")):
            until(lambda: bool(follow(consumer, 0.5)), "Nothing was read")


def test_a_running_reader_is_told_once_and_goes_on_by_itself(
    lab: Lab,
) -> None:
    client = lab.source.client_properties()
    read = of_canary("READ")
    with holding(lab, read, of_canary("WRITE")):
        consumer = reader(client, CANARY_TOPIC)
        with closing(consumer):
            until(
                lambda: "_PARTITION_EOF" in follow(consumer, 0.5),
                "The end was not reached",
            )
            lab.source.grants.revoke([read])
            until(lambda: DENIED in follow(consumer, 0.5), "Nothing was told")
            assert follow(consumer, 3) == []
            expect(lab, of_canary("WRITE"), None)  # leaves a record behind
            lab.source.grants.grant([read])
            until(lambda: "record" in follow(consumer, 0.5), "Not read on")


def test_a_new_idempotent_producer_dies_without_any_write_right(
    lab: Lab,
) -> None:
    # A log of its own, or librdkafka writes its last words to the terminal.
    client = {**lab.source.client_properties(), "logger": QUIET_LOGGER}
    with holding(lab, of_canary("READ")):
        producer = Producer({**client, "enable.idempotence": True})
        producer.produce(CANARY_TOPIC, b"probe", partition=0)
        with pytest.raises(KafkaException) as caught:
            producer.flush(10)
        error: KafkaError = caught.value.args[0]
        assert error.fatal()
        assert error.name() == "CLUSTER_AUTHORIZATION_FAILED"
        with (
            holding(lab, of_canary("WRITE")),
            pytest.raises(KafkaException, match="_FATAL"),
        ):
            producer.produce(CANARY_TOPIC, b"probe", partition=0)


def test_a_running_idempotent_producer_survives_losing_the_right(
    lab: Lab,
) -> None:
    said: list[str | None] = []

    def report(error: KafkaError | None, _: Message) -> None:
        said.append(error.name() if error else None)

    def send() -> str | None:
        try:
            producer.produce(
                CANARY_TOPIC, b"probe", partition=0, on_delivery=report
            )
        except KafkaException as e:
            # Once the client has looked at the topic again, at once.
            error: KafkaError = e.args[0]
            return error.name()
        assert producer.flush(10) == 0
        return said[-1]

    write = of_canary("WRITE")
    with holding(lab, write):
        producer = Producer(
            {**lab.source.client_properties(), "enable.idempotence": True}
        )
        assert send() is None
        lab.source.grants.revoke([write])
        until(lambda: send() == DENIED, "Sends were not refused")
        lab.source.grants.grant([write])
        until(lambda: send() is None, "Sends were refused for ever")


def test_create_on_the_topic_is_enough_to_create_it(lab: Lab) -> None:
    name = "mirrorwatch.created"
    create = Right(
        side="source", operation="CREATE", topic=name, purpose="this test"
    )
    assert failed(lab, create) == DENIED
    lab.source.grants.grant([create])
    expect(lab, create, None)
    lab.source.grants.revoke([create])
    assert lab.source.topics.names()[name] == 2
