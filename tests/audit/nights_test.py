"""Which ranges a nightly run has."""

from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.sql import DataFrame

from mirrorwatch.config import AuditConfig
from mirrorwatch.domain.audit.plan import (
    AuditedEnds,
    AuditSpan,
    Plan,
    Request,
    Unverifiable,
    ends_after,
)
from mirrorwatch.domain.audit.result import FinishedAudit
from mirrorwatch.exceptions import AuditError
from mirrorwatch_audit.job import AuditJob, SideDigest
from mirrorwatch_audit.nights import Nights
from mirrorwatch_audit.store.carry import begun
from mirrorwatch_audit.store.store import FrozenRun, RunStore
from mirrorwatch_audit.tools import Settings, Tools
from tests.support.audit import (
    FROZEN_AT,
    a_finished,
    a_pair,
    a_plan,
    a_result,
)

TODAY = date(2026, 11, 21)


class Log:
    """A topic that grows by ten records a day, of which a piece takes ten."""

    def __init__(self) -> None:
        self.end = 10
        self.days = 0

    def pass_days(self, days: int) -> None:
        self.end += 10 * days
        self.days += days

    @property
    def today(self) -> date:
        return TODAY + timedelta(days=self.days)

    def freeze(self, request: Request, before: AuditedEnds) -> Plan:
        start = max((end.source_end for end in before.ends), default=0)
        end = min(start + 10, self.end)
        at = FROZEN_AT + timedelta(days=self.days, minutes=request.piece)
        return a_plan(a_pair(source=(start, end)), at=at, more=end < self.end)

    def recheck(self, plan: Plan) -> tuple[Plan, tuple[Unverifiable, ...]]:
        return plan, ()


class Kept:
    """Runs as the store keeps them."""

    def __init__(self) -> None:
        self.plans: dict[str, FrozenRun] = {}
        self.finished: list[str] = []

    def plan(self, run: str) -> FrozenRun | None:
        return self.plans.get(run)

    def is_finished(self, run: str) -> bool:
        return run in self.finished

    def last_night(self) -> FrozenRun | None:
        runs = [self.plans[run] for run in self.finished]
        return max(runs, key=lambda run: run.plan.at, default=None)


class Site:
    """What runs nights, and can be killed."""

    def __init__(self) -> None:
        self.log = Log()
        self.kept = Kept()

    def run(
        self, night: date | None = None, *, killed_at: int | None = None
    ) -> list[FrozenRun]:
        nights = Nights(self.kept, self.log.freeze, self.log.today)
        done = []
        for n, run in enumerate(nights.runs(Request(night=night)), 1):
            self.kept.plans[run.plan.id] = run
            done.append(run)
            if n == killed_at:
                break
            self.kept.finished.append(run.plan.id)
        return done


def ranges(runs: list[FrozenRun]) -> list[tuple[int, int]]:
    return [
        (pair.sources[0].span.start, pair.sources[0].span.end)
        for run in runs
        for pair in run.plan.pairs
    ]


def test_each_night_goes_on_where_the_last_one_ended() -> None:
    site = Site()
    (first,) = site.run()
    site.log.pass_days(1)
    (second,) = site.run()

    assert ranges([first, second]) == [(0, 10), (10, 20)]
    assert first.carried_from is None
    assert second.carried_from == first.plan.id == "nightly-2026-11-21"


def test_a_night_that_is_run_again_has_the_same_ranges() -> None:
    site = Site()
    first = site.run()
    site.log.pass_days(1)
    second = site.run()

    assert site.run(TODAY) == first
    assert site.run() == second
    site.log.pass_days(1)
    assert ranges(site.run()) == [(20, 30)]


def test_a_night_that_was_killed_has_the_same_ranges_when_run_again() -> None:
    site = Site()
    killed = site.run(killed_at=1)
    site.log.end += 5

    assert site.run() == killed


def test_missed_nights_are_made_up_for_in_pieces() -> None:
    site = Site()
    site.run()
    site.log.pass_days(3)
    runs = site.run()

    assert ranges(runs) == [(10, 20), (20, 30), (30, 40)]
    assert [run.plan.id for run in runs] == [
        "nightly-2026-11-24",
        "nightly-2026-11-24-2",
        "nightly-2026-11-24-3",
    ]
    assert [run.carried_from for run in runs] == [
        "nightly-2026-11-21",
        "nightly-2026-11-24",
        "nightly-2026-11-24-2",
    ]
    assert site.run() == runs


def test_pieces_go_on_after_a_kill() -> None:
    site = Site()
    site.run()
    site.log.pass_days(3)
    killed = site.run(killed_at=2)

    again = site.run()
    assert again[:2] == killed
    assert ranges(again) == [(10, 20), (20, 30), (30, 40)]


def test_a_later_night_takes_over_what_a_killed_one_left() -> None:
    site = Site()
    site.run(killed_at=1)
    site.log.pass_days(1)

    assert ranges(site.run()) == [(0, 10), (10, 20)]
    with pytest.raises(AuditError, match=r"went on\s+without it"):
        site.run(TODAY)


def test_pieces_that_a_later_night_took_over_are_not_audited_twice() -> None:
    site = Site()
    site.run()
    site.log.pass_days(2)
    before = site.run(killed_at=2)[:1]
    site.log.pass_days(1)
    assert ranges(site.run()) == [(20, 30), (30, 40)]

    assert site.run(TODAY + timedelta(days=2)) == before


def test_a_past_night_that_was_never_run_has_no_records_of_its_own() -> None:
    site = Site()
    site.run()
    with pytest.raises(AuditError, match="nightly-2026-11-20 was never"):
        site.run(TODAY - timedelta(days=1))


def test_a_night_that_is_yet_to_come_is_refused() -> None:
    """A slip of the year would make all nights past until then."""
    site = Site()
    site.run()
    with pytest.raises(AuditError, match="nightly-2027-11-21 is yet to come"):
        site.run(TODAY + timedelta(days=365))
    assert "nightly-2027-11-21" not in site.kept.plans
    # Elsewhere it may be tomorrow.
    (run,) = site.run(TODAY + timedelta(days=1))
    assert run.plan.id == "nightly-2026-11-22"


class Finished(Kept):
    """A folder with one finished night, whose digests cannot be kept."""

    def __init__(self, run: FrozenRun) -> None:
        super().__init__()
        self.plans[run.plan.id] = run
        self.finished.append(run.plan.id)

    def save_plan(self, run: FrozenRun) -> None:
        self.plans[run.plan.id] = run

    def save_digest(self, run: str, side: str, digest: object) -> None:
        raise AuditError("full")


def test_a_finished_night_that_is_compared_again_keeps_its_ranges() -> None:
    """The next one went on from all of them, whatever is read by now."""
    plan = a_plan(a_pair(), a_pair("telemetry"))
    run = FrozenRun(plan=plan, before=AuditedEnds())
    store = Finished(run)
    tools = SimpleNamespace(clock=lambda: FROZEN_AT)
    job = AuditJob(cast("Tools", tools), cast("RunStore", store))
    less = replace(plan, pairs=plan.pairs[:1])
    given = SideDigest(plan=less, table=cast("DataFrame", None))
    with pytest.raises(AuditError, match="full"):
        job.compare({"source": given, "target": given})
    assert store.plan(plan.id) == run


@pytest.mark.parametrize("timestamps", [True, False])
def test_copies_of_a_source_that_joined_may_lie_before_the_range(
    *, timestamps: bool
) -> None:
    """The mirror may have copied it for days before it was configured."""
    pair = replace(a_pair(), timestamps=timestamps)
    (one,) = pair.sources
    other = replace(one, flow="other->ldf")
    merged = replace(pair, sources=(one, other))
    before = ends_after(a_plan(pair), AuditedEnds())
    both = ends_after(a_plan(merged), AuditedEnds())
    at_the_ends = [
        replace(
            part,
            span=AuditSpan(part.span.end, 20),
            sources=tuple(
                replace(s, span=AuditSpan(s.span.end, 20))
                for s in part.sources
            ),
        )
        for part in (pair, merged)
    ]
    for part, ends, exact in (
        (at_the_ends[0], before, True),
        (at_the_ends[1], both, True),
        (at_the_ends[1], before, False),
    ):
        (begins,) = begun(a_plan(part), ends).pairs
        assert begins.exact_start is exact


def test_without_timestamps_both_sides_begin_at_one_sync() -> None:
    """What the night before left is missing, so nothing is taken up."""
    pair = replace(a_pair(), timestamps=False)
    (begins,) = begun(a_plan(pair), AuditedEnds()).pairs
    assert begins.exact_start


def test_a_plan_is_kept_under_the_name_that_it_is_looked_for_by() -> None:
    class Stranger(Log):
        def freeze(self, request: Request, before: AuditedEnds) -> Plan:
            return replace(super().freeze(request, before), id="other")

    site = Site()
    site.log = Stranger()
    (run,) = site.run()
    assert run.plan.id == "nightly-2026-11-21"


def test_runs_of_a_day_are_named_by_time_and_go_on_from_each_other() -> None:
    site = Site()
    hours = []
    for clock in ("0100", "0200", "0300"):
        request = Request(night=TODAY, clock=clock)
        (run,) = Nights(site.kept, site.log.freeze, TODAY).runs(request)
        site.kept.plans[run.plan.id] = run
        site.kept.finished.append(run.plan.id)
        site.log.end += 10
        site.log.days += 1
        hours.append(run)
    assert [run.plan.id for run in hours] == [
        f"nightly-2026-11-21T0{n}00" for n in (1, 2, 3)
    ]
    assert ranges(hours) == [(0, 10), (10, 20), (20, 30)]

    again = Nights(site.kept, site.log.freeze, TODAY, "0200").runs(Request())
    assert next(again) == hours[1]
    with pytest.raises(AuditError, match="nightly-2026-11-21T0130 was never"):
        next(
            Nights(site.kept, site.log.freeze, TODAY).runs(
                Request(night=TODAY, clock="0130")
            )
        )
    # A day that goes on once a day has a run of its own.
    (whole,) = Nights(site.kept, site.log.freeze, TODAY).runs(Request())
    assert whole.carried_from == hours[2].plan.id


class Frozen(Kept):
    """A folder of all runs, of which the last is finished by hand."""

    def save_plan(self, run: FrozenRun) -> None:
        self.plans[run.plan.id] = run


class ByTheClock(Log):
    """A topic that grows by a record a minute, and is frozen to its end."""

    def __init__(self) -> None:
        super().__init__()
        self.now = datetime(2026, 11, 21, tzinfo=UTC)

    def freeze(self, request: Request, before: AuditedEnds) -> Plan:
        start = max((end.source_end for end in before.ends), default=0)
        day = datetime(2026, 11, 20, tzinfo=UTC)
        end = (self.now - day) // timedelta(minutes=1)
        return a_plan(a_pair(source=(start, end)), at=self.now)


class ComparesNothing(AuditJob):
    def _carry_out(
        self, run: FrozenRun, given: object = None
    ) -> FinishedAudit:
        return a_finished(replace(a_result(), id=run.plan.id))


class Scheduled:
    """Freezes nights at two o'clock, and by hand at any time."""

    def __init__(self, schedule: str = "0 2 * * *") -> None:
        audit = AuditConfig.model_validate({"schedule": schedule})
        self.log = ByTheClock()
        self.kept = Frozen()
        tools = SimpleNamespace(
            clock=lambda: self.log.now,
            planner=self.log,
            stage=nullcontext,
            settings=Settings.of(audit),
        )
        self._job = ComparesNothing(
            cast("Tools", tools), cast("RunStore", self.kept)
        )

    def freeze(
        self, at: str, night: date | None = None, clock: str = ""
    ) -> FrozenRun:
        self.log.now = datetime.fromisoformat(at).replace(tzinfo=UTC)
        return self._job.freeze(Request(night=night, clock=clock))

    def run(
        self, at: str, night: date | None = None, clock: str = ""
    ) -> tuple[str, tuple[int, int]]:
        run = self.freeze(at, night, clock)
        self.kept.finished.append(run.plan.id)
        return run.plan.id, ranges([run])[0]

    def repeated(self, at: str, night: date | None = None) -> list[str]:
        self.log.now = datetime.fromisoformat(at).replace(tzinfo=UTC)
        done = self._job.run(Request(night=night))
        return [audit.result.id for audit in done]


def test_a_night_goes_on_from_what_was_run_by_hand_before_it_was_due() -> None:
    site = Scheduled()
    assert site.run("2026-11-21T01:00") == ("nightly-2026-11-21", (0, 1500))
    # As the agent starts it, and a scheduler that names no date.
    at_two = site.run("2026-11-21T02:00", TODAY)
    assert at_two == ("nightly-2026-11-21-2", (1500, 1560))
    with pytest.raises(AuditError, match="compared to its end"):
        site.freeze("2026-11-21T10:00")
    # Another look is at all of it, whenever that is.
    both = ["nightly-2026-11-21", "nightly-2026-11-21-2"]
    assert site.repeated("2026-11-21T10:00") == both
    next_night = site.run("2026-11-22T02:00")
    assert next_night == ("nightly-2026-11-22", (1560, 3000))
    assert site.repeated("2026-11-22T10:00", TODAY) == both


def test_what_was_compared_by_hand_is_not_compared_again_by_the_night() -> (
    None
):
    site = Scheduled()
    site.run("2026-11-21T01:00")
    site.log.now = datetime(2026, 11, 21, 2, tzinfo=UTC)
    assert site.repeated("2026-11-21T02:00") == ["nightly-2026-11-21-2"]


def test_a_night_that_began_when_it_was_due_is_run_again_as_it_was() -> None:
    site = Scheduled()
    # By a clock that is a little ahead.
    site.run("2026-11-21T01:59:30")
    assert site.repeated("2026-11-21T02:00:05") == ["nightly-2026-11-21"]
    assert site.repeated("2026-11-21T10:00") == ["nightly-2026-11-21"]
    # The next one is not due before two.
    site.run("2026-11-22T02:05")
    assert site.repeated("2026-11-23T01:00", TODAY) == ["nightly-2026-11-21"]


def test_a_night_by_hand_that_was_killed_goes_on_and_so_does_the_night() -> (
    None
):
    site = Scheduled()
    killed = site.freeze("2026-11-21T01:00")
    assert site.run("2026-11-21T02:00")[0] == killed.plan.id
    assert site.freeze("2026-11-21T02:01").plan.id == "nightly-2026-11-21-2"
    # That one was killed, too.
    assert site.run("2026-11-21T02:30") == (
        "nightly-2026-11-21-2",
        (1500, 1561),
    )


def test_a_later_run_leaves_nothing_of_a_night_by_hand_to_go_on_with() -> None:
    site = Scheduled()
    site.run("2026-11-21T01:00")
    site.run("2026-11-22T01:30")
    assert site.repeated("2026-11-22T01:40", TODAY) == ["nightly-2026-11-21"]
    # The next one is of the day after.
    second = site.run("2026-11-22T02:00")
    assert second == ("nightly-2026-11-22-2", (2970, 3000))


def test_an_hour_goes_on_from_what_was_run_under_its_name_before() -> None:
    site = Scheduled("0 * * * *")
    site.run("2026-11-21T02:00", TODAY, "0200")
    early = site.run("2026-11-21T02:30", TODAY, "0300")
    assert early == ("nightly-2026-11-21T0300", (1560, 1590))
    due = site.run("2026-11-21T03:00", TODAY, "0300")
    assert due == ("nightly-2026-11-21T0300-2", (1590, 1620))
    # One by hand has a name of its own.
    assert site.run("2026-11-21T03:20")[0] == "nightly-2026-11-21T0320"
