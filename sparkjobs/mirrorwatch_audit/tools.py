"""Tools of every run: reader, planner, settings, stages, clock."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Protocol
from zoneinfo import ZoneInfo

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

__all__ = ["Planner", "Settings", "SitePlanner", "Tools"]


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
    stage: Callable[[str], AbstractContextManager[object]]
    """Shows a stage of the audit for as long as it takes."""

    clock: Callable[[], datetime]
