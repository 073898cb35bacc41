"""Kinds of mirrors, by the word of the configuration for each."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from .mirror_presets import PRESETS
from .mirror_traits import (
    MirrorTraits,
    of_connect,
    of_ends,
    of_group,
    of_zookeeper,
    without_positions,
)

__all__ = ["KINDS"]

KINDS: Mapping[str, MirrorTraits] = {
    # Those whose positions have code of their own, under `mirrors`.
    "mirrormaker2": MirrorTraits(),
    # Only with enable.partition.matching it keeps partitions.
    "mirus": of_connect("Mirus"),
    "replicator": replace(
        of_connect("Replicator"),
        keeps_partitions=True,
        creates_topics=True,
        # Unless provenance.header.enable is false.
        added_headers=("__replicator_id",),
    ),
    "ureplicator": of_zookeeper("uReplicator"),
    # Any mirror of a family. What one does that is not known by name cannot
    # be relied on.
    "group": replace(
        of_group("the mirror"),
        # It may commit what its producer still sends: longer than the two
        # minutes of delivery.timeout.ms.
        unflushed=timedelta(seconds=150),
    ),
    "linked": of_ends("the mirror"),
    "opaque": without_positions("the mirror"),
    **PRESETS,
}
