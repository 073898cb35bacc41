"""Finds suspected drops, and has their records counted."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from ..domain.cluster_view import FlowView, TopicPartition
from ..domain.copies.tracker import CopyTracker
from ..domain.mirror_records import Assignment
from ..domain.offsets import OffsetRange
from ..domain.skips.dropped_tails import DroppedTailDetector, SuspectedDrop
from ..domain.topics import FilteredTopics

__all__ = ["SuspectedDrops"]

_LARGEST_RANGE = 50_000
"""Offsets up to which the records that wait are counted by reading. Beyond,
offsets are reported: nobody counts on the last digit of so many."""


_SYNC_FOLLOWS = timedelta(seconds=10)
"""Longest delay of the sync that proves a suspicion, or takes it back, after
the end of the target: another producer writes it, and another consumer of the
agent reads it."""


class SuspectedDrops:
    """Finds them, and has their records counted.

    Parameters
    ----------
    patience
        How much newer what their task copies must be.
    filtered
        Topics of which a transform drops records on purpose.
    known
        What was suspected before a restart.
    """

    def __init__(
        self,
        patience: timedelta,
        filtered: FilteredTopics | None = None,
        known: Iterable[SuspectedDrop] = (),
    ) -> None:
        self._filtered = filtered or FilteredTopics()
        self._suspicions = DroppedTailDetector(
            patience=patience,
            known={(each.topic, each.partition): each for each in known},
        )
        self._wanted: dict[TopicPartition, OffsetRange] = {}
        self._found: dict[TopicPartition, SuspectedDrop] = {}
        self._counted: dict[TopicPartition, tuple[OffsetRange, int]] = {}
        self._moved: dict[TopicPartition, datetime] = {}

    def look(
        self,
        view: FlowView,
        tracker: CopyTracker,
        assignments: Iterable[Assignment],
    ) -> None:
        """Take a survey that the tracker has taken."""
        if view.source is None or view.target is None:
            return
        tasks = {
            place: (each.connector, each.task)
            for each in assignments
            for place in each.partitions
        }
        # Others are not judged: without a transform these are none.
        places = {*tasks, *self._suspicions.waiting, *self._found}
        positions = tracker.positions(places)
        suspected = self._suspicions.look(
            view.source.at, view.source.ends, positions, tasks
        )
        left = {
            place: found
            for place, found in self._found.items()
            if place not in suspected
        }
        self._moved = {
            place: min(self._moved.get(place, view.source.at), view.source.at)
            for place, found in left.items()
            if positions.get(place, found.first) > found.first
        }
        # A suspicion is taken back, or proved, by what is read next.
        self._found = {
            place: found
            for place, found in left.items()
            if tracker.awaits(
                place, found.end, soon=self._is_near(place, view.source.at)
            )
        }
        self._wanted = {}
        for place, span in suspected.items():
            counted = self._counted.get(place)
            if counted is not None and counted[0] == span:
                self._note(place, *counted)
            elif len(span) > _LARGEST_RANGE:
                self._note(place, span, len(span))
            else:
                self._wanted[place] = span
                if counted is not None and counted[0].first == span.first:
                    self._note(place, *counted)
        self._counted = {
            k: v for k, v in self._counted.items() if k in suspected
        }

    def _is_near(self, place: TopicPartition, at: datetime) -> bool:
        """Return whether the mirror has just copied more of a partition.

        The end of the target shows how many records that were, not which:
        one that was copied behind ten dropped ones looks like the first.
        """
        moved = self._moved.get(place)
        return moved is not None and at - moved < _SYNC_FOLLOWS

    def wanted(self) -> Mapping[TopicPartition, OffsetRange]:
        """Return the source offsets whose records are to be counted."""
        return self._wanted

    def count(self, found: Mapping[TopicPartition, int]) -> None:
        """Take the number of records of these."""
        for place, records in found.items():
            span = self._wanted.pop(place)
            self._counted[place] = span, records
            self._note(place, span, records)

    @property
    def left_behind(self) -> frozenset[TopicPartition]:
        """Partitions that are under suspicion, or will soon be."""
        return self._suspicions.left_behind

    def found(self) -> tuple[SuspectedDrop, ...]:
        """Return the partitions under suspicion that hold records."""
        return tuple(s for _, s in sorted(self._found.items()))

    def _note(
        self, place: TopicPartition, span: OffsetRange, records: int
    ) -> None:
        if not records:
            return  # only marks of transactions, or what was compacted
        topic, partition = place
        self._found[place] = SuspectedDrop(
            topic=topic,
            partition=partition,
            first=span.first,
            end=span.end,
            count=records,
            since=self._suspicions.since(place),
            filtered=self._filtered.matches(topic),
        )
