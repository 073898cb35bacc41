"""AWS MSK Replicator: its positions are in no topic and in no group."""

from . import MirrorPreset

__all__ = ["PRESET"]

PRESET = MirrorPreset(
    title="MSK Replicator",
    # Its default: topics are prefixed with kafkaClusterAlias.
    naming="default",
    creates_topics=True,
)
