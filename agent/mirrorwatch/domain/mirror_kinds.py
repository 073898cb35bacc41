"""What each kind of mirror can prove, and why not what it cannot."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from .audit.plan import CopyProfile
from .mirror_presets import PRESETS

__all__ = ["FLUSHED", "KINDS", "MirrorTraits"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MirrorTraits:
    """What a monitor may take for granted of one kind of mirror.

    The defaults are MirrorMaker 2's.
    """

    title: str = "MirrorMaker 2"
    """Its name in reasons."""

    in_group: bool = False
    """Whether its positions are offsets of a consumer group at the source,
    and not records of internal topics."""

    in_zookeeper: bool = False
    """Whether its positions are offsets in ZooKeeper."""

    keeps_offsets: bool = False
    """Whether a record has the same offset on both sides: then the target's
    end is the position, and there is no other."""

    in_connect: bool = False
    """Whether its positions are records of Connect's offsets topic, without
    offset-syncs beside them."""

    matches_records: bool = False
    """Whether its positions can be read nowhere, and are those of its newest
    copies, found at the source by what they have in common."""

    naming: Literal["default", "identity"] = "default"
    """How it names topics where the configuration does not say it."""

    always_members: bool = True
    """Whether its consumers join their group: only then does a group without
    members show that it has stopped, and only then do offsets of a mirror
    that runs never expire."""

    keeps_partitions: bool = True
    """Whether a record goes to the partition of its number."""

    keeps_timestamps: bool = True
    """Whether a copy has the timestamp of its record."""

    keeps_tombstones: bool = True
    """Whether the copy of a record without a value has none either."""

    added_headers: tuple[str, ...] = ()
    """Headers that it adds to copies: no audit compares them."""

    starts_at_end: bool | None = None
    """Whether it skips what a partition held when it found it; `None` if its
    configuration decides, and no topic of its own shows that."""

    creates_topics: bool = True
    """Whether it creates topics at the target as they are at the source."""

    settles: timedelta = timedelta()
    """How long after a commit all that it covers is at the target, where
    skips are found by comparing topics at rest."""

    off: Mapping[str, str] = field(default_factory=dict)
    """Reasons of the checks that cannot be verified, by check."""

    @property
    def only_commits(self) -> bool:
        """Whether all that it leaves behind is the next offset to copy."""
        return self.in_group or self.in_zookeeper or self.in_connect

    @property
    def has_heartbeats(self) -> bool:
        """Whether it writes heartbeats, and so treats topics of that name
        unlike others.
        """
        return "heartbeats" not in self.off

    @property
    def copies(self) -> CopyProfile:
        """What an audit compares of its copies."""
        return CopyProfile(
            partitions=self.keeps_partitions,
            offsets=self.keeps_offsets,
            timestamps=self.keeps_timestamps,
            tombstones=self.keeps_tombstones,
            added_headers=self.added_headers,
        )


def _unproved(title: str) -> dict[str, str]:
    """Return why checks are off that live on MirrorMaker 2's own records."""
    return {
        "heartbeats": f"{title} writes no heartbeats",
        "checkpoints": f"{title} writes no checkpoints",
        "failover": "Starts of consumer groups cannot be verified: "
        f"{title} writes no checkpoints and no offset-syncs",
        "bottleneck": f"JMX metrics of {title} are not supported",
    }


FLUSHED = timedelta(seconds=15)
"""Of a mirror that commits what was acknowledged: a few surveys."""

UNFLUSHED = timedelta(seconds=150)
"""Of one that may commit what its producer still sends: longer than the two
minutes that Kafka's producers try (``delivery.timeout.ms``)."""


def _in_group(
    title: str,
    *,
    always_members: bool,
    keeps_partitions: bool,
    keeps_timestamps: bool = True,
    keeps_tombstones: bool = True,
    added_headers: tuple[str, ...] = (),
    starts_at_end: bool | None = None,
    settles: timedelta = FLUSHED,
) -> MirrorTraits:
    return MirrorTraits(
        title=title,
        in_group=True,
        naming="identity",
        always_members=always_members,
        keeps_partitions=keeps_partitions,
        keeps_timestamps=keeps_timestamps,
        keeps_tombstones=keeps_tombstones,
        added_headers=added_headers,
        starts_at_end=starts_at_end,
        creates_topics=False,
        settles=settles,
        off=_unproved(title),
    )


def _in_connect(
    title: str, *, keeps_partitions: bool, creates_topics: bool
) -> MirrorTraits:
    return MirrorTraits(
        title=title,
        in_connect=True,
        naming="identity",
        keeps_partitions=keeps_partitions,
        creates_topics=creates_topics,
        settles=FLUSHED,
        off=_unproved(title)
        | {
            "audit": "Records cannot be compared: positions of "
            f"{title} are not audited yet"
        },
    )


def _linked(title: str) -> MirrorTraits:
    gaps = (
        f"{title} keeps the offsets of records, so that ends show no gap "
        "between them"
    )
    return MirrorTraits(
        title=title,
        keeps_offsets=True,
        naming="identity",
        starts_at_end=False,
        off=_unproved(title)
        | {
            "skips": f"Skipped records cannot be verified: {gaps}",
            "tasks": f"The state of {title} is not read",
            "failover": "Starts of consumer groups cannot be verified: "
            f"{title} writes no checkpoints",
        },
    )


def _opaque(
    title: str,
    *,
    naming: Literal["default", "identity"] = "identity",
    creates_topics: bool = False,
) -> MirrorTraits:
    return MirrorTraits(
        title=title,
        matches_records=True,
        naming=naming,
        creates_topics=creates_topics,
        off=_unproved(title)
        | {
            "audit": "Records cannot be compared: copies of "
            f"{title} are not audited yet",
            "tasks": f"The state of {title} is not read",
            "failover": "Starts of consumer groups cannot be verified: "
            f"{title} writes no checkpoints",
        },
    )


KINDS: Mapping[str, MirrorTraits] = {
    "mirrormaker2": MirrorTraits(),
    # What a mirror does that is not known by name cannot be relied on.
    "group": _in_group(
        "the mirror",
        always_members=False,
        keeps_partitions=False,
        settles=UNFLUSHED,
    ),
    "mirrormaker1": _in_group(
        "MirrorMaker 1", always_members=True, keeps_partitions=False
    ),
    # With enablePartitionAssignment it assigns partitions to itself.
    "brooklin": _in_group(
        "Brooklin",
        always_members=False,
        keeps_partitions=False,
        keeps_timestamps=False,
        keeps_tombstones=False,
        starts_at_end=False,
    ),
    "redpanda-migrator": _in_group(
        "Redpanda Migrator",
        always_members=True,
        keeps_partitions=True,
        added_headers=(
            "redpanda-migrator-offset",
            "redpanda-migrator-provenance",
        ),
    ),
    "ureplicator": MirrorTraits(
        title="uReplicator",
        in_zookeeper=True,
        naming="identity",
        keeps_partitions=False,
        creates_topics=False,
        settles=FLUSHED,
        off=_unproved("uReplicator")
        | {"tasks": "The state of uReplicator's workers is not read"},
    ),
    # Only with enable.partition.matching it keeps partitions.
    "mirus": _in_connect(
        "Mirus", keeps_partitions=False, creates_topics=False
    ),
    "replicator": _in_connect(
        "Replicator", keeps_partitions=True, creates_topics=True
    ),
    "linked": _linked("the mirror"),
    "cluster-linking": _linked("Cluster Linking"),
    "shadowing": _linked("Shadowing"),
    "orbit": _linked("Orbit"),
    "opaque": _opaque("the mirror"),
    **{
        kind: _opaque(
            preset.title,
            naming=preset.naming,
            creates_topics=preset.creates_topics,
        )
        for kind, preset in PRESETS.items()
    },
}
"""By ``mirror.kind`` of the configuration."""
