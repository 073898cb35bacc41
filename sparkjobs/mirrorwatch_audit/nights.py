"""Which run a night is, and from where it goes on."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from itertools import count
from typing import Protocol

from mirrorwatch.domain.audit.plan import (
    AuditedEnds,
    Plan,
    Request,
    ends_after,
)
from mirrorwatch.exceptions import AuditError

from .store.store import FrozenRun

__all__ = ["CLOCKS", "WENT_ON", "Nights", "Runs"]


WENT_ON = (
    "{run} was never finished, or is not kept any more, and {last} went on "
    "without it: its records belong to later runs. For another look at them "
    "use --from and --to"
)

ZONES = timedelta(days=1)
"""Tolerance for a date that is named elsewhere, ahead of the audit's zone."""

CLOCKS = timedelta(minutes=1)
"""By how much a night may be frozen before it is due: what starts it has a
clock of its own."""

TO_COME = (
    "{run} is yet to come: today is {today}. It would be the last night, and "
    "all nights before it would be past"
)

_NIGHT = re.compile(r"nightly-(\d{4}-\d{2}-\d{2})(?:T(\d{4}))?")


class Runs(Protocol):
    """Store of runs: `RunStore`, or a list where tests chain nights without
    Spark.
    """

    def plan(self, run: str) -> FrozenRun | None:
        """Return what a run compares; `None` if it never began."""
        ...

    def is_finished(self, run: str) -> bool:
        """Return whether a run came to its end."""
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
    freeze
        Freezes ranges.
    today
        Name of a night that is not named.
    clock
        Time of day in that name, where a day has several runs.
    due
        Due time of the last night, in the zone that names it; `None` if no
        schedule gives it.

    Notes
    -----
    Once frozen, a night keeps its ranges: run again after a kill or for
    another look, it compares the same records. So no record is audited by two
    nights, and none is left out. Only runs that came to their end move the
    ends.

    What was run under the name of a night before it was due is its first
    piece: the night itself is one more, of what was written since.
    """

    def __init__(
        self,
        store: Runs,
        freeze: Callable[[Request, AuditedEnds], Plan],
        today: date,
        clock: str = "",
        due: datetime | None = None,
    ) -> None:
        self._store = store
        self._freeze = freeze
        self._today = today
        self._clock = clock
        self._due = due

    def runs(self, request: Request) -> Iterator[FrozenRun]:
        """Return what a night compares, piece by piece.

        Each piece must be finished before the next one is asked for.

        Raises
        ------
        AuditError
            Raised if the night is past and was never run: what it would have
            compared belongs to a later one. And if it is yet to come.
        """
        if request.night is None:
            request = replace(request, night=self._today, clock=self._clock)
        for piece in count(self._first_piece(request)):
            asked = replace(request, piece=piece)
            run = self._kept(asked) or self._new(asked)
            if run is None:
                return
            yield run
            kept = self._store.plan(run.plan.id) or run
            following = replace(request, piece=piece + 1)
            if not (
                kept.plan.more
                or self._is_early(asked, kept.plan)
                or self._store.is_finished(following.run_id(self._today))
            ):
                return

    def _first_piece(self, request: Request) -> int:
        """Return the piece to begin with: behind those that were finished
        before the night was due, for nobody asked for these again.
        """
        for piece in count(1):
            asked = replace(request, piece=piece)
            run = asked.run_id(self._today)
            if self._store.is_finished(run):
                continue
            before = replace(request, piece=piece - 1)
            done = self._store.plan(before.run_id(self._today))
            last = self._store.last_night()
            if piece == 1 or done is None or last is None:
                return 1
            if not self._is_early(before, done.plan):
                return 1
            goes_on = self._kept(asked) or not self._is_past(asked, last)
            return piece if goes_on else 1
        return 1

    def _is_early(self, asked: Request, plan: Plan) -> bool:
        """Return whether a run that has the name of the last night that was
        due was frozen before that.
        """
        due = self._due
        if due is None or plan.at >= due - CLOCKS:
            return False
        clock = f"{due:%H%M}" if self._clock else ""
        return (asked.night, asked.clock) == (due.date(), clock)

    def _kept(self, asked: Request) -> FrozenRun | None:
        """Return what the run began with, if no later run took its records."""
        run = asked.run_id(self._today)
        kept = self._store.plan(run)
        if kept is None or self._store.is_finished(run):
            return kept
        last = self._store.last_night()
        return kept if last is None or last.plan.at < kept.plan.at else None

    def _new(self, asked: Request) -> FrozenRun | None:
        run = asked.run_id(self._today)
        if asked.night is not None and asked.night > self._today + ZONES:
            raise AuditError(TO_COME.format(run=run, today=self._today))
        last = self._store.last_night()
        if last is None:
            plan = self._freeze(asked, AuditedEnds())
            return FrozenRun(plan=replace(plan, id=run), before=AuditedEnds())
        if self._is_past(asked, last):
            if asked.piece > 1:
                return None
            raise AuditError(WENT_ON.format(run=run, last=last.plan.id))
        before = ends_after(last.plan, last.before)
        plan = self._freeze(asked, before)
        return FrozenRun(
            plan=replace(plan, id=run),
            before=before,
            carried_from=last.plan.id,
        )

    def _is_past(self, asked: Request, last: FrozenRun) -> bool:
        if self._store.plan(asked.run_id(self._today)) is not None:
            return True
        found = _NIGHT.match(last.plan.id)
        if found is None or asked.night is None:
            return False
        day, clock = date.fromisoformat(found[1]), found[2] or ""
        if asked.night != day:
            return asked.night < day
        # By another schedule, a day may have one run more.
        return bool(asked.clock and clock) and asked.clock < clock
