"""Facts about all topics of a cluster: few requests, whatever their number.

A request for metadata goes to one broker, a request for offsets to each; the
library splits and joins them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import (
    IsolationLevel,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from ..domain.view import TopicFacts
from ..domain.view import TopicPartition as Place
from ..exceptions import SourceError
from .cluster import NO_LEADER, TIMEOUT, Cluster

__all__ = ["Described", "Listed", "concerns_all", "describe"]
__all__ += ["describe_topics", "list_topics", "read_ends", "read_starts"]


@dataclass(frozen=True, slots=True)
class Described:
    """A cluster and its topics."""

    id: str
    """Id that the cluster was formatted with."""

    topics: Mapping[str, TopicFacts]
    """All topics that the agent may see but Kafka's own, by name."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A cluster and what it lists of its topics."""

    id: str
    """Id that the cluster was formatted with."""

    partitions: Mapping[str, int]
    """How many all topics have that the agent may see but Kafka's own."""


def describe(cluster: Cluster) -> Described:
    """Describe a cluster and all its topics.

    Raises
    ------
    SourceError
        Raised if the cluster cannot be asked.
    """
    listed = list_topics(cluster)
    return Described(listed.id, describe_topics(cluster, listed.partitions))


def list_topics(cluster: Cluster) -> Listed:
    """List the topics of a cluster, which tells everything but their ids.

    Raises
    ------
    SourceError
        Raised if the cluster cannot be asked.
    """
    listed = cluster.call(
        lambda admin: admin.list_topics(timeout=TIMEOUT),
        "DESCRIBE on its topics",
    )
    return Listed(
        str(listed.cluster_id),
        {
            name: len(topic.partitions)
            for name, topic in listed.topics.items()
            if not name.startswith("__")
        },
    )


def describe_topics(
    cluster: Cluster, names: Iterable[str]
) -> dict[str, TopicFacts]:
    """Describe some topics; those that are gone are left out.

    Raises
    ------
    SourceError
        Raised if the cluster cannot be asked.
    """
    names, found = list(names), dict[str, TopicFacts]()
    if not names:
        return found
    futures = cluster.call(
        lambda admin: admin.describe_topics(
            TopicCollection(names), request_timeout=TIMEOUT
        ),
        "DESCRIBE on its topics",
    )
    for name, future in futures.items():
        try:
            topic = cluster.wait(future, f"DESCRIBE on topic {name}")
        except SourceError as e:
            if concerns_all(e):
                raise
            continue  # deleted since it was listed
        found[name] = TopicFacts(
            id=str(topic.topic_id),
            partitions=len(topic.partitions),
            replication_factor=len(topic.partitions[0].replicas),
        )
    return found


def read_ends(
    cluster: Cluster, places: Iterable[Place], *, read_committed: bool = False
) -> dict[Place, int]:
    """Read the ends of partitions; those without a leader are left out.

    Parameters
    ----------
    cluster
        The cluster.
    places
        Topics and partitions.
    read_committed
        Whether as a reader that waits for the end of transactions.

    Raises
    ------
    SourceError
        Raised if the cluster cannot be asked.
    """
    return _read(cluster, places, OffsetSpec.latest(), read_committed)


def read_starts(cluster: Cluster, places: Iterable[Place]) -> dict[Place, int]:
    """Read the lowest offsets that partitions still hold."""
    return _read(cluster, places, OffsetSpec.earliest(), False)  # noqa: FBT003


def _read(
    cluster: Cluster,
    places: Iterable[Place],
    which: OffsetSpec,
    read_committed: bool,  # noqa: FBT001
) -> dict[Place, int]:
    wanted = {TopicPartition(*place): which for place in places}
    if not wanted:
        return {}
    isolation = (
        IsolationLevel.READ_COMMITTED
        if read_committed
        else IsolationLevel.READ_UNCOMMITTED
    )

    def ask(admin: AdminClient) -> Any:
        return admin.list_offsets(
            wanted, isolation_level=isolation, request_timeout=TIMEOUT
        )

    futures = cluster.call(ask, "DESCRIBE on its topics")
    found = {}
    for place, future in futures.items():
        try:
            offset = cluster.wait(
                future, f"DESCRIBE (READ includes it) on topic {place.topic}"
            ).offset
        except SourceError as e:
            if concerns_all(e):
                raise
            continue
        found[place.topic, place.partition] = int(offset)
    return found


def concerns_all(error: SourceError) -> bool:
    """Tell whether the cluster, and not one topic, is at fault."""
    cause = error.__cause__
    if not isinstance(cause, KafkaException):
        return True
    found = cause.args[0]
    return bool(found.code() < 0 and found.code() != NO_LEADER)
