"""Tools of every run: reader, planner, settings, progress, clock."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from threading import Event, Thread
from typing import Protocol
from zoneinfo import ZoneInfo

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from rich.console import Console
from rich.status import Status

from mirrorwatch.audit import freeze, recheck
from mirrorwatch.config import AuditConfig, Config
from mirrorwatch.config.audit import to_trigger
from mirrorwatch.domain.audit.plan import (
    AuditedEnds,
    Plan,
    Request,
    Unverifiable,
)
from mirrorwatch.sources.audit.worker import Schedule

from .digest.records import Read
from .nights import CLOCKS

__all__ = [
    "Planner",
    "Progress",
    "Quiet",
    "Settings",
    "SitePlanner",
    "Terminal",
    "Tools",
]


_LOOK_SECONDS = 0.5
"""Polling interval of Spark's state: often enough to look alive."""


class Progress(Protocol):
    """Shows what an audit does."""

    def stage(self, doing: str) -> AbstractContextManager[None]:
        """Show what is being done, for as long as it takes."""
        ...


class Quiet:
    """Shows nothing."""

    @contextmanager
    def stage(self, doing: str) -> Iterator[None]:
        yield


class Terminal:
    """Shows what is being done, with the tasks of Spark that are left.

    Parameters
    ----------
    session
        Spark.
    console
        A terminal.
    """

    def __init__(self, session: SparkSession, console: Console) -> None:
        self._tracker = session.sparkContext.statusTracker()
        self._console = console

    @contextmanager
    def stage(self, doing: str) -> Iterator[None]:
        ended = Event()
        with self._console.status(doing) as status:
            thread = Thread(target=self._follow, args=(doing, status, ended))
            thread.start()
            try:
                yield
            finally:
                ended.set()
                thread.join()

    def _follow(self, doing: str, status: Status, ended: Event) -> None:
        while not ended.wait(_LOOK_SECONDS):
            try:
                tasks = [
                    info
                    for stage in self._tracker.getActiveStageIds()
                    if (info := self._tracker.getStageInfo(stage)) is not None
                ]
            except (Py4JError, ConnectionError):
                # Anyone who waits for the result gets the error.
                return
            done = sum(info.numCompletedTasks for info in tasks)
            total = sum(info.numTasks for info in tasks)
            share = f": {done:,} of {total:,} tasks" if total else ""
            status.update(doing + share)


class Planner(Protocol):
    """Freezes what is compared, and finds what expired meanwhile.

    `SitePlanner` asks the clusters; the planner of the tests needs none.
    """

    def freeze(self, request: Request, before: AuditedEnds) -> Plan:
        """Return what one run compares.

        Raises
        ------
        SourceError
            Raised if a cluster cannot be asked.
        """
        ...

    def recheck(self, plan: Plan) -> tuple[Plan, tuple[Unverifiable, ...]]:
        """Return the plan without what has no leader, and what is no longer
        there, once everything was read.

        Raises
        ------
        SourceError
            Raised if a cluster cannot be asked.
        """
        ...


class SitePlanner:
    """Asks the configured clusters.

    Parameters
    ----------
    config
        The whole configuration.
    clock
        Gives the time.
    """

    def __init__(self, config: Config, clock: Callable[[], datetime]) -> None:
        self._config = config
        self._clock = clock

    def freeze(self, request: Request, before: AuditedEnds) -> Plan:
        return freeze(self._config, request, before, clock=self._clock)

    def recheck(self, plan: Plan) -> tuple[Plan, tuple[Unverifiable, ...]]:
        return recheck(self._config, plan, self._clock)


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Settings of the comparison of records."""

    bucket: timedelta
    timezone: tzinfo
    """Time zone for naming nights."""

    several_a_day: bool = False
    schedule: Schedule | None = None
    """Schedule of nights; `None` if not configured."""

    @classmethod
    def of(cls, audit: AuditConfig | None) -> "Settings":
        """Return those of a configuration; `None` is one without audits."""
        known = audit or AuditConfig()
        zone = ZoneInfo(known.timezone)
        return cls(
            bucket=known.bucket,
            timezone=zone,
            several_a_day=known.several_a_day,
            schedule=None
            if audit is None
            else Schedule(to_trigger(known.schedule), zone),
        )

    def last_due(self, now: datetime) -> datetime | None:
        """Return when the last night was due, or is within a minute."""
        if self.schedule is None:
            return None
        return self.schedule.last(now + CLOCKS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tools:
    """Tools that every run works with."""

    read: Read
    planner: Planner
    settings: Settings
    progress: Progress
    clock: Callable[[], datetime]
