"""The last report, for whoever looks at the page."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ..ports import Report

__all__ = ["Freshness", "LatestReport"]


class LatestReport:
    """A sink that holds the last report in memory.

    Notes
    -----
    One attribute is replaced as a whole, so readers in other threads need no
    lock: they see the report before or the one after, never a mixture.
    """

    name = "web"

    def __init__(self) -> None:
        self._report: Report | None = None

    @property
    def report(self) -> Report | None:
        """The last report, `None` before the first."""
        return self._report

    def publish(self, report: Report) -> None:
        self._report = report

    def close(self) -> None:
        """Do nothing: what is shown last stays true of its time."""


TICKS = 3
"""Ticks that may be missed: one can be slow, two in a row are an accident,
three mean that nobody is watching."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Freshness:
    """Age of the last report."""

    age: timedelta | None
    """Time since the last report, `None` before the first."""

    limit: timedelta
    """Age from which a report is too old."""

    @classmethod
    def of(
        cls, report: Report | None, now: datetime, interval: timedelta
    ) -> "Freshness":
        """Tell how old a report is.

        Parameters
        ----------
        report
            Last report, if there is one.
        now
            Current time.
        interval
            Time between ticks.
        """
        age = None if report is None else now - report.at
        return cls(age=age, limit=TICKS * interval)

    @property
    def is_fresh(self) -> bool:
        """Whether the report is younger than three ticks.

        A report from the future is not fresh either: after the clock is set
        back, the next tick makes a new one.
        """
        return self.age is not None and abs(self.age) < self.limit

    @property
    def status(self) -> str:
        """One word: ``ok``, ``stale``, or ``starting`` before a report."""
        if self.age is None:
            return "starting"
        return "ok" if self.is_fresh else "stale"
