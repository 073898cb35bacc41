"""Runs one after the other: freeze, read, compare, look again, keep."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from itertools import count
from typing import Protocol

from pyspark.sql import DataFrame

from mirrorwatch.domain.audit.plan import (
    AuditedEnds,
    Plan,
    Request,
    Side,
    ends_after,
)
from mirrorwatch.domain.audit.result import FinishedAudit
from mirrorwatch.exceptions import AuditError

from .compare.audit import digest_side, judge
from .report.report import report_page
from .session import translated
from .store.carry import usable_carry
from .store.store import FrozenRun, RunStore
from .tools import Tools

__all__ = ["AuditJob", "Nights", "Runs"]


_NIGHT = re.compile(r"nightly-(\d{4}-\d{2}-\d{2})")


class Runs(Protocol):
    """What is kept of runs: `RunStore`, or a list where tests chain nights
    without Spark.
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

    Notes
    -----
    Once frozen, a night keeps its ranges: run again after a kill or for
    another look, it compares the same records. So no record is audited by two
    nights, and none is left out. Only runs that came to their end move the
    ends.
    """

    def __init__(
        self,
        store: Runs,
        freeze: Callable[[Request, AuditedEnds], Plan],
        today: date,
    ) -> None:
        self._store = store
        self._freeze = freeze
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
        """Return what the run began with, if no later run took its records."""
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
            plan = self._freeze(asked, AuditedEnds())
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
        plan = self._freeze(asked, before)
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


class AuditJob:
    """Carries out what is asked for, and keeps what was found.

    Parameters
    ----------
    tools
        What to work with.
    store
        Keeps runs.

    Notes
    -----
    If something fails nothing is known, and nothing is kept but the ranges:
    a nightly run that began has the same ones when it is run again.
    """

    def __init__(self, tools: Tools, store: RunStore) -> None:
        self._tools = tools
        self._store = store

    def run(self, request: Request) -> Iterator[FinishedAudit]:
        """Carry out one ad hoc run, or as many as a night needs.

        Raises
        ------
        AuditError
            Raised if Spark or the store fails, or if there is nothing to
            compare.
        SourceError
            Raised if a cluster cannot be asked.
        """
        for run in self._runs(request):
            yield self._carry_out(run)

    def _runs(self, request: Request) -> Iterator[FrozenRun]:
        tools = self._tools
        if request.window is not None:
            with tools.progress.stage("Freezing the ranges"):
                plan = tools.planner.freeze(request, AuditedEnds())
            yield FrozenRun(plan=plan, before=AuditedEnds())
            return
        today = tools.clock().astimezone(tools.settings.timezone).date()
        nights = Nights(self._store, tools.planner.freeze, today).runs(request)
        while True:
            with tools.progress.stage("Freezing the ranges"):
                run = next(nights, None)
            if run is None:
                return
            yield run

    def _carry_out(self, run: FrozenRun) -> FinishedAudit:
        plan, store = run.plan, self._store
        if not plan.pairs and not plan.unverifiable and not run.before.ends:
            raise AuditError(
                "There is nothing to compare: the source has no topic that "
                "is carried and was asked for"
            )
        began = self._tools.clock()
        store.save_plan(run)
        carry = store.carry(run.carried_from)
        if carry is not None:
            with translated("Cannot read what was left by the night before"):
                carry, lost = usable_carry(carry, plan, run.before)
            plan = replace(plan, unverifiable=(*plan.unverifiable, *lost))
        judged = judge(
            self._tools,
            plan,
            self._digest(plan, "source"),
            self._digest(plan, "target"),
            began=began,
            before=run.before,
            carry=carry,
        )
        with self._tools.progress.stage("Keeping what was found"):
            if plan.window is None:
                store.save_carry(plan.id, judged.carry)
            audit = judged.audit
            page = report_page(audit.result, [audit], judged.hours)
            store.save_report(audit.result.id, judged.hours, page)
            store.save_result(audit)
        return audit

    def _digest(self, plan: Plan, side: Side) -> DataFrame:
        doing = self._tools.progress.stage(f"Reading the {side}")
        with doing, translated(f"Cannot sum up the {side}"):
            digest = digest_side(
                self._tools.read,
                plan,
                side,
                bucket=self._tools.settings.bucket,
            )
            return self._store.save_digest(plan.id, side, digest)
