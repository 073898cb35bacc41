"""How many notices an hour has room for."""

from dataclasses import replace
from datetime import datetime, timedelta

from ..verdicts import Health
from .books import Books, Told
from .notice import Kind, Notice

__all__ = ["Room"]

HOUR = timedelta(hours=1)

LESSER = {Kind.CHANGED, Kind.REMINDER}
"""Kinds that say no other health than what was told."""


class Room:
    """How many notices the hour has room for, and what found none.

    What finds no room stays due. If it goes by before it is told, the next
    notice says so.

    Parameters
    ----------
    books
        When people were told.
    most_per_hour
        Most notices in any hour.
    now
        Time of the report.
    """

    def __init__(
        self, books: Books, most_per_hour: int, now: datetime
    ) -> None:
        self._most = most_per_hour
        self._now = now
        # A clock that was set back must not use up the hour's room.
        self.times = [t for t in books.times if timedelta() <= now - t < HOUR]
        self.untold = books.untold

    def settle(self, told: Told, health: Health) -> Told:
        """Count what was withheld of a flow that is again as was told."""
        if told.withheld is None or health is not told.health:
            return told
        self.untold += 1
        return replace(told, withheld=None)

    def admit(self, notice: Notice, told: Told) -> Notice | None:
        """Return a notice as it is sent; `None` if there is no room."""
        lesser = notice.kind in LESSER
        if not lesser and told.withheld not in {None, notice.health}:
            self.untold += 1
        if len(self.times) >= self._most:
            return None
        self.times.append(self._now)
        full = len(self.times) >= self._most
        sent = replace(notice, untold=self.untold, is_last=full)
        self.untold = 0
        return sent

    def withhold(self, notice: Notice, told: Told) -> Told:
        """Remember what found no room."""
        if notice.kind in LESSER:
            return told
        return replace(told, withheld=notice.health)
