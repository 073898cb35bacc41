"""When audits are due."""

from datetime import datetime, timedelta
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
        Knows the times, in whole minutes as cron does.
    """

    def __init__(self, trigger: Trigger) -> None:
        self._trigger = trigger
        # Asked at every tick, and the same for a minute.
        self._find_last = lru_cache(maxsize=16)(self._search)

    def next(self, after: datetime) -> datetime | None:
        """Return the first time after another; `None` if there is none."""
        return self._trigger.get_next_fire_time(None, after + STEP)

    def last(self, until: datetime) -> datetime | None:
        """Return the newest time up to another; `None` if there is none."""
        return self._find_last(until.replace(second=0, microsecond=0))

    def _search(self, until: datetime) -> datetime | None:
        for window in WINDOWS:
            found = None
            at = self._trigger.get_next_fire_time(None, until - window)
            while at is not None and at <= until:
                found, at = at, self.next(at)
            if found is not None:
                return found
        return None
