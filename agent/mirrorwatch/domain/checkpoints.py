"""Facts about the checkpoints of consumer groups."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

__all__ = [
    "CheckpointsObservation",
    "GroupPlace",
    "Overdue",
    "Reading",
    "Watch",
]

GroupPlace = tuple[str, str, int]
"""Consumer group, source topic, partition."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """One group on one partition, at one moment."""

    place: GroupPlace
    """Which group, where."""

    committed: int
    """The group's offset at the source."""

    checkpoint: int
    """The source offset that its checkpoint says."""

    sync: int | None
    """Source offset of the partition's newest sync."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Overdue:
    """A group that went on, and whose checkpoint did not."""

    place: GroupPlace
    """Which group, where."""

    committed: int
    """The group's offset at the source."""

    checkpoint: int
    """The source offset that its checkpoint says."""

    since: datetime
    """Since when a newer checkpoint is due."""

    def __str__(self) -> str:
        group, topic, partition = self.place
        return (
            f"group {group} on {topic}[{partition}] is at "
            f"{self.committed}, its checkpoint at {self.checkpoint}"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointsObservation:
    """Checkpoints of one flow."""

    flow: str
    """Name of the flow."""

    at: datetime
    """When the groups were asked for (UTC)."""

    interval: timedelta | None = None
    """How often the mirror emits checkpoints; `None` if it emits none."""

    groups: int = 0
    """Groups with checkpoints whose offsets at the source are known."""

    overdue: tuple[Overdue, ...] = ()
    """Those whose checkpoints are stale."""

    absent: str | None = None
    """Why nothing of this is to be had here."""

    problems: tuple[str, ...] = ()
    """What keeps it from being known, in sentences."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """A sync that a group's checkpoint has not reached yet."""

    sync: int
    passed_at: datetime | None = None
    passed_with: int = 0


class Watch:
    """Tells which checkpoints are due.

    Notes
    -----
    An idle group emits none, and one that moves between two syncs emits none
    either: its translation does not change. But once a group has passed a
    sync that lies beyond its checkpoint, the next round of the checkpoint
    task must emit one. A group that has rested since may wait for a sync that
    the task forgot when it was started again, so only moving ones count.
    """

    def __init__(self) -> None:
        self._marks: dict[GroupPlace, _Mark] = {}

    def look(
        self, readings: Iterable[Reading], patience: timedelta, now: datetime
    ) -> tuple[Overdue, ...]:
        """Return what is due for longer than one is patient."""
        before, self._marks = self._marks, {}
        return tuple(self._judge(readings, before, patience, now))

    def _judge(
        self,
        readings: Iterable[Reading],
        before: Mapping[GroupPlace, _Mark],
        patience: timedelta,
        now: datetime,
    ) -> Iterator[Overdue]:
        for found in readings:
            mark = before.get(found.place)
            if mark is None or found.checkpoint >= mark.sync:
                if found.sync is None or found.sync <= found.checkpoint:
                    continue
                mark = _Mark(found.sync)
            if mark.passed_at is None and found.committed >= mark.sync:
                mark = replace(
                    mark, passed_at=now, passed_with=found.committed
                )
            self._marks[found.place] = mark
            if (
                mark.passed_at is not None
                and now - mark.passed_at > patience
                and found.committed > mark.passed_with
            ):
                yield Overdue(
                    place=found.place,
                    committed=found.committed,
                    checkpoint=found.checkpoint,
                    since=mark.passed_at,
                )
