"""One reset of a position: what happened, where, and what it cost."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

__all__ = ["Kind", "Reset"]


class Kind(StrEnum):
    """What happened."""

    EXPIRED = "expired"
    """Records left the source before they were copied."""

    BEYOND = "beyond"
    """The mirror is past the end of the source's log."""

    REWIND = "rewind"
    """The mirror went back, and copies again."""

    SOURCE_RECREATED = "source_recreated"
    """Another topic has the name at the source."""

    TARGET_RECREATED = "target_recreated"
    """Another topic has the name at the target."""

    OFFSETS_GONE = "offsets_gone"
    """The topic of the committed positions is gone, or another one."""

    OFFSETS_DELETED = "offsets_deleted"
    """Somebody deleted committed positions."""

    SYNCS_GONE = "syncs_gone"
    """The topic of the offset syncs is gone, or another one."""

    OTHER_CLUSTER = "other_cluster"
    """An alias answers with the id of another cluster."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reset:
    """One reset of a position.

    Notes
    -----
    It is open as long as the mirror has not shown what it makes of it: the
    first record that it copies afterwards decides.
    """

    number: int
    """Number of the reset, the first one 1."""

    kind: Kind
    topic: str
    """Source topic; the internal topic, or the alias of the cluster, where
    these are concerned."""

    began: datetime
    """When it was first seen."""

    settled: datetime | None = None
    """When it was over; `None` while it is open."""

    partition: int | None = None
    """Partition, `None` where all of the topic is concerned."""

    first: int | None = None
    """First source offset concerned."""

    end: int | None = None
    """Source offset after the last one concerned."""

    log_end: int | None = None
    """End of the source's log, as last seen while it was open."""

    target_end: int | None = None
    """End of the partition at the target when it was first seen."""

    places: int = 0
    """Partitions concerned, where it is not one."""

    gone: int = 0
    """Records lost beside the range: of the topic that is no more, those
    that were not copied, or all of its copies; at most so many."""

    harmless: bool = False
    """Whether it turned out that nothing was left out."""

    away: bool = False
    """Whether the flow does not carry the topic any more: it was deleted, or
    is no longer wanted."""

    before: str = ""
    """Id that was known."""

    now: str = ""
    """Id that was found."""

    from_end: bool = False
    """Whether a mirror without a position begins at the end."""

    @property
    def count(self) -> int:
        """Number of source offsets concerned."""
        if self.first is None or self.end is None:
            return 0
        return max(0, self.end - self.first)
