"""Each source, check, sink and stored row fails alone."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
import structlog
from structlog.testing import capture_logs

from mirrorwatch.clock import Clock
from mirrorwatch.config import Config
from mirrorwatch.domain.checks import CHECKS
from mirrorwatch.domain.copies.journal import ForeignRecords
from mirrorwatch.domain.metrics import Sample
from mirrorwatch.domain.report import (
    Flow,
    Health,
    Observation,
    Report,
    Verdict,
)
from mirrorwatch.domain.samples import INTERNAL_ERRORS, samples
from mirrorwatch.domain.tasks.metrics import TASKS
from mirrorwatch.exceptions import InternalError
from mirrorwatch.factory import build_agent
from mirrorwatch.isolation import PACKAGE, Isolation
from mirrorwatch.pipeline import FEEDS, Pipeline
from mirrorwatch.ports import Sink, Source
from mirrorwatch.state import Database
from mirrorwatch.state.documents import VerdictStore, to_json
from mirrorwatch.state.history import History
from mirrorwatch.state.maintenance import MaintenanceStore
from mirrorwatch.state.queue import Batch, DurableQueue
from tests.support.builders import (
    FLOW,
    NOON,
    a_canary,
    a_partition,
    a_report,
    a_verdict,
)
from tests.support.clock import clock_of
from tests.support.http import HTTP
from tests.support.reports import a_lag, some_skips, some_topic_lags

pytestmark = pytest.mark.slow


HOUR = timedelta(hours=1)

SOURCES = PACKAGE / "sources"

OF_NO_CHECK = {"reachability"}


class Facts:
    """A source that crashes as long as it is told to."""

    def __init__(self, name: str, *seen: Observation) -> None:
        self.name = name
        self.seen = seen
        self.error: Exception | None = None

    def observe(self, now: datetime) -> Sequence[Observation]:
        if self.error is not None:
            raise self.error
        return self.seen


class Kept:
    """A sink that crashes as long as it is told to."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.error: Exception | None = None
        self.reports: list[Report] = []

    def publish(self, report: Report) -> None:
        if self.error is not None:
            raise self.error
        self.reports.append(report)

    def close(self) -> None:
        """Nothing is held."""


def pipeline(
    sources: Sequence[Source] = (),
    sinks: Sequence[Sink] = (),
    limits: dict[str, object] | None = None,
    database: Database | None = None,
) -> Pipeline:
    return Pipeline(
        flows=[FLOW],
        limits={FLOW.name: limits or {}},
        sources=sources,
        sinks=sinks,
        verdicts=VerdictStore(database or Database(None)),
        clock=clock(),
        logger=structlog.get_logger(),
    )


def clock() -> Clock:
    return clock_of(lambda: NOON)


def verdict(report: Report, check: str) -> Verdict:
    return next(v for v in report.verdicts if v.check == check)


def errors(report: Report) -> dict[tuple[str, ...], object]:
    return {
        s.labels: s.value
        for s in samples(report)
        if s.metric is INTERNAL_ERRORS and s.value
    }


def test_a_source_that_crashes_is_its_own_checks_trouble() -> None:
    canary = Facts(
        f"canary {FLOW.name}", a_canary(NOON, partitions=[a_partition(0)])
    )
    jmx = Facts(f"jmx {FLOW.name}")
    made = pipeline([jmx, canary])
    before = made.tick()
    jmx.error = OverflowError("9.2e18")
    with capture_logs() as log:
        report = [made.tick() for _ in range(3)][-1]
    found = verdict(report, "bottleneck")
    assert found.health is Health.UNKNOWN
    assert found.reason.startswith(
        f"Internal error in source jmx {FLOW.name}: OverflowError at "
    )
    assert "9.2e18" not in found.reason
    assert report.agent.sources_up == {jmx.name: False, canary.name: True}
    for check in CHECKS.keys() - {"bottleneck"}:
        assert verdict(report, check) == verdict(before, check)
    assert [(e["event"], e["work"]) for e in log] == [
        ("Work crashed", f"source {jmx.name}")
    ]
    assert errors(report) == {(f"source {jmx.name}",): 3}
    jmx.error = None
    after = made.tick()
    assert after.verdicts == before.verdicts
    assert errors(after) == {(f"source {jmx.name}",): 3}


def test_a_check_that_crashes_is_one_check_s_trouble(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check = "skips"

    def crash(*_: object, **__: object) -> Verdict:
        raise OverflowError

    canary = a_canary(NOON, partitions=[a_partition(0)])
    lag = a_lag(some_topic_lags(), NOON)
    sources = [Facts("x", canary, lag, some_skips(NOON))]
    usual = pipeline(sources).tick()
    monkeypatch.setitem(CHECKS, check, replace(CHECKS[check], judge=crash))
    report = pipeline(sources).tick()
    found = verdict(report, check)
    assert found.health is Health.UNKNOWN
    assert f"check {check} {FLOW.name}: OverflowError at " in found.reason
    for other in CHECKS.keys() - {check}:
        assert verdict(report, other) == verdict(usual, other)
    assert errors(report) == {(f"check {check} {FLOW.name}",): 1}


def test_a_sink_that_crashes_is_down_and_the_others_get_every_report() -> None:
    broken, other = Kept("influxdb"), Kept("log")
    broken.error = RecursionError()
    made = pipeline(sinks=[broken, other])
    with capture_logs() as log:
        reports = [made.tick() for _ in range(2)]
    assert other.reports == reports
    assert reports[1].agent.sinks_up == {"influxdb": False, "log": True}
    assert [e["work"] for e in log] == ["sink influxdb"]
    broken.error = None
    made.tick()
    assert made.tick().agent.sinks_up["influxdb"]


CONFIG = {
    "clusters": {
        alias: {"kafka": {"bootstrap.servers": "127.0.0.1:1"}}
        for alias in ("summit", "ldf")
    },
    "flows": [{"source": "summit", "target": "ldf"}],
    "sinks": {"influxdb": {"url": "http://127.0.0.1:1", "database": "m"}},
    "web": {"listen": "127.0.0.1:0"},
}


def served_and_written() -> tuple[str, str]:
    """Return /metrics and the points that wait, of a whole agent."""
    database = Database(None)
    agent = build_agent(
        Config.from_mapping(CONFIG),
        database=database,
        clock=clock(),
        logger=structlog.get_logger(),
    )
    assert agent.server is not None
    with closing(database), closing(agent.senders[0]):
        agent.server.start()
        try:
            for _ in range(3):
                report = agent.pipeline.tick()
                answer = HTTP.get(f"{agent.server.url}/metrics")
        finally:
            agent.server.stop()
        assert answer.status_code == 200
        assert set(report.agent.sinks_up) >= {"prometheus", "log"}
        assert all(report.agent.sinks_up.values())
        assert not agent.pipeline.isolation.failing.keys() - {METRICS_OF_TASKS}
        found = DurableQueue(database, "influxdb").oldest(10**6)
    assert found is not None
    return answer.text, found[1].body.decode()


METRICS_OF_TASKS = f"metrics tasks {FLOW.name}"


def one_task(connector: str, tasks: float) -> Sample:
    return Sample(TASKS, (FLOW.name, connector, "running"), tasks)


def samples_that_raise(seen: object, _: datetime) -> Iterator[Sample]:
    yield one_task("c", 1)
    raise KeyError(str(seen))


UNUSABLE_SAMPLES = {
    "raises": samples_that_raise,
    "too large": lambda *_: iter([one_task("c", 10**400)]),
    "half a character": lambda *_: iter([one_task("\ud83d", 1)]),
}


@pytest.mark.parametrize(
    "make", UNUSABLE_SAMPLES.values(), ids=UNUSABLE_SAMPLES
)
def test_metrics_that_cannot_be_made_are_missing_alone(
    make: Callable[..., Iterator[Sample]], monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = replace(CHECKS["tasks"], samples=make)
    monkeypatch.setitem(CHECKS, "tasks", bad)
    with capture_logs() as log:
        served, written = served_and_written()
    assert "\nmirrorwatch_tasks{" not in served
    assert "\ntasks," not in written
    # All else is there, and the crash is counted.
    assert 'mirrorwatch_check_health{check="tasks",' in served
    assert "\nhealth,check=tasks," in written
    assert "\nmirrorwatch_tick_seconds" in served
    counted = f'internal_errors_total{{part="{METRICS_OF_TASKS}"}}'
    assert f"\nmirrorwatch_{counted}" in served
    assert "part=metrics\\ tasks\\ " in written
    crashes = [e for e in log if e["event"] == "Work crashed"]
    assert [e["work"] for e in crashes] == [METRICS_OF_TASKS]


def test_metrics_that_can_be_made_are_all_there_and_nothing_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good = replace(
        CHECKS["tasks"], samples=lambda *_: iter([one_task("c", 1)])
    )
    monkeypatch.setitem(CHECKS, "tasks", good)
    with capture_logs() as log:
        served, written = served_and_written()
    assert "\nmirrorwatch_tasks{" in served
    assert "\ntasks," in written
    assert 'part="metrics' not in served
    assert "part=metrics" not in written
    assert "Work crashed" not in [e["event"] for e in log]


def test_what_is_known_to_be_wrong_stays_so_while_a_part_crashes() -> None:
    others = (("telemetry", ForeignRecords(records=3, at=NOON)),)
    skips = Facts(
        f"skips {FLOW.name}", replace(some_skips(NOON), foreign=others)
    )
    lag = Facts(f"lag {FLOW.name}", a_lag(some_topic_lags(), NOON))
    made = pipeline([skips, lag])
    before = made.tick()
    bad = {v.check for v in before.verdicts if v.health > Health.UNKNOWN}
    assert "skips" in bad

    def crash() -> None:
        raise KeyError("x")

    with capture_logs(), pytest.raises(InternalError):
        made.isolation.run("tail ldf", crash)
    after = made.tick()
    for check in bad:
        assert verdict(after, check) == verdict(before, check)
    for check in ("position", "tasks"):
        assert "Internal error in tail ldf: KeyError at" in (
            verdict(after, check).reason
        )
    assert verdict(after, "canary") == verdict(before, "canary")


@pytest.mark.parametrize(
    ("part", "check"),
    [
        ("mirror group {flow}", "tasks"),
        ("mirror zookeeper {flow}", "lag"),
        ("tail {source}", "position"),
        ("readers {target}", "readers"),
        ("survey", "topics"),
        ("view {flow}", "lag"),
        ("reading failover {flow}", "failover"),
    ],
)
def test_a_worker_that_crashes_leaves_no_check_ok(
    part: str, check: str
) -> None:
    made = pipeline()
    name = part.format(flow=FLOW.name, source=FLOW.source, target=FLOW.target)

    def crash() -> None:
        raise KeyError("x")

    with capture_logs(), pytest.raises(InternalError):
        made.isolation.run(name, crash)
    found = verdict(made.tick(), check)
    assert found.health is Health.UNKNOWN
    assert found.reason.startswith(f"Internal error in {name}: KeyError")


def test_every_worker_is_known_to_who_names_what_crashed() -> None:
    named = {
        kind
        for file in SOURCES.rglob("*.py")
        for kind in re.findall(
            r'self\.name = f"((?:mirror )?\w+) {', file.read_text()
        )
    }
    assert named - FEEDS.keys() - CHECKS.keys() == OF_NO_CHECK


def test_a_worker_of_another_flow_s_cluster_is_none_of_its_concern() -> None:
    # One of them has the name of the other's cluster.
    other = Flow(name="summit", source="base", target="usdf")
    made = Pipeline(
        flows=[FLOW, other],
        limits={FLOW.name: {}, other.name: {}},
        sources=[],
        sinks=[],
        verdicts=VerdictStore(Database(None)),
        clock=clock(),
        logger=structlog.get_logger(),
    )

    def crash() -> None:
        raise KeyError("x")

    def blamed(part: str) -> set[str]:
        with capture_logs(), pytest.raises(InternalError):
            made.isolation.run(part, crash)
        report = made.tick()
        made.isolation.run(part, lambda: None)
        return {
            v.flow for v in report.verdicts if part in v.reason.split(":")[0]
        }

    assert blamed("tail base") == {"summit"}
    assert blamed("tail summit") == {FLOW.name, "summit"}
    assert blamed("survey") == {FLOW.name, "summit"}


def test_a_crash_says_where_and_not_what() -> None:
    isolation = Isolation(structlog.get_logger())
    with capture_logs(), pytest.raises(InternalError) as told:
        isolation.run("part", lambda: to_json({1: object()}))
    said = str(told.value)
    assert said.startswith("Internal error in part: TypeError at state/")
    assert said.endswith(". Report it with the agent's log")
    assert isolation.failing.keys() == {"part"}
    assert isolation.run("part", lambda: 1) == 1
    assert isolation.failing == {}


def aside(database: Database) -> list[tuple[str, str]]:
    with database.transaction() as sql:
        return sql.execute("SELECT place, row FROM set_aside").fetchall()


BAD = ["{", '{"verdicts": 3}', '{"at": "2026-01-02"}', "[" * 10**5]


@pytest.mark.parametrize("body", BAD, ids=range(len(BAD)))
def test_bad_verdicts_are_set_aside_and_the_tick_goes_on(body: str) -> None:
    database = Database(None)
    VerdictStore(database).save([a_verdict()], NOON)
    with database.transaction() as sql:
        sql.execute("UPDATE documents SET body = ?", (body,))
    VerdictStore(database).resume(clock())
    made = pipeline(database=database)
    with capture_logs() as log:
        reports = [made.tick() for _ in range(3)]
    assert len(aside(database)) == 1
    assert [e["event"] for e in log] == [
        "Rows of the state file are undecodable and were set aside"
    ]
    assert errors(reports[-1]) == {("state documents",): 1}
    assert VerdictStore(database).newest() == NOON


@pytest.mark.parametrize("value", ["3000", "!"])
def test_bad_maintenance_is_set_aside(value: str) -> None:
    database = Database(None)
    store = MaintenanceStore(database)
    store.announce(["a"], NOON - HOUR, NOON + HOUR, "bad")
    with database.transaction() as sql:
        sql.execute(
            "UPDATE documents SET body = replace(body, ?, ?)",
            ((NOON + HOUR).isoformat(), value),
        )
    for _ in range(2):
        store.move(timedelta(seconds=1), NOON)
        assert store.in_force(NOON) == ()
    assert database.set_aside == {"documents": 1}
    assert "bad" in aside(database)[0][1]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("latencies", b"xyz"),
        ("late", "many"),
        ("health", 77),
        ("worst_us", ""),
    ],
)
def test_bad_history_is_set_aside(column: str, value: object) -> None:
    database = Database(None)
    history = History(database)
    seen = a_canary(NOON, partitions=[a_partition(0)])
    history.record(a_report(at=NOON, observations=[seen]))
    with database.transaction() as sql:
        sql.execute(
            f"UPDATE history_10s SET {column} = ?",  # noqa: S608
            (value,),
        )
    look: Callable[[], object] = lambda: history.summary(  # noqa: E731
        FLOW.name, NOON - HOUR, NOON + HOUR
    )
    look()
    look()
    history.record(a_report(at=NOON))
    assert database.set_aside == {"history_10s": 1}


def test_a_bad_batch_is_set_aside_counted_and_blocks_no_other() -> None:
    database = Database(None)
    queue = DurableQueue(database, "q")
    queue.append([Batch(b"one", 1), Batch(b"two\ntwo", 2), Batch(b"three", 1)])
    with database.transaction() as sql:
        sql.execute("UPDATE queue SET body = x'00' WHERE points = 2")
    taken = queue.oldest(100)
    assert taken is not None
    rows, batch = taken
    assert batch.body == b"one\nthree"
    assert (queue.points, queue.dropped_points) == (2, 2)
    queue.remove(rows)
    assert (queue.points, queue.oldest(100)) == (0, None)
    assert database.set_aside == {"queue": 1}
