"""Facts about one Kafka cluster, by the admin API.

Nothing here names a topic in a plain metadata request: on a broker with
``auto.create.topics.enable`` that creates the topic.
"""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import (
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from ..exceptions import SourceError, SourceUnavailableError
from .answers import answer_of
from .kafka import QUIET, to_source_error

__all__ = ["Brokers", "Cluster", "Topic"]

T = TypeVar("T")

TIMEOUT = 4.0
"""Seconds that one request may take: less than a tick, so that a cluster that
does not answer is known as such by the next one."""

ABSENT = KafkaError.UNKNOWN_TOPIC_OR_PART

NO_LEADER = KafkaError._NOENT  # noqa: SLF001 - how the library names it
"""Offsets are asked of leaders, and the library knows none: so it says of a
topic that may not be described, too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic:
    """A topic as its cluster describes it."""

    name: str
    """Name on that cluster."""

    id: str
    """Topic id (KIP-516): another one is another topic of the same name."""

    leaders: Mapping[int, int | None]
    """Broker id that leads each partition; `None` where there is none."""

    allowed: frozenset[str] | None = None
    """Operations that the agent may do on it, as Kafka's ACLs name them;
    `None` if the broker does not say."""

    def lacks(self, *operations: str) -> tuple[str, ...]:
        """Return those operations that the agent may not do."""
        if self.allowed is None:
            return ()
        return tuple(o for o in operations if o not in self.allowed)


@dataclass(frozen=True, kw_only=True, slots=True)
class Brokers:
    """The members of a cluster."""

    cluster_id: str
    """Id that the cluster was formatted with."""

    ids: frozenset[int]
    """Ids of the brokers that are up."""


class Cluster:
    """Reads facts of one cluster.

    Parameters
    ----------
    alias
        Our name of the cluster.
    properties
        librdkafka properties.

    Raises
    ------
    SourceError
        Raised by every method if the cluster cannot be asked, or refuses.
    """

    def __init__(self, alias: str, properties: Mapping[str, str]) -> None:
        self.alias = alias
        self._error: KafkaError | None = None
        settings: dict[str, Any] = {**properties, **QUIET}
        self._admin = AdminClient(settings | {"error_cb": self._note_error})

    def brokers(self) -> Brokers:
        """Read who is in the cluster."""
        found = self.wait(
            self._admin.describe_cluster(request_timeout=TIMEOUT),
            "DESCRIBE on the cluster",
        )
        return Brokers(
            cluster_id=str(found.cluster_id),
            ids=frozenset(node.id for node in found.nodes),
        )

    def topic(self, name: str, *, right: str = "DESCRIBE") -> Topic | None:
        """Describe a topic, `None` if it does not exist.

        Parameters
        ----------
        name
            Name of the topic.
        right
            What the agent will need on it, to be named where it is refused;
            any right includes DESCRIBE.
        """
        future = self._admin.describe_topics(
            TopicCollection([name]),
            include_authorized_operations=True,
            request_timeout=TIMEOUT,
        )[name]
        try:
            found = self.wait(future, f"{right} on topic {name}")
        except SourceError as e:
            if _code(e) == ABSENT:
                return None
            raise
        return Topic(
            name=name,
            id=str(found.topic_id),
            leaders={
                p.id: None if p.leader is None else p.leader.id
                for p in found.partitions
            },
            allowed=frozenset(o.name for o in found.authorized_operations)
            if found.authorized_operations
            else None,
        )

    def ends(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """Read the end of partitions, as a committed reader sees it."""
        return self._offsets(topic, partitions, OffsetSpec.latest())

    def starts(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """Read the lowest offset that partitions still hold."""
        return self._offsets(topic, partitions, OffsetSpec.earliest())

    def max_message_bytes(self, topic: str) -> int:
        """Read the largest batch that a topic takes, in bytes."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        (future,) = self._admin.describe_configs(
            [resource], request_timeout=TIMEOUT
        ).values()
        found = self.wait(future, f"DESCRIBE_CONFIGS on topic {topic}")
        return int(found["max.message.bytes"].value)

    def create(
        self, topic: str, partitions: int, configs: Mapping[str, str]
    ) -> None:
        """Create a topic, with the cluster's default replication factor."""
        new = NewTopic(
            topic, partitions, replication_factor=-1, config=dict(configs)
        )
        (future,) = self._admin.create_topics(
            [new], request_timeout=TIMEOUT
        ).values()
        self.wait(future, f"CREATE on topic {topic}")

    def call(self, question: Callable[[AdminClient], T], right: str) -> T:
        """Ask what this class has no method for.

        Parameters
        ----------
        question
            Asks the library; may raise what the library raises.
        right
            What the agent needs for it, as Kafka's ACLs name it.
        """
        try:
            return question(self._admin)
        except KafkaException as e:
            raise self._translate(e, right) from e

    def _offsets(
        self, topic: str, partitions: Iterable[int], which: OffsetSpec
    ) -> dict[int, int]:
        wanted = {TopicPartition(topic, p): which for p in partitions}
        if not wanted:
            return {}
        futures = self._admin.list_offsets(
            wanted,
            isolation_level=IsolationLevel.READ_COMMITTED,
            request_timeout=TIMEOUT,
        )
        right = f"DESCRIBE (READ includes it) on topic {topic}"
        try:
            return {
                key.partition: int(self.wait(future, right).offset)
                for key, future in futures.items()
            }
        except SourceError as e:
            if _code(e) != NO_LEADER:
                raise
            raise SourceError(
                f"{self.alias} does not tell the offsets of {topic}: either "
                f"a partition has no leader, or the agent lacks {right}",
                source="kafka",
                cluster=self.alias,
            ) from e

    def wait(self, future: Future[T], right: str) -> T:
        """Wait for an answer."""
        try:
            found = answer_of(future, TIMEOUT + 1)
        except TimeoutError as e:
            raise SourceUnavailableError(
                f"{self.alias} has not answered the agent for "
                f"{TIMEOUT + 1:.0f} s: is it up?",
                source="kafka",
                cluster=self.alias,
            ) from e
        if isinstance(found, KafkaException):
            raise self._translate(found, right) from found
        # What went wrong before does not explain what goes wrong later.
        self._error = None
        return found

    def _translate(self, error: KafkaException, right: str) -> SourceError:
        self._admin.poll(0)
        return to_source_error(
            error, cluster=self.alias, right=right, last=self._error
        )

    def _note_error(self, error: KafkaError) -> None:
        self._error = error


def _code(error: SourceError) -> int | None:
    cause = error.__cause__
    if not isinstance(cause, KafkaException):
        return None
    return int(cause.args[0].code())
