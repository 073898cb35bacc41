"""When audits are due."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Protocol

__all__ = ["Schedule", "Trigger"]

WINDOWS = (
    timedelta(hours=1),
    timedelta(days=1),
    timedelta(days=32),
    timedelta(days=366 * 4 + 1),
)
"""How far back a time is looked for, so that neither one that comes round
every minute nor one of a 29 February takes long to find."""

STEP = timedelta(microseconds=1)

SHIFT = timedelta(hours=3)
"""More than any clock was ever put forward or back."""


class Trigger(Protocol):
    """APScheduler's triggers."""

    def get_next_fire_time(
        self, previous_fire_time: datetime | None, now: datetime
    ) -> datetime | None:
        """Return the first time from ``now`` on."""
        ...


class Schedule:
    """Tells when an audit was due last, and when it is next.

    Parameters
    ----------
    trigger
        Knows the times on the clock, as if that were in UTC; whole minutes.
    zone
        Where the clock hangs. Times are told in this zone, so that each is on
        the day that its audit is named after.

    Notes
    -----
    APScheduler's trigger has time zones of its own, but in 3.11 it passes
    over a night when clocks are put forward: asked just after midnight of
    2024-03-31 in Berlin, it names the 2nd of April. Here a time that the clock
    leaves out comes as much later, and one that comes twice counts once.
    """

    def __init__(self, trigger: Trigger, zone: tzinfo = UTC) -> None:
        self._trigger = trigger
        self._zone = zone
        # Asked at every tick, and the same for a minute.
        self._find_last = lru_cache(maxsize=16)(self._search)

    def next(self, after: datetime) -> datetime | None:
        """Return the first time after another; `None` if there is none."""
        after = after.astimezone(UTC)
        return next((at for at in self._times(after) if at > after), None)

    def last(self, until: datetime) -> datetime | None:
        """Return the newest time up to another; `None` if there is none."""
        until = until.astimezone(UTC)
        return self._find_last(until.replace(second=0, microsecond=0))

    def _search(self, until: datetime) -> datetime | None:
        for window in WINDOWS:
            found = None
            for at in self._times(until - window):
                if at > until:
                    break
                found = at
            if found is not None:
                return found
        return None

    def _times(self, begin: datetime) -> Iterator[datetime]:
        """Yield all times from a little before another."""
        clock = begin.astimezone(self._zone).replace(tzinfo=UTC) - SHIFT
        while True:
            at = self._trigger.get_next_fire_time(None, clock)
            if at is None:
                return
            yield at.replace(tzinfo=self._zone)
            clock = at + STEP
