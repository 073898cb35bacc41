"""Runs one after the other: freeze, read, compare, look again, keep."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from types import MappingProxyType

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import (
    AuditedEnds,
    AuditSpan,
    PartitionPair,
    Plan,
    Request,
    Side,
    SourceRange,
)
from mirrorwatch.domain.audit.result import FinishedAudit
from mirrorwatch.exceptions import AuditError

from .checkpoint import checkpointed
from .compare.audit import digest_side, judge, of_pairs
from .compare.digests import (
    UNTIMED,
    as_digested,
    bucket_length,
    timed_by_target,
)
from .digest.digest import PAIR
from .digest.records import SIDES, PairName, name, named
from .digest.unreadable import gap_of, with_gaps, without_unreadable
from .nights import WENT_ON, Nights
from .report.report import report_page
from .session import translated
from .store.carry import (
    begun,
    copies_left,
    missing_carry,
    usable_carry,
)
from .store.store import FrozenRun, RunStore
from .tools import Tools

__all__ = ["AuditJob", "SideDigest", "digest_readable"]


ATTEMPTS = 3
"""Attempts at a digest or a comparison."""

NONE_GIVEN: Mapping[Side, DataFrame] = MappingProxyType({})
"""Digests given from elsewhere: none, where both sides are read here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SideDigest:
    """Digest of one side of a frozen run."""

    plan: Plan
    """Plan without the pairs that could not be read."""

    table: DataFrame


class AuditJob:
    """Carries out what is asked for, and keeps what was found.

    Parameters
    ----------
    tools
        Tools of the runs.
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

    def freeze(self, request: Request) -> FrozenRun:
        """Freeze the next piece of a night that is not finished, and keep it:
        the same one again until it is.

        Raises
        ------
        AuditError
            Raised if there is nothing to compare, or all of it was compared.
        SourceError
            Raised if a cluster cannot be asked.
        """
        for run in self._runs(request):
            if not self._store.is_finished(run.plan.id):
                _check_not_empty(run)
                self._store.save_plan(run)
                return run
        raise AuditError(
            f"{run.plan.id} was compared to its end: the next night has the "
            "next ranges"
        )

    def compare(self, digests: Mapping[Side, SideDigest]) -> FinishedAudit:
        """Compare digests of a frozen run that were made elsewhere.

        Parameters
        ----------
        digests
            Digests of both sides.

        Raises
        ------
        AuditError
            Raised if they are not of a run that is kept, or if a later run
            has taken its records.
        SourceError
            Raised if a cluster cannot be asked.
        """
        plans = {side: digest.plan for side, digest in digests.items()}
        run = self._store.plan(plans["source"].id)
        if run is None or any(
            (plan.id, plan.at) != (run.plan.id, run.plan.at)
            for plan in plans.values()
        ):
            raise AuditError(
                "These digests are not of one plan that this folder of all "
                "runs has: name the folder with --out, and digest both sides "
                "by the plan of mirrorwatch audit freeze"
            )
        last = self._store.last_night()
        if (
            not self._store.is_finished(run.plan.id)
            and last is not None
            and last.plan.at >= run.plan.at
        ):
            raise AuditError(
                WENT_ON.format(run=run.plan.id, last=last.plan.id)
            )
        joined = as_digested(run.plan, plans["source"], plans["target"])
        tables = {side: digest.table for side, digest in digests.items()}
        return self._carry_out(replace(run, plan=joined), tables)

    def _runs(self, request: Request) -> Iterator[FrozenRun]:
        tools = self._tools
        if request.window is not None:
            with tools.stage("Freezing the ranges"):
                plan = tools.planner.freeze(request, AuditedEnds())
            yield FrozenRun(plan=plan, before=AuditedEnds())
            return
        now = tools.clock().astimezone(tools.settings.timezone)
        nights = Nights(
            self._store,
            tools.planner.freeze,
            now.date(),
            f"{now:%H%M}" if tools.settings.several_a_day else "",
            tools.settings.last_due(now),
        ).runs(request)
        while True:
            with tools.stage("Freezing the ranges"):
                run = next(nights, None)
            if run is None:
                return
            yield run

    def _carry_out(
        self, run: FrozenRun, given: Mapping[Side, DataFrame] = NONE_GIVEN
    ) -> FinishedAudit:
        plan, store = run.plan, self._store
        _check_not_empty(run)
        began = self._tools.clock()
        # The next night goes on from what a finished one compared and left:
        # run again, it may see less of that, or leave less.
        keeps = plan.window is None and not store.is_finished(plan.id)
        self._save_rest(run, plan)
        run, carry = self._taken_up(run)
        plan = run.plan
        # First, because its records say whether timestamps count.
        plan, target = self._digest(run, plan, "target", given)
        plan, target, untimed = self._without_timestamps(
            run, plan, target, carry
        )
        plan, source = self._digest(run, plan, "source", given)
        if given and untimed:
            source = self._digest_again(plan, "source", source, untimed)
        for attempt in count(1):
            plan, carry = self._usable(plan, carry, run)
            # A digest may hold pairs that were left out since.
            pairs = [pair for pair in plan.pairs if not pair.passed_over]
            sides = [of_pairs(side, pairs) for side in (source, target)]
            try:
                judged = judge(
                    self._tools,
                    plan,
                    *sides,
                    began=began,
                    before=run.before,
                    carry=carry,
                )
                break
            except AuditError as e:
                # Without a cause it is not Spark that failed.
                if attempt == ATTEMPTS or e.__cause__ is None:
                    raise
                # All that is retained is read then: not for a passing fault.
                if attempt > 1:
                    plan = self._without(run, plan, SIDES, _retained)
        with self._tools.stage("Keeping what was found"):
            if judged.plan is not plan:
                self._save_rest(run, judged.plan)
            if keeps:
                store.save_carry(plan.id, judged.carry)
            audit = judged.audit
            page = report_page(audit.result, [audit])
            store.save_report(audit.result.id, page)
            store.save_result(audit)
        return audit

    def _taken_up(self, run: FrozenRun) -> tuple[FrozenRun, DataFrame | None]:
        """Return the run and what the night before left to it, if there was
        one.
        """
        plan = run.plan
        if run.carried_from is not None:
            carry = self._store.carry(run.carried_from)
            if carry is not None:
                return replace(run, plan=begun(plan, run.before)), carry
            folder = self._store.carry_url(run.carried_from)
            plan = with_gaps(plan, missing_carry(run.before, folder))
            # The night after goes on without it, wherever it is by then.
            run = replace(run, plan=plan, carried_from=None)
            self._save_rest(run, plan)
        # Records just before the ranges may be those that were left.
        return replace(run, plan=begun(plan, AuditedEnds())), None

    def _usable(
        self, plan: Plan, carry: DataFrame | None, run: FrozenRun
    ) -> tuple[Plan, DataFrame | None]:
        """Return the plan with what of the carry cannot be compared, and the
        rest of it.
        """
        if carry is None:
            return plan, None
        with translated("Cannot read what was left by the night before"):
            last = self._last_pairs(run)
            carry, plan = usable_carry(carry, plan, run.before, last)
        return plan, carry

    def _digest(
        self,
        run: FrozenRun,
        plan: Plan,
        side: Side,
        given: Mapping[Side, DataFrame],
    ) -> tuple[Plan, DataFrame]:
        """Return the digest of one side, and the plan without what could not
        be read.
        """
        store = self._store
        if side in given:
            return plan, store.save_digest(plan.id, side, given[side])
        with self._tools.stage(f"Reading the {side}"):
            kept = self._kept(plan, side)
            if kept is not None:
                return plan, kept
            return digest_readable(
                self._tools,
                plan,
                side,
                keep=lambda digest: store.save_digest(plan.id, side, digest),
                leave_out=lambda rest: self._save_rest(run, rest),
            )

    def _without_timestamps(
        self,
        run: FrozenRun,
        plan: Plan,
        target: DataFrame,
        carry: DataFrame | None,
    ) -> tuple[Plan, DataFrame, tuple[PartitionPair, ...]]:
        """Leave timestamps out where records say that the target puts its own
        on them: its configuration may have been another when they came, or
        when the copies came that the night before left.

        Returns
        -------
        tuple
            The plan, the digest of the target, and the pairs of which
            timestamps count no more.
        """
        plan, own = self._timed_by_target(run, plan, target, carry)
        chosen = [p for p in plan.pairs if p.timestamps and name(p) in own]
        if not chosen:
            return plan, target, ()
        names = {name(pair) for pair in chosen}
        rest = tuple(p for p in plan.pairs if name(p) not in names)
        if plan.window is not None:
            gaps = [gap_of(pair, UNTIMED) for pair in chosen]
            return with_gaps(replace(plan, pairs=rest), gaps), target, ()
        untimed = tuple(replace(pair, timestamps=False) for pair in chosen)
        target = self._digest_again(plan, "target", target, untimed)
        plan = replace(plan, pairs=(*rest, *untimed))
        self._save_rest(run, plan)
        return plan, target, untimed

    def _timed_by_target(
        self,
        run: FrozenRun,
        plan: Plan,
        target: DataFrame,
        carry: DataFrame | None,
    ) -> tuple[Plan, set[PairName]]:
        """Return the pairs with timestamps of the target's own, and the plan
        without what could not be read.
        """
        last = self._last_pairs(run)
        before = {name for name, pair in last.items() if not pair.timestamps}
        for attempt in count(1):
            try:
                with translated("Cannot look at the timestamps of the target"):
                    own = timed_by_target(
                        self._tools.read, plan.pairs, target, before
                    )
                break
            except AuditError:
                if attempt == ATTEMPTS:
                    raise
                # All that is retained is read then: not for a passing fault.
                if attempt > 1:
                    plan = self._without(run, plan, ["target"], _retained)
        if before and carry is not None:
            own |= before & copies_left(carry)
        return plan, own

    def _digest_again(
        self,
        plan: Plan,
        side: Side,
        digest: DataFrame,
        pairs: tuple[PartitionPair, ...],
    ) -> DataFrame:
        bucket = self._tools.settings.bucket
        if not digest.isEmpty():
            bucket = bucket_length(digest, digest)
        only = sf.broadcast(named(digest.sparkSession, pairs))
        with (
            self._tools.stage(f"Reading the {side}"),
            translated(f"Cannot sum up the {side}"),
        ):
            part = replace(plan, pairs=pairs)
            new = digest_side(self._tools.read, part, side, bucket=bucket)
            others = digest.join(only, [*PAIR], "left_anti")
            # It takes the place of what it is made of.
            both = others.unionByName(new).transform(checkpointed)
        return self._store.save_digest(plan.id, side, both)

    def _last_pairs(self, run: FrozenRun) -> dict[PairName, PartitionPair]:
        last = None
        if run.carried_from is not None:
            last = self._store.plan(run.carried_from)
        return {} if last is None else {name(p): p for p in last.plan.pairs}

    def _kept(self, plan: Plan, side: Side) -> DataFrame | None:
        """Return the digest of a night that was stopped after it was made."""
        if plan.window is not None or self._store.is_finished(plan.id):
            return None
        bucket = self._tools.settings.bucket
        return self._store.digest(plan.id, side, bucket)

    def _without(
        self,
        run: FrozenRun,
        plan: Plan,
        sides: Sequence[Side],
        span: Callable[[PartitionPair | SourceRange], AuditSpan],
    ) -> Plan:
        """Leave out what cannot be read, and keep the plan without it: the
        next night begins where this one did.
        """
        rest = without_unreadable(self._tools.read, plan, sides, span)
        if rest is not plan:
            self._save_rest(run, rest)
        return rest

    def _save_rest(self, run: FrozenRun, plan: Plan) -> None:
        """Keep what is left of a plan, unless its night is finished."""
        if plan.window is not None or not self._store.is_finished(plan.id):
            self._store.save_plan(replace(run, plan=plan))


def _check_not_empty(run: FrozenRun) -> None:
    plan = run.plan
    if not plan.pairs and not plan.unverifiable and not run.before.ends:
        raise AuditError(
            "There is nothing to compare: the source has no topic that is "
            "carried and was asked for"
        )


def digest_readable(
    tools: Tools,
    plan: Plan,
    side: Side,
    *,
    keep: Callable[[DataFrame], DataFrame],
    leave_out: Callable[[Plan], None],
) -> tuple[Plan, DataFrame]:
    """Digest one side of a plan; what cannot be read is left out.

    Parameters
    ----------
    tools
        Tools of the run.
    plan
        Plan of the ranges to compare.
    side
        Which side.
    keep
        Stores a digest, and returns it as it is stored.
    leave_out
        Is told the plan where something had to be left out of it.

    Returns
    -------
    tuple
        The plan that was digested, and the digest.

    Raises
    ------
    AuditError
        Raised if Spark fails again and again.
    """
    for attempt in count(1):
        try:
            with translated(f"Cannot sum up the {side}"):
                digest = digest_side(
                    tools.read, plan, side, bucket=tools.settings.bucket
                )
            return plan, keep(digest)
        except AuditError as e:
            if attempt == ATTEMPTS or e.__cause__ is None:
                raise
            rest = without_unreadable(
                tools.read, plan, [side], lambda x: x.span
            )
            if rest is not plan:
                leave_out(rest)
            plan = rest
    raise AssertionError


def _retained(x: PartitionPair | SourceRange) -> AuditSpan:
    return x.retained
