"""Where plans come from: the clusters themselves, or a test."""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from mirrorwatch.audit import freeze, recheck
from mirrorwatch.config import Config
from mirrorwatch.domain.audit import Ends, Plan, Request, Unverifiable

__all__ = ["Planner", "SitePlanner"]


class Planner(Protocol):
    """Freezes what is compared, and tells what went meanwhile."""

    def freeze(self, request: Request, before: Ends) -> Plan:
        """Return what one run compares.

        Raises
        ------
        SourceError
            Raised if a cluster cannot be asked.
        """
        ...

    def recheck(self, plan: Plan) -> tuple[Unverifiable, ...]:
        """Return what is no longer there, once everything was read.

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

    def freeze(self, request: Request, before: Ends) -> Plan:
        return freeze(self._config, request, before, clock=self._clock)

    def recheck(self, plan: Plan) -> tuple[Unverifiable, ...]:
        return recheck(self._config, plan)
