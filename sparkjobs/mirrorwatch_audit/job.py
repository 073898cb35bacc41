"""Runs one after the other: freeze, read, compare, look again, keep."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import reduce
from itertools import count
from typing import Protocol

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
    Unverifiable,
    ends_after,
)
from mirrorwatch.domain.audit.result import FinishedAudit
from mirrorwatch.exceptions import AuditError

from .compare.audit import digest_side, judge
from .compare.digests import UNTIMED
from .digest.digest import PAIR, stamped
from .digest.records import SIDES, Read, name, named, spanned
from .report.report import report_page
from .session import translated
from .store.carry import begun, hashed_again, usable_carry
from .store.store import FrozenRun, RunStore
from .tools import Tools

__all__ = ["AuditJob", "Nights", "Runs"]


ATTEMPTS = 3
"""How often a digest or a comparison is tried."""

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
            kept = self._store.plan(run.plan.id) or run
            if not kept.plan.more:
                return

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
        last = self._store.last_night()
        if last is None:
            plan = self._freeze(asked, AuditedEnds())
            return FrozenRun(plan=replace(plan, id=run), before=AuditedEnds())
        if self._is_past(asked, last):
            if asked.piece > 1:
                return None
            raise AuditError(
                f"{run} was never finished, or is not kept any more, and "
                f"{last.plan.id} went on without it: its records belong to "
                "later runs. For another look at them use --from and --to"
            )
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
            plan = _with_gaps(plan, lost)
        plan = begun(plan, run.before)
        # First, because its records say whether timestamps count.
        plan, target = self._digest(run, plan, "target")
        plan, target = self._without_timestamps(run, plan, target)
        plan, source = self._digest(run, plan, "source")
        if carry is not None:
            plan, carry = self._hashed_alike(run, plan, carry)
        for attempt in count(1):
            # A digest may hold pairs that turned out to be unreadable later.
            only = sf.broadcast(named(source.sparkSession, plan.pairs))
            sides = [
                side.join(only, [*PAIR], "left_semi")
                for side in (source, target)
            ]
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
        with self._tools.progress.stage("Keeping what was found"):
            if plan.window is None:
                store.save_carry(plan.id, judged.carry)
            audit = judged.audit
            page = report_page(audit.result, [audit], judged.hours)
            store.save_report(audit.result.id, judged.hours, page)
            store.save_result(audit)
        return audit

    def _digest(
        self, run: FrozenRun, plan: Plan, side: Side
    ) -> tuple[Plan, DataFrame]:
        """Return the digest of one side, and the plan without what could not
        be read.
        """
        bucket = self._tools.settings.bucket
        doing = self._tools.progress.stage(f"Reading the {side}")
        with doing:
            kept = self._kept(plan, side)
            if kept is not None:
                return plan, kept
            for attempt in count(1):
                try:
                    with translated(f"Cannot sum up the {side}"):
                        digest = digest_side(
                            self._tools.read, plan, side, bucket=bucket
                        )
                    return plan, self._store.save_digest(plan.id, side, digest)
                except AuditError as e:
                    if attempt == ATTEMPTS or e.__cause__ is None:
                        raise
                    plan = self._without(run, plan, [side], lambda x: x.span)
        raise AssertionError

    def _without_timestamps(
        self, run: FrozenRun, plan: Plan, target: DataFrame
    ) -> tuple[Plan, DataFrame]:
        """Leave timestamps out where records say that the target puts its own
        on them: its configuration may have been another when they came.
        """
        with translated("Cannot read the digest of the target"):
            own = stamped(target)
        chosen = [p for p in plan.pairs if p.timestamps and name(p) in own]
        if not chosen:
            return plan, target
        names = {name(pair) for pair in chosen}
        rest = tuple(p for p in plan.pairs if name(p) not in names)
        if plan.window is not None:
            gaps = [_gap_of(pair, UNTIMED) for pair in chosen]
            return _with_gaps(replace(plan, pairs=rest), gaps), target
        untimed = [replace(pair, timestamps=False) for pair in chosen]
        bucket = self._tools.settings.bucket
        part = replace(plan, pairs=tuple(untimed))
        only = sf.broadcast(named(target.sparkSession, untimed))
        with (
            self._tools.progress.stage("Reading the target"),
            translated("Cannot sum up the target"),
        ):
            digest = digest_side(
                self._tools.read, part, "target", bucket=bucket
            )
            others = target.join(only, [*PAIR], "left_anti")
            # It takes the place of what it is made of.
            both = others.unionByName(digest).localCheckpoint()
        target = self._store.save_digest(plan.id, "target", both)
        plan = replace(plan, pairs=(*rest, *untimed))
        self._store.save_plan(replace(run, plan=plan))
        return plan, target

    def _hashed_alike(
        self, run: FrozenRun, plan: Plan, carry: DataFrame
    ) -> tuple[Plan, DataFrame]:
        """Make checksums as this night's of what was left with others."""
        last = None
        if run.carried_from is not None:
            last = self._store.plan(run.carried_from)
        kept = {} if last is None else {name(p): p for p in last.plan.pairs}
        outdated = self._store.is_outdated(run.carried_from)
        other = [
            pair
            for pair in plan.pairs
            if outdated
            or kept.get(name(pair), pair).timestamps is not pair.timestamps
        ]
        if not other:
            return plan, carry
        with translated("Cannot read what was left by the night before"):
            carry, lost = hashed_again(
                self._tools.read,
                carry,
                other,
                "an older version" if outdated else "timestamps",
            )
        gone = {(gap.topic, gap.partition) for gap in lost}
        pairs = tuple(
            replace(pair, exact_start=False)
            if (pair.topic, pair.partition) in gone
            else pair
            for pair in plan.pairs
        )
        return _with_gaps(replace(plan, pairs=pairs), lost), carry

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
        found = tuple(unreadable(self._tools.read, plan.pairs, sides, span))
        gone = {name(f.pair) for f in found if not f.offsets}
        if len(gone) == len(plan.pairs) and not any(
            RECORD_FAILED in f.error for f in found
        ):
            # A whole cluster, or Spark itself: nothing is known.
            return plan
        if not found:
            return plan
        pairs = []
        for pair in plan.pairs:
            if name(pair) in gone:
                continue
            own = [f for f in found if name(f.pair) == name(pair)]
            pairs.append(reduce(lambda p, f: f.skipped(p), own, pair))
        plan = replace(
            _with_gaps(plan, (gap for f in found for gap in f.gaps(plan))),
            pairs=tuple(pairs),
            # The next piece of this night would fail alike, without an end.
            more=plan.more and not gone,
        )
        self._store.save_plan(replace(run, plan=plan))
        return plan


def _with_gaps(plan: Plan, gaps: Iterable[Unverifiable]) -> Plan:
    """Return the plan with what cannot be verified, each told once."""
    told = dict.fromkeys((*plan.unverifiable, *gaps))
    return replace(plan, unverifiable=tuple(told))


def _retained(x: PartitionPair | SourceRange) -> AuditSpan:
    return x.retained


UNREADABLE = "{side} offsets {first} to {last} cannot be read: {error}"

MOST_FAILURES = 64
"""How many readings may fail before what is left is not looked into: each may
wait for a broker that is gone."""

RECORD_FAILED = "overflow"
"""What Spark says of a timestamp that it cannot convert."""

MOST_SKIPPED = 16
"""Most such records of a log that are left out one by one: each is found by
reading the rest about twice, and costs a range of its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreadLog:
    """What cannot be read of one side of a pair."""

    pair: PartitionPair
    """The pair, with the spans that were tried."""

    side: Side
    """Which side."""

    error: str
    """Why."""

    offsets: tuple[int, ...] = ()
    """Records that alone cannot be read; none where nothing can be."""

    def skipped(self, pair: PartitionPair) -> PartitionPair:
        """Return a pair without the records."""
        if self.side == "target":
            both = {*pair.skipped, *self.offsets}
            return replace(pair, skipped=tuple(sorted(both)))
        (source,) = pair.sources
        both = {*source.skipped, *self.offsets}
        source = replace(source, skipped=tuple(sorted(both)))
        return replace(pair, sources=(source,))

    def gaps(self, plan: Plan) -> Iterator[Unverifiable]:
        """Yield what cannot be verified of a plan for it."""
        (pair,) = (p for p in plan.pairs if name(p) == name(self.pair))
        compared, tried = (
            (p.span if self.side == "target" else p.sources[0].span)
            for p in (pair, self.pair)
        )
        spans = [
            AuditSpan(offset, offset + 1)
            for offset in self.offsets
            if compared.start <= offset < compared.end
        ]
        for span in spans if self.offsets else [tried]:
            reason = UNREADABLE.format(
                side=self.side,
                first=span.start,
                last=span.end - 1,
                error=self.error,
            )
            # Its copy is told too, and is no other record.
            alone = bool(self.offsets) and self.side == "source"
            yield _gap_of(self.pair, reason, 1 if alone else None)


def unreadable(
    read: Read,
    pairs: Sequence[PartitionPair],
    sides: Sequence[Side],
    span: Callable[[PartitionPair | SourceRange], AuditSpan],
) -> Iterator[UnreadLog]:
    """Find what cannot be read, by halves.

    Parameters
    ----------
    read
        Reads records.
    pairs
        Pairs of which at least one cannot be read.
    sides
        The sides to read.
    span
        Chooses what is read of each.
    """
    failures = 0
    for side in sides:
        parts = [[spanned(pair, span) for pair in pairs]]
        while parts:
            part = parts.pop()
            error = _failure(read, part, side)
            if error is None:
                continue
            failures += 1
            if len(part) > 1 and failures < MOST_FAILURES:
                half = len(part) // 2
                parts += [part[:half], part[half:]]
                continue
            offsets: tuple[int, ...] = ()
            if len(part) == 1 and RECORD_FAILED in error:
                offsets = _failing_offsets(read, part[0], side)
            for pair in part:
                yield UnreadLog(
                    pair=pair, side=side, error=error, offsets=offsets
                )


def _gap_of(
    pair: PartitionPair, reason: str, records: int | None = None
) -> Unverifiable:
    return Unverifiable(
        flow=pair.flow,
        topic=pair.topic,
        partition=pair.partition,
        reason=reason,
        records=records,
    )


def _failing_offsets(
    read: Read, pair: PartitionPair, side: Side
) -> tuple[int, ...]:
    """Return the records of a pair that alone cannot be read; none if there
    are too many, or if the other side could not leave their copies out too.
    """
    if len(pair.sources) > 1 or not pair.timestamps:
        return ()
    at = pair.span if side == "target" else pair.sources[0].span
    found: list[int] = []
    rest = at
    while len(rest) and _failure(read, [_only(pair, rest)], side):
        if len(found) == MOST_SKIPPED:
            return ()
        first, last = rest.start, rest.end
        while last - first > 1:
            middle = (first + last) // 2
            if _failure(read, [_only(pair, AuditSpan(first, middle))], side):
                last = middle
            else:
                first = middle
        found.append(first)
        rest = AuditSpan(last, at.end)
    return tuple(found)


def _only(pair: PartitionPair, span: AuditSpan) -> PartitionPair:
    return spanned(pair, lambda _: span)


def _failure(
    read: Read, pairs: Sequence[PartitionPair], side: Side
) -> str | None:
    try:
        with translated("Spark says"):
            found = read(pairs, side)
            found.agg(sf.max("offset"), sf.max("timestamp")).collect()
    except AuditError as e:
        return str(e).removeprefix("Spark says: ")
    return None
