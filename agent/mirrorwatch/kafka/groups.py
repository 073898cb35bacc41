"""Offsets that consumer groups committed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from ..domain.checkpoints import GroupPartition
from ..domain.readers.model import GroupFacts
from ..exceptions import SourceDeniedError, SourceError
from .admin import Cluster, concerns_all
from .errors import TIMEOUT, batched

__all__ = ["SourceGroup", "describe_groups", "list_groups"]
__all__ += ["read_group_offsets", "read_source_group"]

AT_ONCE = 50
"""Groups that are asked for at once: the library sends a request for each."""


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
    found: dict[GroupPartition, int] = {}
    denied: set[str] = set()
    for batch in batched(list(groups), AT_ONCE):
        futures = cluster.call(
            partial(_ask_offsets, batch), "DESCRIBE on consumer groups"
        )
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


def _ask_offsets(groups: Iterable[str], admin: AdminClient) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for group in groups:
        found |= admin.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(group)], request_timeout=TIMEOUT
        )
    return found


def describe_groups(
    cluster: Cluster, groups: Iterable[str]
) -> dict[str, GroupFacts]:
    """Read state and members of some groups: one request for each.

    Groups that cannot be described are left out.

    Raises
    ------
    SourceError
        Raised if the cluster cannot be asked.
    """
    found: dict[str, GroupFacts] = {}
    for batch in batched(list(groups), AT_ONCE):
        futures = cluster.call(
            partial(_ask_facts, batch), "DESCRIBE on consumer groups"
        )
        for group, future in futures.items():
            try:
                answer = cluster.wait(future, f"DESCRIBE on group {group}")
            except SourceError as e:
                if concerns_all(e):
                    raise
                continue
            found[group] = GroupFacts(
                state=answer.state.name.lower().replace("_", " "),
                members=len(answer.members),
            )
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceGroup:
    """The consumer group with which a mirror reads its source."""

    state: str
    members: tuple[tuple[str, str], ...]
    offsets: Mapping[tuple[str, int], int]


def read_source_group(cluster: Cluster, group: str) -> SourceGroup:
    """Read state, members and offsets of one group, in two requests.

    Raises
    ------
    SourceError
        Raised if the cluster cannot be asked, or the agent may not describe
        the group.
    """
    right = f"DESCRIBE on group {group}"
    described = cluster.call(partial(_ask_facts, [group]), right)[group]
    asked = cluster.call(partial(_ask_offsets, [group]), right)[group]
    facts, answer = cluster.wait(described, right), cluster.wait(asked, right)
    return SourceGroup(
        state=facts.state.name.lower().replace("_", " "),
        members=tuple(
            sorted((each.client_id, each.host) for each in facts.members)
        ),
        offsets={
            (each.topic, each.partition): each.offset
            for each in answer.topic_partitions
            if each.offset >= 0
        },
    )


def _ask_facts(groups: Sequence[str], admin: AdminClient) -> dict[str, Any]:
    return admin.describe_consumer_groups(
        list(groups), request_timeout=TIMEOUT
    )
