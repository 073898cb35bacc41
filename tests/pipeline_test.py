"""One tick, with sources and sinks that work and that do not."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
import structlog
from structlog.testing import capture_logs

from mirrorwatch.clock import Clock, shifted
from mirrorwatch.domain.cause import ReachabilityObservation
from mirrorwatch.domain.checks import CHECKS, MIRROR, FlowLimits
from mirrorwatch.domain.cluster_view import ClusterAnswer
from mirrorwatch.domain.copies.journal import CopyCounters, CopyEvent
from mirrorwatch.domain.copies.pair import EventKind
from mirrorwatch.domain.lag.model import LagStatus, StalledPartition
from mirrorwatch.domain.report import Health, MaintenanceWindow, Observation
from mirrorwatch.domain.skips.model import SkipsObservation
from mirrorwatch.domain.tasks.model import MirrorTask, TasksObservation
from mirrorwatch.exceptions import (
    SinkError,
    SourceUnavailableError,
    StateError,
)
from mirrorwatch.pipeline import Pipeline
from mirrorwatch.ports import Report, Sink, Source
from mirrorwatch.secrets import HIDDEN, never_show
from mirrorwatch.state import Database
from mirrorwatch.state.documents import VerdictStore
from mirrorwatch.state.events import EventStore
from tests.support.builders import (
    FLOW,
    NOON,
    a_canary,
    a_partition,
    a_window,
)
from tests.support.clock import clock_of
from tests.support.reports import a_lag, a_topic, some_skips


class Fixed:
    name = "fixed"

    def __init__(self, *seen: Observation) -> None:
        self.seen = seen

    def observe(self, now: datetime) -> Sequence[Observation]:
        return self.seen


class Stale(Fixed):
    name = "stale"
    up = False


class Broken:
    name = "broken"

    def observe(self, now: datetime) -> Sequence[Observation]:
        raise SourceUnavailableError("No route", source="x", cluster="ldf")


class Memory:
    def __init__(self, *, broken: bool = False) -> None:
        self.name = "broken" if broken else "memory"
        self.broken = broken
        self.reports: list[Report] = []
        self.closed = False

    def publish(self, report: Report) -> None:
        if self.broken:
            raise SinkError("Away", sink=self.name)
        self.reports.append(report)

    def close(self) -> None:
        self.closed = True


class Counting:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=10)
        return self.now


def pipeline(
    sources: Sequence[Source],
    sinks: Sequence[Sink],
    database: Database | None = None,
    windows: Callable[
        [datetime], tuple[MaintenanceWindow, ...]
    ] = lambda _: (),
    limits: FlowLimits | None = None,
    *,
    clock: Counting | None = None,
) -> Pipeline:
    return Pipeline(
        flows=[FLOW],
        limits={FLOW.name: limits or {}},
        sources=sources,
        sinks=sinks,
        verdicts=VerdictStore(database or Database(None)),
        windows=windows,
        clock=clock_of(clock or Counting()),
        logger=structlog.get_logger(),
    )


def test_a_broken_source_hides_no_other_and_is_told_once() -> None:
    seen, memory = a_canary(NOON, partitions=[a_partition(0)]), Memory()
    made = pipeline([Broken(), Fixed(seen)], [memory])
    with capture_logs() as log:
        made.tick()
        report = made.tick()
    assert report.observations == (seen,)
    assert report.agent.sources_up == {"broken": False, "fixed": True}
    assert [entry["event"] for entry in log] == ["Source unavailable"]


def test_a_source_says_itself_that_what_it_has_is_old() -> None:
    seen = a_canary(NOON, partitions=[a_partition(0)])
    report = pipeline([Stale(seen), Fixed()], []).tick()
    assert report.observations == (seen,)
    assert report.agent.sources_up == {"stale": False, "fixed": True}


def test_a_broken_sink_keeps_nothing_from_the_others() -> None:
    broken, memory = Memory(broken=True), Memory()
    made = pipeline([], [broken, memory])
    with capture_logs() as log:
        first = made.tick()
        second = made.tick()
    assert memory.reports == [first, second]
    assert [entry["event"] for entry in log] == ["Sink unavailable"]
    assert second.agent.last_tick == timedelta(milliseconds=10)


def test_every_check_has_a_verdict_though_nothing_was_seen() -> None:
    report = pipeline([], []).tick()
    assert {v.check: v.health for v in report.verdicts} == dict.fromkeys(
        CHECKS, Health.UNKNOWN
    )


def test_since_is_carried_over_ticks_and_restarts() -> None:
    database = Database(None)
    made = pipeline([], [], database)
    first, second = made.tick(), made.tick()
    again = pipeline([], [], database).tick()
    assert {v.since for v in second.verdicts} == {first.at}
    assert {v.since for v in again.verdicts} == {first.at}


def test_announced_maintenance_is_in_the_report_to_its_end() -> None:
    # Two ticks of this clock begin before its end, the third one after it.
    window = a_window(NOON, timedelta(milliseconds=100))
    answers = [(window, a_window(flow="gone"))]

    def read(_now: datetime) -> tuple[MaintenanceWindow, ...]:
        if not answers:
            raise StateError("The disk is full")
        return answers.pop()

    made = pipeline([], [], windows=read)
    with capture_logs() as log:
        reports = [made.tick() for _ in range(3)]
    assert reports[1].at < window.until <= reports[2].at
    assert [len(report.maintenance) for report in reports] == [1, 1, 0]
    assert [entry["event"] for entry in log] == ["State unavailable"]


def test_what_is_lost_is_told_over_restarts_and_if_it_cannot_be_kept() -> None:
    database = Database(None)

    def totals(*sources: Source) -> list[int]:
        report = pipeline(sources, [], database).tick()
        return [seen.total.records for seen in report.losses]

    assert totals() == [0]
    assert totals(Fixed(some_skips(NOON))) == [10]
    assert totals() == [10]
    made = pipeline([Fixed(some_skips(NOON))], [], database)
    made.tick()
    database.close()
    assert [seen.total.records for seen in made.tick().losses] == [10]


def test_events_are_told_once_over_restarts_and_if_they_cannot_be_kept() -> (
    None
):
    database = Database(None)

    def codes(made: Pipeline) -> list[str]:
        return [event.code for event in made.tick().events]

    late = a_partition(
        0, outstanding=1, oldest_outstanding=NOON - timedelta(minutes=1)
    )
    overdue = Fixed(a_canary(NOON, partitions=[late]))
    first = pipeline([overdue], [], database).tick()
    (event,) = first.events
    assert (event.code, event.until) == ("canary.overdue", None)
    assert first.event_counts == {FLOW.name: {"canary.overdue": 1}}
    assert codes(pipeline([overdue], [], database)) == []
    unkept = pipeline([overdue], [], database)
    unkept.tick()
    database.close()
    assert codes(unkept) == []
    assert "canary.overdue" in str(unkept.tick().event_counts)


def dropped(records: int) -> SkipsObservation:
    event = CopyEvent(
        kind=EventKind.SKIPPED,
        topic="telemetry",
        partition=0,
        source_id="1",
        ranges=((0, records - 1),),
        count=records,
        at=NOON,
    )
    return SkipsObservation(
        flow=FLOW.name,
        at=NOON,
        partitions=1,
        counters=(("telemetry", CopyCounters(skipped=records)),),
        events=((event, records),),
    )


@pytest.mark.parametrize("is_restarted", [False, True])
@pytest.mark.parametrize(
    ("records", "health"), [(5, Health.OK), (8, Health.CRITICAL)]
)
def test_an_acknowledged_loss_is_critical_again_once_it_grows(
    records: int, health: Health, *, is_restarted: bool
) -> None:
    database, clock = Database(None), Counting()
    source = Fixed(dropped(5))
    made = pipeline([source], [], database, clock=clock)

    def tick() -> tuple[Health, Mapping[str, Sequence[int]]]:
        report = made.tick()
        (skips,) = (v for v in report.verdicts if v.check == "skips")
        return skips.health, report.unacknowledged

    critical = (Health.CRITICAL, {FLOW.name: [1]})
    assert tick() == critical
    event = made.events.find(1)
    assert event is not None
    EventStore(database, {}).acknowledge(event)
    assert tick() == (Health.OK, {})
    source.seen = (dropped(records),)
    if is_restarted:
        made = pipeline([source], [], database, clock=clock)
    expected = critical if health is Health.CRITICAL else (health, {})
    assert [tick(), tick()] == [expected, expected]


def test_a_tick_that_begins_late_is_noted_for_three_ticks() -> None:
    machine = Machine()
    made = Pipeline(
        flows=[FLOW],
        limits={FLOW.name: {}},
        sources=[],
        sinks=[],
        verdicts=VerdictStore(Database(None)),
        clock=Clock(machine.wall, machine.monotonic),
        interval=timedelta(seconds=5),
        logger=structlog.get_logger(),
    )
    late = []
    for passed in (0, 5, 12, 5, 5, 5):
        machine.passed += passed
        machine.step = timedelta(seconds=machine.passed)
        report = made.tick()
        late.append(report.agent.tick_late.total_seconds())
    assert late == [0, 0, 7, 7, 7, 0]
    assert [c.part for c in report.causes] == []


def test_a_cause_is_in_the_report_and_says_no_secret() -> None:
    silent = ReachabilityObservation(
        flow=FLOW.name,
        at=NOON,
        source=ClusterAnswer(alias="summit", answered_at=NOON),
        target=ClusterAnswer(alias="ldf", answered_at=NOON, silent_since=NOON),
    )
    made = pipeline([Fixed(silent)], [])
    never_show(["No response"])
    report = made.tick()
    cause = report.cause_of(FLOW.name)
    assert cause is not None
    assert (cause.flow, cause.part) == (FLOW.name, "target")
    assert HIDDEN in cause.reason
    assert HIDDEN in cause.headline
    assert report.cause_of("other") is None


def test_findings_say_no_secret() -> None:
    failed = MirrorTask(
        connector="hunter22",
        role="source",
        number=0,
        state="FAILED",
        since=NOON,
        cause="hunter22 is refused",
    )
    seen = TasksObservation(flow=FLOW.name, at=NOON, tasks=(failed,))
    made = pipeline([Fixed(seen)], [])
    never_show(["hunter22"])
    (found,) = (v for v in made.tick().verdicts if v.check == "tasks")
    assert found.code == "tasks.failed"
    assert found.findings[0].subject == {"connector": HIDDEN, "task": 0}
    assert "hunter22" not in str(found.findings)


def test_a_cause_names_the_mirror_of_its_flow() -> None:
    heard = ClusterAnswer(alias="summit", answered_at=NOON)
    stopped = ReachabilityObservation(
        flow=FLOW.name,
        at=NOON,
        source=heard,
        target=replace(heard, alias="ldf"),
        compared_since=NOON - timedelta(seconds=35),
        compared_at=NOON,
        still_since=NOON - timedelta(seconds=30),
    )
    standing = StalledPartition(
        partition=0,
        position=7,
        origin="committed",
        status=LagStatus.STOPPED,
        stuck=timedelta(seconds=25),
    )
    topic = replace(
        a_topic("a", records=12, status=LagStatus.STOPPED),
        standing=(standing,),
    )
    made = pipeline([Fixed(stopped, a_lag([topic], NOON))], [])
    report = made.tick()
    cause = report.cause_of(FLOW.name)
    assert cause is not None
    assert "MirrorMaker" in cause.reason
    made = pipeline(
        [Fixed(stopped, a_lag([topic], NOON))], [], limits={MIRROR: "Mirus"}
    )
    cause = made.tick().cause_of(FLOW.name)
    assert cause is not None
    assert "Mirus" in cause.reason
    assert "MirrorMaker" not in cause.reason


def test_a_stepped_wall_clock_moves_labels_and_is_told_once() -> None:
    hour = timedelta(hours=1)
    moved: list[timedelta] = []
    machine = Machine()
    seen, memory = a_canary(NOON, partitions=[a_partition(0)]), Memory()
    made = Pipeline(
        flows=[FLOW],
        limits={FLOW.name: {}},
        sources=[Fixed(seen)],
        sinks=[memory],
        verdicts=VerdictStore(Database(None)),
        windows=lambda at: (a_window(at, hour),),
        move_windows=lambda step, _: moved.append(step),
        clock=Clock(machine.wall, machine.monotonic),
        logger=structlog.get_logger(),
    )
    with capture_logs() as log:
        first = made.tick()
        machine.step = -hour
        second, third = made.tick(), made.tick()
    assert (first.at, second.at, second.own_at) == (NOON, NOON - hour, NOON)
    assert second.observations == (shifted(seen, -hour),)
    assert [v.health for v in second.verdicts] == [
        v.health for v in first.verdicts
    ]
    assert {v.since for v in second.verdicts} == {NOON - hour}
    assert third.agent.clock_steps == 1
    assert moved == [-hour]
    assert [entry["event"] for entry in log] == [
        "Wall clock was stepped: ages and intervals do not follow it"
    ]


class Machine:
    """A machine whose wall clock is stepped while no time passes."""

    step = timedelta()
    passed = 0.0

    def wall(self) -> datetime:
        return NOON + self.step

    def monotonic(self) -> float:
        return self.passed


def test_closing_closes_every_sink() -> None:
    memory = Memory()
    pipeline([], [memory]).close()
    assert memory.closed
