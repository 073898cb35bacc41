"""Which rights the agent needs, found out for docs/security.md."""

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
)
from confluent_kafka.admin import AdminClient

from mirrorwatch.domain.acls import Right
from mirrorwatch.exceptions import SourceError
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch_lab.lab import Lab
from mirrorwatch_lab.process import KAFKA_VERSIONS
from mirrorwatch_lab.settings import CANARY_TOPIC
from tests.support.deeds import follow, reader
from tests.support.lab import FLUSH_SECONDS
from tests.support.rights import (
    CONFIGS,
    DENIED,
    READ_SOURCE,
    RIGHTS,
    WRITE,
    expect,
    holding,
    site,
    until,
)
from tests.support.secured import secured

# What brokers allow: `secured_agent_test` has what the agent makes of it.
pytestmark = [pytest.mark.lab, pytest.mark.long]

NEWEST, *OLDER = KAFKA_VERSIONS
QUIET_LOGGER = logging.getLogger("tests.secured")
QUIET_LOGGER.addHandler(logging.NullHandler())
QUIET_LOGGER.propagate = False


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(secured(kafka=NEWEST)) as lab:
        yield lab


@pytest.fixture(
    scope="module",
    params=[
        NEWEST,
        *(pytest.param(v, marks=pytest.mark.long) for v in OLDER),
    ],
)
def any_lab(request: pytest.FixtureRequest, lab: Lab) -> Iterator[Lab]:
    """For what brokers of another version may do in another way."""
    if request.param == lab.settings.kafka:
        yield lab
        return
    with Lab(secured(kafka=request.param)) as other:
        yield other


def test_the_mirror_copies_between_secured_sites(lab: Lab) -> None:
    before = len(lab.read("target", CANARY_TOPIC))
    with holding(lab, WRITE):  # leaves a record behind
        until(
            lambda: len(lab.read("target", CANARY_TOPIC)) > before,
            "The record was not copied",
        )


def test_the_minimal_rights_are_enough_and_each_of_them_is_needed(
    any_lab: Lab,
) -> None:
    with holding(any_lab, *RIGHTS):
        for right in RIGHTS:
            site(any_lab, right).grants.revoke([right])
            expect(any_lab, right, DENIED)
            site(any_lab, right).grants.grant([right])
            expect(any_lab, right, None)
        # All that the agent asks of a cluster is allowed, too.
        sides = {"source": any_lab.source, "target": any_lab.target}
        for side, where in sides.items():
            cluster = Cluster(where.alias, where.client_properties())
            assert cluster.brokers().ids == {1}
            for right in (r for r in RIGHTS if r.side == side):
                topic = cluster.describe_topic(right.topic)
                assert topic is not None
                assert topic.allowed is not None
                assert right.operation in topic.allowed
            canary = range(6)
            starts = cluster.starts(CANARY_TOPIC, canary)
            ends = cluster.ends(CANARY_TOPIC, canary)
            assert starts.keys() == ends.keys() == set(canary)
            assert cluster.max_message_bytes(CANARY_TOPIC) > 0


def test_what_is_not_allowed_on_a_topic_is_known_before_it_is_tried(
    any_lab: Lab,
) -> None:
    client = any_lab.source.client_properties()
    cluster = Cluster(any_lab.source.alias, client)
    with holding(any_lab, READ_SOURCE):
        topic = cluster.describe_topic(CANARY_TOPIC)
        assert topic is not None
        assert topic.lacks("READ", "WRITE", "DESCRIBE") == ("WRITE",)


def test_the_cluster_is_described_to_everybody(lab: Lab) -> None:
    admin = AdminClient(lab.source.client_properties())
    assert admin.describe_cluster().result(FLUSH_SECONDS).cluster_id


def test_ends_of_a_forbidden_topic_fail_with_the_right_that_lacks(
    any_lab: Lab,
) -> None:
    # The client library itself says only that there is no leader.
    cluster = Cluster("summit", any_lab.source.client_properties())
    with pytest.raises(SourceError, match=r"lacks DESCRIBE .* on topic"):
        cluster.ends(CANARY_TOPIC, [0])


def test_a_forbidden_topic_that_does_not_exist_is_called_forbidden(
    lab: Lab,
) -> None:
    admin = AdminClient(lab.source.client_properties())
    (future,) = admin.describe_topics(TopicCollection(["none"])).values()
    with pytest.raises(KafkaException, match=DENIED):
        future.result(FLUSH_SECONDS)


def test_reading_needs_no_group_but_the_lack_of_it_is_told_once(
    lab: Lab,
) -> None:
    client = lab.target.client_properties()
    with (
        holding(lab, CONFIGS),
        closing(reader(client, CONFIGS.topic)) as consumer,
    ):
        wanted = {"record", "_PARTITION_EOF", "GROUP_AUTHORIZATION_FAILED"}
        seen: list[str] = []

        def is_all_seen() -> bool:
            seen.extend(follow(consumer, 0.5))
            return wanted <= set(seen)

        until(is_all_seen, "Not all was told")
        seen += follow(consumer, 3)
    assert seen.count("GROUP_AUTHORIZATION_FAILED") == 1
    assert set(seen) == wanted


def test_reading_a_forbidden_topic_is_silent_until_it_is_granted(
    lab: Lab,
) -> None:
    client = lab.source.client_properties()
    with closing(reader(client, CANARY_TOPIC)) as consumer:
        seen: list[str] = []

        def is_told() -> bool:
            seen.extend(follow(consumer, 0.5))
            return seen != []

        until(is_told, "Nothing was told")
        assert seen + follow(consumer, 3) == ["GROUP_AUTHORIZATION_FAILED"]
        with holding(lab, READ_SOURCE):
            until(lambda: bool(follow(consumer, 0.5)), "Nothing was read")


def test_a_running_reader_is_told_once_and_goes_on_by_itself(
    lab: Lab,
) -> None:
    client = lab.source.client_properties()
    with holding(lab, READ_SOURCE, WRITE):
        consumer = reader(client, CANARY_TOPIC)
        with closing(consumer):
            until(
                lambda: "_PARTITION_EOF" in follow(consumer, 0.5),
                "The end was not reached",
            )
            lab.source.grants.revoke([READ_SOURCE])
            until(lambda: DENIED in follow(consumer, 0.5), "Nothing was told")
            assert follow(consumer, 3) == []
            expect(lab, WRITE, None)  # leaves a record behind
            lab.source.grants.grant([READ_SOURCE])
            until(lambda: "record" in follow(consumer, 0.5), "Not read on")


def test_a_new_idempotent_producer_dies_without_any_write_right(
    lab: Lab,
) -> None:
    # A log of its own, or librdkafka writes its last words to the terminal.
    client = {**lab.source.client_properties(), "logger": QUIET_LOGGER}
    with holding(lab, READ_SOURCE):
        producer = Producer({**client, "enable.idempotence": True})
        producer.produce(CANARY_TOPIC, b"probe", partition=0)
        with pytest.raises(KafkaException) as caught:
            producer.flush(FLUSH_SECONDS)
        error: KafkaError = caught.value.args[0]
        assert error.fatal()
        assert error.name() == "CLUSTER_AUTHORIZATION_FAILED"
        with (
            holding(lab, WRITE),
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
        assert producer.flush(FLUSH_SECONDS) == 0
        return said[-1]

    with holding(lab, WRITE):
        producer = Producer(
            {**lab.source.client_properties(), "enable.idempotence": True}
        )
        assert send() is None
        lab.source.grants.revoke([WRITE])
        until(lambda: send() == DENIED, "Sends were not refused")
        lab.source.grants.grant([WRITE])
        until(lambda: send() is None, "Sends were refused for ever")


def test_create_on_the_topic_is_enough_to_create_it(any_lab: Lab) -> None:
    name = "mirrorwatch.created"
    create = Right(
        side="source", operation="CREATE", topic=name, purpose="this test"
    )
    expect(any_lab, create, DENIED)
    any_lab.source.grants.grant([create])
    expect(any_lab, create, None)
    any_lab.source.grants.revoke([create])
    assert any_lab.source.topics.names()[name] == 2
