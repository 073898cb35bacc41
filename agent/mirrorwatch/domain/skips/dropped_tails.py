"""Suspected drops: partitions that wait while their task copies others."""

from collections import deque
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..cluster_view import TopicPartition
from ..offsets import OffsetRange

__all__ = ["DroppedTailDetector", "SuspectedDrop"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SuspectedDrop:
    """Records at the end of a partition that seem to have been dropped."""

    topic: str
    partition: int
    first: int
    """Position of the mirror: source offset of the first of them."""

    end: int
    """End of the source by the time before which what their task copied
    elsewhere was written: what came later may only be late."""

    count: int
    since: datetime
    filtered: bool = False


_MARKS_KEPT = 64
"""Ends remembered of one partition that waits. Beyond, every other one is let
go: then less is called suspected for a while."""

_SOON = 4
"""Part of the patience after which records are said to be left behind, and
for which at most a time counts in which their task was stalled."""


@dataclass(slots=True)
class _Waiting:
    position: int
    ends: list[tuple[datetime, int]]
    """When the source was seen to end where, since the position stopped."""

    @classmethod
    def begin(
        cls, position: int, at: datetime, end: int, known: SuspectedDrop | None
    ) -> "_Waiting":
        """Begin with what is seen, and with what was suspected before a
        restart, if the position has not moved since.
        """
        marks = [(at, end)]
        if known is not None and known.first == position and known.end <= end:
            marks = [(known.since, known.end), *marks]
        return cls(position, marks)

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
class _TaskProgress:
    fresh: datetime
    """Records that were written after this time were copied."""

    stalled: bool = False
    stalls: deque[tuple[datetime, datetime]] = field(
        default_factory=lambda: deque(maxlen=_SOON)
    )
    """The last times in which it copied nothing new, and was not idle."""

    def go_on(self, at: datetime) -> None:
        """Note that records were copied that were written after a time."""
        if self.stalled:
            self.stalls.append((self.fresh, at))
        self.fresh, self.stalled = max(self.fresh, at), False

    def back(self, time: timedelta, most: timedelta) -> datetime:
        """Return from when on it has copied what is new for so long.

        Parameters
        ----------
        time
            How long.
        most
            How much of it each stall counts for.
        """
        at = self.fresh
        for began, ended in reversed(self.stalls):
            time -= at - ended
            if time <= (counts := min(most, ended - began)):
                return ended - time
            time, at = time - counts, began
        return at - time


@dataclass(slots=True)
class DroppedTailDetector:
    """Finds partitions that wait while their task copies newer records.

    Notes
    -----
    A record that a transform drops moves no position until a later one of
    the partition is copied, so it looks like lag. It is not, if the same
    task has meanwhile copied records of other partitions that were written
    long after: one consumer reads for all partitions of a task, and takes
    them in turn. A mirror, or a task, that is stalled copies nothing new
    anywhere, and one that drains a backlog copies only what is old: neither
    is ever suspected. Nor are records that were written after those: a task
    that is stalled by now may only be late with them.
    """

    patience: timedelta
    waiting: dict[TopicPartition, _Waiting] = field(default_factory=dict)
    tasks: dict[Hashable, _TaskProgress] = field(default_factory=dict)

    left_behind: frozenset[TopicPartition] = frozenset()
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Ends of the source in the view before."""

    at: datetime | None = None
    known: dict[TopicPartition, SuspectedDrop] = field(default_factory=dict)
    """Suspicions from before a restart, until the position is seen."""

    def look(
        self,
        at: datetime,
        ends: Mapping[TopicPartition, int],
        positions: Mapping[TopicPartition, int],
        tasks: Mapping[TopicPartition, Hashable],
    ) -> dict[TopicPartition, OffsetRange]:
        """Return the offsets under suspicion.

        Parameters
        ----------
        at
            When the ends of the source were asked for.
        ends
            Ends of the source.
        positions
            Position of the mirror, where nothing waits to be read.
        tasks
            Which task copies each partition; only those are judged.
        """
        soon, went_on = self.patience / _SOON, set[Hashable]()
        for place, position in positions.items():
            before = self.ends.get(place)
            task = tasks.get(place)
            if task is None:
                continue
            known = self.known.pop(place, None)
            progress = self.tasks.setdefault(task, _TaskProgress(at))
            if before is not None and position > before:
                went_on.add(task)
            end, waits = ends.get(place, 0), self.waiting.get(place)
            if waits is not None and self.at and position > waits.position:
                stood = self.at - waits.since
                progress.stalled = progress.stalled or stood > soon
            if end <= position:
                self.waiting.pop(place, None)
            elif waits is None or waits.position != position:
                self.waiting[place] = _Waiting.begin(position, at, end, known)
            else:
                waits.note(at, end)
        for task in went_on:
            if self.at is not None:
                self.tasks[task].go_on(self.at)
        for place in self.waiting.keys() - positions.keys():
            del self.waiting[place]
        self.ends, self.at = ends, at
        self.left_behind = frozenset(self._beyond(soon, tasks))
        return {
            place: OffsetRange(
                self.waiting[place].position,
                self.waiting[place].end_at(until),
            )
            for place, until in self._beyond(self.patience, tasks).items()
        }

    def _beyond(
        self, time: timedelta, tasks: Mapping[TopicPartition, Hashable]
    ) -> dict[TopicPartition, datetime]:
        """Return what waits for so long, and by when it had to be copied."""
        by = {
            task: progress.back(time, self.patience / _SOON)
            for task, progress in self.tasks.items()
        }
        return {
            place: until
            for place, waits in self.waiting.items()
            if (until := by.get(tasks.get(place))) is not None
            and waits.since <= until
        }

    def since(self, place: TopicPartition) -> datetime:
        """Return since when the records of a partition wait."""
        return self.waiting[place].since
