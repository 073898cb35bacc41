"""The only place that reads clocks; everything else is given the time.

The agent's own time never jumps: it is driven by the monotonic clock. All
ages, deadlines and pauses are worked out in it, and so is what the state file
keeps. The wall clock only labels what leaves the process.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

__all__ = ["Clock", "shifted", "utc_now"]

T = TypeVar("T")

LEAST_STEP = timedelta(seconds=1)
"""NTP corrects less than this without a step, at both clocks alike."""

SLEW = 0.01
"""Share by which the agent's own time runs faster or slower after a step,
until it is the wall clock's again: too little to matter to any limit."""

SETTLE = timedelta(minutes=1)
"""Time constant at the end of a correction, which slows down so that it does
not overshoot."""

MOST_KEPT = timedelta(days=2)
"""A clock that was more wrong than this is believed at the next start: the
timestamps of records cannot be compared with a time so far away."""


def utc_now() -> datetime:
    """Return what the wall clock says, in UTC: for labels."""
    return datetime.now(UTC)  # noqa: TID251


def elapsed_seconds() -> float:
    """Return seconds that only go forward, those of a suspended machine too.

    Notes
    -----
    Linux's monotonic clock stands while the machine is suspended. What was
    known before would seem to be of now, and the wall clock to be stepped.
    """
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


class Clock:
    """Gives the agent's own time when called; it never jumps.

    Parameters
    ----------
    wall
        Gives the wall-clock time.
    monotonic
        Gives seconds that only go forward.

    Attributes
    ----------
    offset
        Lead of the wall clock over the agent's own time: zero unless it was
        stepped.
    steps
        Number of steps.
    """

    def __init__(
        self,
        wall: Callable[[], datetime] = utc_now,
        monotonic: Callable[[], float] = elapsed_seconds,
    ) -> None:
        self._wall = wall
        self._monotonic = monotonic
        begin, seconds = wall(), monotonic()
        # What the wall clock says, as long as nobody steps it.
        self._expected = (begin, seconds)
        # Replaced as a whole: other threads must not see a half of it.
        self._own = (begin, seconds, 1.0)
        self.offset = timedelta()
        self.steps = 0

    def __call__(self) -> datetime:
        return self._at(self._monotonic())

    def label(self, at: datetime | None = None) -> datetime:
        """Return a time of the agent, by default now, by the wall clock."""
        return (self() if at is None else at) + self.offset

    def resume(self, labelled: datetime, offset: timedelta) -> None:
        """Carry on the time of an agent that was stopped.

        What it kept must neither be from the future nor look older than it
        is, even if the wall clock was stepped since.

        Parameters
        ----------
        labelled
            Time of its last run, by the wall clock of then.
        offset
            Lead of its wall clock over its own time.
        """
        wall, seconds = self._wall(), self._monotonic()
        begin = max(wall, labelled) - offset
        if abs(wall - begin) > MOST_KEPT:
            return
        self._expected = (max(wall, labelled), seconds)
        self._own = (begin, seconds, 1.0)
        self.watch()

    def watch(self) -> timedelta:
        """Compare with the wall clock; each tick does it.

        Returns
        -------
        datetime.timedelta
            Step of the wall clock since; zero if there was none.
        """
        seconds, wall = self._monotonic(), self._wall()
        begin, began = self._expected
        step = wall - begin - timedelta(seconds=seconds - began)
        if abs(step) < LEAST_STEP:
            step = timedelta()
        else:
            self._expected = (wall, seconds)
            self.steps += 1
        begin, began = self._expected
        own = self._at(seconds)
        self.offset = begin + timedelta(seconds=seconds - began) - own
        rate = 1 + max(-SLEW, min(SLEW, self.offset / SETTLE))
        if rate != self._own[2]:
            self._own = (own, seconds, rate)
        return step

    def _at(self, seconds: float) -> datetime:
        begin, began, rate = self._own
        return begin + timedelta(seconds=(seconds - began) * rate)


def shifted(value: T, by: timedelta) -> T:
    """Return a value with all times in it moved: to label what leaves."""
    return value if not by else _shift(value, by)


def _shift(value: Any, by: timedelta) -> Any:
    match value:
        case None | str() | int() | float() | timedelta():
            return value
        case datetime():
            return value + by
        case Mapping():
            return {key: _shift(item, by) for key, item in value.items()}
        case tuple() | list() | frozenset():
            return type(value)([_shift(item, by) for item in value])
        case _ if isinstance(value, type) or not is_dataclass(value):
            return value
        case _:
            return _shift_fields(value, by)


def _shift_fields(value: Any, by: timedelta) -> Any:
    found = [(f.name, getattr(value, f.name)) for f in fields(value)]
    moved = [(name, old, _shift(old, by)) for name, old in found]
    return replace(
        value, **{name: new for name, old, new in moved if new is not old}
    )
