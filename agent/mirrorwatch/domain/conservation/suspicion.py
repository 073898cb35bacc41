"""Records that wait although the task that should copy them reads on."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..view import TopicPartition
from .inquiry import Span

__all__ = ["Suspicion", "Suspicions"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Suspicion:
    """Records at the end of a partition that seem to have been dropped."""

    topic: str
    """Source topic."""

    partition: int
    """Source partition."""

    first: int
    """Position of the mirror: source offset of the first of them."""

    end: int
    """End of the source by the time before which what their task copied
    elsewhere was written: what came later may only be late."""

    count: int
    """Records between."""

    since: datetime
    """Since when they wait."""


_MARKS_KEPT = 64
"""Ends remembered of one partition that waits. Beyond, every other one is let
go: then less is called suspected for a while."""

_SOON = 4
"""Part of the patience after which records are said to be left behind."""


@dataclass(slots=True)
class _Waiting:
    position: int
    ends: list[tuple[datetime, int]]
    """When the source was seen to end where, since the position stands."""

    def note(self, at: datetime, end: int) -> None:
        if end == self.ends[-1][1]:
            return
        self.ends.append((at, end))
        if len(self.ends) > _MARKS_KEPT:
            self.ends = [self.ends[0], *self.ends[2::2]]

    @property
    def since(self) -> datetime:
        return self.ends[0][0]

    def end_at(self, time: datetime) -> int:
        """Return where the source ended at a time."""
        return max(end for at, end in self.ends if at <= time)


@dataclass(slots=True)
class Suspicions:
    """Finds partitions that wait while their task copies newer records.

    Notes
    -----
    A record that a transform drops moves no position until a later one of
    the partition is copied, so it looks like lag. It is not, if the same
    task has meanwhile copied records of other partitions that were written
    long after: one consumer reads for all partitions of a task, and takes
    them in turn. A mirror, or a task, that stands still copies nothing new
    anywhere, and one that drains a backlog copies only what is old: neither
    is ever suspected. Nor are records that were written after those: a task
    that stands still by now may only be late with them.
    """

    patience: timedelta
    """How much newer the copied records must be."""

    waiting: dict[TopicPartition, _Waiting] = field(default_factory=dict)
    fresh: dict[Hashable, datetime] = field(default_factory=dict)
    """By task: records that were written after this time were copied."""

    left_behind: frozenset[TopicPartition] = frozenset()
    """Partitions that are under suspicion, or will soon be."""

    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Ends of the source in the view before."""

    at: datetime | None = None
    """When that view began to be taken."""

    def look(
        self,
        at: datetime,
        ends: Mapping[TopicPartition, int],
        positions: Mapping[TopicPartition, int],
        tasks: Mapping[TopicPartition, Hashable],
    ) -> dict[TopicPartition, Span]:
        """Return the offsets under suspicion.

        Parameters
        ----------
        at
            When the ends of the source were asked for.
        ends
            Ends of the source.
        positions
            Position of the mirror, where the books are settled.
        tasks
            Which task copies each partition; only those are judged.
        """
        for place, position in positions.items():
            before = self.ends.get(place)
            task = tasks.get(place)
            if task is None:
                continue
            if before is not None and self.at and position > before:
                self.fresh[task] = max(self.fresh.get(task, self.at), self.at)
            end, waits = ends.get(place, 0), self.waiting.get(place)
            if end <= position:
                self.waiting.pop(place, None)
            elif waits is None or waits.position != position:
                self.waiting[place] = _Waiting(position, [(at, end)])
            else:
                waits.note(at, end)
        for place in self.waiting.keys() - positions.keys():
            del self.waiting[place]
        self.ends, self.at = ends, at
        self.left_behind = frozenset(
            place
            for place, waits in self.waiting.items()
            if (fresh := self.fresh.get(tasks.get(place))) is not None
            and fresh - waits.since >= self.patience / _SOON
        )
        return {
            place: Span(waits.position, waits.end_at(until))
            for place in self.left_behind
            if (until := self.fresh[tasks[place]] - self.patience)
            >= (waits := self.waiting[place]).since
        }

    def since(self, place: TopicPartition) -> datetime:
        """Return since when the records of a partition wait."""
        return self.waiting[place].since
