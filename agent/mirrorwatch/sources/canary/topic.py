"""The canary topic: how it is made, and how large its records may be."""

from collections.abc import Sequence

from ...domain.observations import Problem
from ...domain.positions import Connector
from ..cluster import Cluster, Topic
from .settings import CanarySettings

__all__ = ["create", "missing", "read_size_limit"]

CREATED_PARTITIONS = 6
"""Partitions where none are configured: one or two for each usual broker."""

CREATED_CONFIGS = {
    # A day covers every outage of the agent that leaves anything to settle;
    # at the default interval that is 130 MB before compression.
    "retention.ms": str(24 * 60 * 60 * 1000),
    "cleanup.policy": "delete",
}
"""Configuration of a topic that the agent makes; the mirror copies it."""

UNKNOWN_REQUEST_BYTES = 512 * 1024
"""Assumed ``max.request.size`` of the mirror's producer: half the default,
because a record that it cannot send kills its task."""

OVERHEAD_BYTES = 1024
"""Room for key, headers and batch within a limit on a whole batch."""


def create(cluster: Cluster, settings: CanarySettings) -> None:
    """Create the topic at the source; the mirror makes the other.

    Raises
    ------
    SourceError
        Raised if it cannot be created.
    """
    partitions = settings.partitions or CREATED_PARTITIONS
    cluster.create(settings.topic, partitions, CREATED_CONFIGS)


def missing(settings: CanarySettings) -> Problem:
    """Say that somebody has to create the topic."""
    return Problem.unknown(
        f"Canary topic {settings.topic} does not exist at "
        f"{settings.flow.source}, and canary.create is off: create it there, "
        "with a partition or more for each broker"
    )


def read_size_limit(
    source: Cluster,
    target: Cluster,
    topics: tuple[Topic, Topic],
    settings: CanarySettings,
    connectors: Sequence[Connector],
) -> int:
    """Return the largest record value that all on the way take, in bytes.

    Raises
    ------
    SourceError
        Raised if a topic's limit cannot be read.
    """
    said = [c.max_request_bytes for c in connectors if c.max_request_bytes]
    request = settings.max_request_bytes or UNKNOWN_REQUEST_BYTES
    limit = min(
        source.max_message_bytes(topics[0].name),
        target.max_message_bytes(topics[1].name),
        min(said, default=request),
    )
    return limit - OVERHEAD_BYTES
