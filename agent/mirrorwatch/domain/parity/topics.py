"""Whether the target has what the flow carries."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

__all__ = ["MissingTopic", "PartitionMismatch", "TopicsObservation"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MissingTopic:
    """A topic that the flow carries and the target does not show."""

    topic: str
    """Its name at the source."""

    remote: str
    """Its name at the target."""

    since: datetime
    """When it was first missed."""

    hidden: bool | None = None
    """Whether the target refuses to say if it is there; `None` as long as it
    was not asked for it by name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionMismatch:
    """A topic that is not divided alike."""

    topic: str
    """Its name at the source."""

    source: int
    """Number of partitions at the source."""

    target: int
    """Number of partitions at the target."""

    since: datetime
    """When it was first seen to be so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicsObservation:
    """How the topics of both sides compare."""

    flow: str
    """Name of the flow."""

    at: datetime
    """When both sides last answered."""

    source_alias: str
    """Our alias of the source."""

    target_alias: str
    """Our alias of the target."""

    refresh: timedelta
    """How often the mirror looks for new topics and partitions."""

    patience: timedelta
    """How long it may take to make what is new."""

    chosen: bool = True
    """Whether the flow's topics were configured: if not, it carries what its
    mirror wants."""

    known: bool = True
    """Whether both sides answered, lately."""

    carried: int = 0
    """Topics at the source that the flow carries."""

    missing: tuple[MissingTopic, ...] = ()
    """Those that the target does not show."""

    unwanted: tuple[str, ...] = ()
    """Those that the mirror's own filter does not match."""

    mismatches: tuple[PartitionMismatch, ...] = ()
    """Those with other numbers of partitions."""

    other_replication: tuple[str, ...] = ()
    """Those with another replication factor."""

    cycles: tuple[str, ...] = ()
    """Topics at the target whose names say that they came from there."""

    left_over: tuple[str, ...] = ()
    """Topics at the target whose source topic is no more."""

    problems: tuple[str, ...] = ()
    """What kept facts from being read, in sentences."""

    @property
    def late(self) -> tuple[MissingTopic, ...]:
        """Topics that have been missing for longer than they may."""
        return tuple(
            m for m in self.missing if self.at - m.since > self.patience
        )

    @property
    def absent(self) -> int:
        """Topics that are not copied and should be by now: a new one is not
        counted, nor one that the agent may not see.
        """
        unwanted = len(self.unwanted) if self.chosen else 0
        return unwanted + sum(m.hidden is False for m in self.late)

    @property
    def divided(self) -> tuple[PartitionMismatch, ...]:
        """Topics that are not divided alike and should be by now."""
        return tuple(
            m
            for m in self.mismatches
            if m.source < m.target or self.at - m.since > self.patience
        )


def names(topics: Iterable[str]) -> str:
    """Name some topics: three of them, and how many more there are."""
    found = sorted(topics)
    shown = ", ".join(found[:3])
    return shown + (f" and {len(found) - 3} more" if len(found) > 3 else "")
