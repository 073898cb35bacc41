"""Partitions whose last records seem to have been dropped."""

from collections.abc import Iterable
from datetime import timedelta

from ...domain.conservation import Books, Inquiry, Span, Suspicion
from ...domain.conservation.suspicion import Suspicions
from ...domain.positions import Assignment
from ...domain.view import FlowView, TopicPartition

__all__ = ["Suspects"]

_LARGEST = 50_000
"""Offsets up to which the records that wait are counted by reading. Beyond,
offsets are told: nobody counts on the last digit of so many."""


class Suspects:
    """Finds them, and has their records counted.

    Parameters
    ----------
    patience
        How much newer what their task copies must be.
    """

    def __init__(self, patience: timedelta) -> None:
        self._suspicions = Suspicions(patience=patience)
        self._wanted: dict[TopicPartition, tuple[Inquiry, Span]] = {}
        self._found: dict[TopicPartition, Suspicion] = {}
        self._counted: dict[TopicPartition, tuple[Span, int]] = {}

    def look(
        self,
        view: FlowView,
        books: Books,
        assignments: Iterable[Assignment],
    ) -> None:
        """Take a survey that the books have taken."""
        if view.source is None or view.target is None:
            return
        tasks = {
            place: (each.connector, each.task)
            for each in assignments
            for place in each.partitions
        }
        suspected = self._suspicions.look(
            view.source.at, view.source.ends, books.positions(), tasks
        )
        self._wanted, self._found = {}, {}
        for place, span in suspected.items():
            counted = self._counted.get(place)
            if counted is not None and counted[0] == span:
                self._note(place, *counted)
            elif len(span) > _LARGEST:
                self._note(place, span, len(span))
            elif (inquiry := books.count(place, span)) is not None:
                self._wanted[place] = inquiry, span
                if counted is not None and counted[0].first == span.first:
                    self._note(place, *counted)
        self._counted = {
            k: v for k, v in self._counted.items() if k in suspected
        }

    def wanted(self) -> list[Inquiry]:
        """Return which records to count."""
        return [inquiry for inquiry, _ in self._wanted.values()]

    def count(self, inquiry: Inquiry, records: int) -> None:
        """Take how many records there are."""
        place = inquiry.place
        asked, span = self._wanted.get(place, (None, None))
        if asked != inquiry or span is None:
            return
        del self._wanted[place]
        self._counted[place] = span, records
        self._note(place, span, records)

    @property
    def left_behind(self) -> frozenset[TopicPartition]:
        """Partitions that are under suspicion, or will soon be."""
        return self._suspicions.left_behind

    def found(self) -> tuple[Suspicion, ...]:
        """Return the partitions under suspicion that hold records."""
        return tuple(s for _, s in sorted(self._found.items()))

    def _note(self, place: TopicPartition, span: Span, records: int) -> None:
        if not records:
            return  # only marks of transactions, or what was compacted
        topic, partition = place
        self._found[place] = Suspicion(
            topic=topic,
            partition=partition,
            first=span.first,
            end=span.end,
            count=records,
            since=self._suspicions.since(place),
        )
