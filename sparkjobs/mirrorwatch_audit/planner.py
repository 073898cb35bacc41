"""Where plans come from: the clusters themselves, or a test."""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from mirrorwatch.audit import freeze, freeze_side, recheck
from mirrorwatch.config import Config
from mirrorwatch.domain.audit import Ends, Plan, Request, Side, Unverifiable

__all__ = ["Freezer", "Planner", "SitePlanner"]


class Freezer(Protocol):
    """Freezes what is compared."""

    def freeze(self, request: Request, before: Ends) -> Plan:
        """Return what one run compares.

        Raises
        ------
        SourceError
            Raised if a cluster cannot be asked.
        """
        ...


class Planner(Freezer, Protocol):
    """Freezes what is compared, and tells what went meanwhile."""

    def freeze_side(
        self, request: Request, side: Side, *, read_committed: bool
    ) -> Plan:
        """Return what one side has to digest for itself.

        Raises
        ------
        SourceError
            Raised if a cluster of this side cannot be asked.
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

    def freeze_side(
        self, request: Request, side: Side, *, read_committed: bool
    ) -> Plan:
        return freeze_side(
            self._config,
            request,
            side,
            read_committed=read_committed,
            clock=self._clock,
        )

    def recheck(self, plan: Plan) -> tuple[Unverifiable, ...]:
        return recheck(self._config, plan)
