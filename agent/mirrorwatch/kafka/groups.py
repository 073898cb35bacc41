"""Offsets that consumer groups committed."""

from collections.abc import Iterable
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from ..domain.checkpoints import GroupPartition
from ..exceptions import SourceDeniedError
from .admin import Cluster
from .errors import TIMEOUT

__all__ = ["list_groups", "read_group_offsets"]


def list_groups(cluster: Cluster) -> tuple[list[str], bool]:
    """List the consumer groups of a cluster that the agent may see.

    Returns
    -------
    tuple
        Their names, and whether every broker answered.

    Raises
    ------
    SourceError
        Raised if the cluster cannot be asked.
    """
    future = cluster.call(
        lambda admin: admin.list_consumer_groups(request_timeout=TIMEOUT),
        "DESCRIBE on consumer groups",
    )
    listed = cluster.wait(future, "DESCRIBE on consumer groups")
    return sorted(g.group_id for g in listed.valid), not listed.errors


def read_group_offsets(
    cluster: Cluster, groups: Iterable[str]
) -> tuple[dict[GroupPartition, int], set[str]]:
    """Read the committed offsets of some groups: one request for each.

    Parameters
    ----------
    cluster
        The cluster.
    groups
        Names of the groups.

    Returns
    -------
    tuple
        The offsets, and the groups that the agent may not describe.

    Raises
    ------
    SourceError
        Raised if the cluster cannot be asked.
    """

    def ask(admin: AdminClient) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for group in groups:
            found |= admin.list_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(group)], request_timeout=TIMEOUT
            )
        return found

    futures = cluster.call(ask, "DESCRIBE on consumer groups")
    found: dict[GroupPartition, int] = {}
    denied: set[str] = set()
    for group, future in futures.items():
        try:
            answer = cluster.wait(future, f"DESCRIBE on group {group}")
        except SourceDeniedError:
            denied.add(group)
            continue
        for each in answer.topic_partitions:
            if each.offset >= 0:
                found[group, each.topic, each.partition] = each.offset
    return found, denied
