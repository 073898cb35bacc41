"""What the agent does on a cluster, each needing one right there."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourceType,
)

__all__ = ["DEEDS", "failure", "follow", "reader"]

TIMEOUT_SECONDS = 90

_QUIET: dict[str, Any] = {
    "log_level": 0,
    "reconnect.backoff.max.ms": 500,
}


def reader(client: Mapping[str, str], topic: str) -> Consumer:
    """Read a partition from its start, as the agent does: by offset."""
    consumer = Consumer(
        {
            **client,
            **_QUIET,
            "group.id": "mirrorwatch",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "allow.auto.create.topics": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    return consumer


def follow(consumer: Consumer, seconds: float) -> list[str]:
    """Say in short what comes within some seconds."""
    end = time.monotonic() + seconds
    seen = []
    while (left := end - time.monotonic()) > 0:
        message = consumer.poll(left)
        if message is not None:
            seen.append(_short(message))
    return seen


def failure(
    operation: str, client: Mapping[str, str], topic: str
) -> str | None:
    """Do what needs a right; return the name of the error, if any."""
    try:
        DEEDS[operation](client, topic)
    except KafkaException as e:
        error: KafkaError = e.args[0]
        return error.name()
    return None


def _short(message: Message) -> str:
    error = message.error()
    return "record" if error is None else error.name()


def _describe(client: Mapping[str, str], topic: str) -> None:
    admin = AdminClient({**client, **_QUIET})
    admin.describe_topics(TopicCollection([topic]))[topic].result(
        TIMEOUT_SECONDS
    )


def _read(client: Mapping[str, str], topic: str) -> None:
    # Reading a topic that may not be described says nothing at all.
    _describe(client, topic)
    consumer = reader(client, topic)
    try:
        end = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < end:
            message = consumer.poll(0.1)
            if message is None:
                continue
            error = message.error()
            if error is None or error.name() == "_PARTITION_EOF":
                return
            if error.name() != "GROUP_AUTHORIZATION_FAILED":
                raise KafkaException(error)
    finally:
        consumer.close()
    raise AssertionError(f"Nothing was said of {topic}")


def _write(client: Mapping[str, str], topic: str) -> None:
    # Not idempotent: such a producer dies of its first refusal, see below.
    producer = Producer({**client, **_QUIET, "message.timeout.ms": 60000})
    refused: list[KafkaError] = []

    def report(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            refused.append(error)

    producer.produce(topic, b"probe", partition=0, on_delivery=report)
    assert producer.flush(TIMEOUT_SECONDS) == 0
    if refused:
        raise KafkaException(refused[0])


def _describe_configs(client: Mapping[str, str], topic: str) -> None:
    admin = AdminClient({**client, **_QUIET})
    resource = ConfigResource(ResourceType.TOPIC, topic)
    (future,) = admin.describe_configs([resource]).values()
    assert "max.message.bytes" in future.result(TIMEOUT_SECONDS)


def _create(client: Mapping[str, str], topic: str) -> None:
    admin = AdminClient({**client, **_QUIET})
    new = NewTopic(topic, 2, replication_factor=-1)
    (future,) = admin.create_topics([new]).values()
    future.result(TIMEOUT_SECONDS)


DEEDS: Mapping[str, Callable[[Mapping[str, str], str], None]] = {
    "DESCRIBE": _describe,
    "READ": _read,
    "WRITE": _write,
    "DESCRIBE_CONFIGS": _describe_configs,
    "CREATE": _create,
}
