"""AWS MSK Replicator: its positions are in no topic and in no group."""

from dataclasses import replace

from ..mirror_traits import without_positions

__all__ = ["PRESET"]

PRESET = replace(
    without_positions("MSK Replicator"),
    # Its default: topics are prefixed with kafkaClusterAlias.
    naming="default",
    # Against replication loops: AWS's guide, "Topic naming".
    added_headers=("__mskmr",),
    creates_topics=True,
)
