"""Which ranges a nightly run has: new ones, or those that it began with."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from itertools import count
from typing import Protocol

from mirrorwatch.domain.audit.plan import AuditedEnds, Request, ends_after
from mirrorwatch.exceptions import AuditError

from ..tools import Freezer
from .store import FrozenRun

__all__ = ["Nights", "Runs"]


_NIGHT = re.compile(r"nightly-(\d{4}-\d{2}-\d{2})")


class Runs(Protocol):
    """What is kept of runs, as `Store` keeps it."""

    def plan(self, run: str) -> FrozenRun | None:
        """Return what a run compares; `None` if it never began."""
        ...

    def is_finished(self, run: str) -> bool:
        """Tell whether a run came to its end."""
        ...

    def last_night(self) -> FrozenRun | None:
        """Return the finished nightly run with the newest ranges."""
        ...


class Nights:
    """Chains nightly runs: each goes on from the end of the one before.

    Parameters
    ----------
    store
        Keeps runs.
    planner
        Freezes ranges.
    today
        Name of a night that is not named.

    Notes
    -----
    Once frozen, a night keeps its ranges: run again after a kill or for
    another look, it compares the same records. So no record is audited by two
    nights, and none is left out. Only runs that came to their end move the
    ends.
    """

    def __init__(self, store: Runs, planner: Freezer, today: date) -> None:
        self._store = store
        self._planner = planner
        self._today = today

    def runs(self, request: Request) -> Iterator[FrozenRun]:
        """Return what a night compares, piece by piece.

        Each piece must be finished before the next one is asked for.

        Raises
        ------
        AuditError
            Raised if the night is past and was never run: what it would have
            compared belongs to a later one.
        """
        night = request.night or self._today
        for piece in count(1):
            asked = replace(request, night=night, piece=piece)
            run = self._kept(asked) or self._new(asked)
            if run is None:
                return
            yield run
            if not run.plan.more:
                return

    def _kept(self, asked: Request) -> FrozenRun | None:
        """Return what the run began with, if nobody went on without it."""
        name = asked.run_id(self._today)
        kept = self._store.plan(name)
        if kept is None or self._store.is_finished(name):
            return kept
        last = self._store.last_night()
        return kept if last is None or last.plan.at < kept.plan.at else None

    def _new(self, asked: Request) -> FrozenRun | None:
        name = asked.run_id(self._today)
        last = self._store.last_night()
        if last is None:
            plan = self._planner.freeze(asked, AuditedEnds())
            return FrozenRun(plan=replace(plan, id=name), before=AuditedEnds())
        if self._is_past(asked, last):
            if asked.piece > 1:
                return None
            raise AuditError(
                f"{name} was never finished, or is not kept any more, and "
                f"{last.plan.id} went on without it: its records belong to "
                "later runs. For another look at them use --from and --to"
            )
        before = ends_after(last.plan, last.before)
        plan = self._planner.freeze(asked, before)
        return FrozenRun(
            plan=replace(plan, id=name),
            before=before,
            carried_from=last.plan.id,
        )

    def _is_past(self, asked: Request, last: FrozenRun) -> bool:
        if self._store.plan(asked.run_id(self._today)) is not None:
            return True
        found = _NIGHT.match(last.plan.id)
        return (
            asked.night is not None
            and found is not None
            and asked.night < date.fromisoformat(found[1])
        )
