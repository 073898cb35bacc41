"""Maintenance windows: written by a command, read by the agent."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from ..domain.report import MaintenanceWindow
from .database import Database
from .documents import DocumentStore

__all__ = ["MaintenanceStore"]


class MaintenanceStore:
    """Keeps the maintenance window of each flow.

    Parameters
    ----------
    database
        The state file.

    Raises
    ------
    StateError
        Raised by every method if the file cannot be used.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._document = DocumentStore(
            database, "", "maintenance", dict[str, MaintenanceWindow]
        )

    def announce(
        self, flows: Iterable[str], since: datetime, until: datetime, why: str
    ) -> tuple[MaintenanceWindow, ...]:
        """Hold the notices of flows.

        A flow that is in maintenance already keeps its beginning, and gets
        the new end and reason.
        """
        with self._database.transaction():
            windows = self._document.load()
            announced = []
            for flow in flows:
                window = MaintenanceWindow(
                    flow=flow, since=since, until=until, reason=why
                )
                before = windows.get(flow)
                if before is not None and before.until > since:
                    window = replace(window, since=before.since)
                windows[flow] = window
                announced.append(window)
            self._document.save(windows)
        return tuple(announced)

    def end(
        self, flows: Iterable[str], now: datetime
    ) -> tuple[MaintenanceWindow, ...]:
        """End the maintenance of flows; return what was in force."""
        with self._database.transaction():
            windows = self._document.load()
            ended = tuple(
                windows.pop(flow)
                for flow in flows
                if flow in windows and windows[flow].holds(now)
            )
            self._document.save(windows)
        return ended

    def move(self, step: timedelta, now: datetime) -> None:
        """Keep the length of windows when the wall clock is stepped.

        Parameters
        ----------
        step
            Step of the wall clock.
        now
            Wall time after the step.
        """
        with self._database.transaction():
            self._document.save(
                {
                    flow: replace(
                        window,
                        since=window.since + step,
                        until=window.until + step,
                    )
                    # Not what was announced since the step.
                    if window.since <= now - step
                    else window
                    for flow, window in self._document.load().items()
                }
            )

    def in_force(self, now: datetime) -> tuple[MaintenanceWindow, ...]:
        """Return the windows in which notices are held now."""
        windows = self._document.load().values()
        return tuple(window for window in windows if window.holds(now))
