"""What happened lately, and the counters, as they are reported."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from ...domain.conservation import Books, Happening, Tally

__all__ = ["Journal"]

_TOLD = 200
"""Happenings that are reported by name, the newest."""


class Journal:
    """Keeps what happened for as long as it is reported.

    Parameters
    ----------
    happenings
        What is known from before.
    memory
        How long it is reported.
    """

    def __init__(
        self, happenings: Iterable[Happening], memory: timedelta
    ) -> None:
        self._happenings = list(happenings)
        self._memory = memory

    def add(self, happenings: Iterable[Happening]) -> None:
        """Take what was found out just now, and is written down."""
        self._happenings += happenings

    def recent(
        self, books: Books, now: datetime
    ) -> tuple[tuple[Happening, int], ...]:
        """Return what happened lately, with how many are still missing."""
        self._happenings = [
            x for x in self._happenings if now - x.at <= self._memory
        ]
        return tuple((x, books.missing(x)) for x in self._happenings[-_TOLD:])

    def tallies(
        self, topics: Iterable[str], books: Books
    ) -> tuple[tuple[str, Tally], ...]:
        """Return a copy of the counters of topics, 0 where nothing was."""
        return tuple(
            (topic, replace(books.tallies.get(topic, Tally())))
            for topic in sorted(topics)
        )
