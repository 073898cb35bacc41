"""One run after the other: freeze, read, compare, look again, keep."""

from collections.abc import Iterator
from dataclasses import replace

from pyspark.sql import DataFrame

from mirrorwatch.domain.audit.plan import AuditedEnds, Plan, Request, Side
from mirrorwatch.domain.audit.result import FinishedAudit
from mirrorwatch.exceptions import AuditError

from .compare.audit import digest_side, judge
from .report.report import report_page
from .session import translated
from .store.carry import usable_carry
from .store.nights import Nights
from .store.store import FrozenRun, RunStore
from .tools import Tools

__all__ = ["AuditJob"]


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
        nights = Nights(self._store, tools.planner, today).runs(request)
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
