"""Traits of mirrors by the family of their positions: what they can prove, and
why not what they cannot.

The function of a family returns what any of its mirrors proves. What is known
of one of them beyond that is replaced, in its own file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from .audit.plan import CopyProfile

__all__ = [
    "MirrorTraits",
    "of_connect",
    "of_ends",
    "of_group",
    "of_zookeeper",
    "without_positions",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class MirrorTraits:
    """Traits of one kind of mirror that a monitor may take for granted.

    The defaults are MirrorMaker 2's.
    """

    title: str = "MirrorMaker 2"
    in_group: bool = False
    """Positions are offsets of a consumer group at the source, and not records
    of internal topics."""

    in_zookeeper: bool = False
    keeps_offsets: bool = False
    """Offsets of a record are the same on both sides: then the target's log
    end is the position, and there is no other."""

    in_connect: bool = False
    has_positions: bool = True
    naming: Literal["default", "identity"] = "default"
    """Topic naming where the configuration does not say it."""

    helper_groups: str | None = None
    """Name suffix of its consumer groups that do not copy; `None` without
    any."""

    always_members: bool = True
    """Consumers of the mirror join their group: only then does a group without
    members show that it has stopped, and only then do offsets of a mirror that
    runs never expire."""

    keeps_partitions: bool = True
    keeps_timestamps: bool = True
    keeps_tombstones: bool = True
    added_headers: tuple[str, ...] = ()
    starts_at_end: bool | None = None
    """Records that a partition held when the mirror found it are skipped;
    `None` if its configuration decides, and no topic of its own shows that."""

    creates_topics: bool = True
    unflushed: timedelta = timedelta()
    """Time after a commit in which records that it covers may still be sent;
    zero where only what was acknowledged is committed."""

    off: Mapping[str, str] = field(default_factory=dict)

    @property
    def only_commits(self) -> bool:
        """Return whether the next offset to copy is all that it persists."""
        return self.in_group or self.in_zookeeper or self.in_connect

    @property
    def on_connect(self) -> bool:
        """Return whether it is a connector, with connector settings."""
        return self.in_connect or (
            self.has_positions
            and not (self.only_commits or self.keeps_offsets)
        )

    @property
    def has_config_sync(self) -> bool:
        """Return whether its connectors report the interval of the topic
        config sync.
        """
        return self.on_connect and not self.in_connect

    @property
    def has_heartbeats(self) -> bool:
        """Return whether it writes heartbeats, and so treats topics of that
        name unlike others.
        """
        return "heartbeats" not in self.off

    @property
    def copies(self) -> CopyProfile:
        """Profile of its copies: what an audit compares of them."""
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
        "skips": f"Skipped records cannot be verified: {title} writes no "
        "offset-syncs. The audit compares the records",
        "heartbeats": f"{title} writes no heartbeats",
        "checkpoints": f"{title} writes no checkpoints",
        "failover": "Starts of consumer groups cannot be verified: "
        f"{title} writes no checkpoints and no offset-syncs",
        "bottleneck": f"JMX metrics of {title} are not supported",
    }


def of_group(title: str) -> MirrorTraits:
    """Return what a mirror proves whose positions are offsets of a consumer
    group.
    """
    return MirrorTraits(
        title=title,
        in_group=True,
        naming="identity",
        always_members=False,
        keeps_partitions=False,
        creates_topics=False,
        off=_unproved(title),
    )


def of_zookeeper(title: str) -> MirrorTraits:
    """Return what one proves whose positions are in ZooKeeper."""
    return MirrorTraits(
        title=title,
        in_zookeeper=True,
        naming="identity",
        keeps_partitions=False,
        creates_topics=False,
        off=_unproved(title)
        | {"tasks": f"The state of {title}'s workers is not read"},
    )


def of_connect(title: str) -> MirrorTraits:
    """Return what one proves whose positions are in Connect's offsets topic,
    without offset-syncs.
    """
    return MirrorTraits(
        title=title,
        in_connect=True,
        naming="identity",
        keeps_partitions=False,
        creates_topics=False,
        off=_unproved(title),
    )


def of_ends(title: str) -> MirrorTraits:
    """Return what one proves that keeps the offsets of records."""
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


def without_positions(title: str) -> MirrorTraits:
    """Return what one proves whose positions cannot be read."""
    reason = (
        f"{title} exposes no positions. The canary shows whether records "
        "arrive, and the audit compares them"
    )
    checks = ("lag", "skips", "retention", "position", "failover")
    return MirrorTraits(
        title=title,
        has_positions=False,
        naming="identity",
        creates_topics=False,
        off=_unproved(title)
        | dict.fromkeys(checks, reason[:1].upper() + reason[1:])
        | {"tasks": f"The state of {title} is not read"},
    )
