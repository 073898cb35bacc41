"""Consumer groups in simulated worlds: a clean one, and one fault of each."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from mirrorwatch.domain.failover.check import FailoverObservation
from mirrorwatch.domain.failover.translation import Start
from mirrorwatch.domain.report import Health, Report
from tests.simulation.episodes import Step, do
from tests.simulation.groups import (
    CheckpointSettings,
    Groups,
    SimReader,
    SyncStore,
)
from tests.simulation.groups_judge import GroupsJudge, cost_of
from tests.simulation.judge import Judge, find_fact
from tests.simulation.mirrormaker import MirrorSettings
from tests.simulation.scenarios import (
    MINUTE,
    codes,
    health,
    restart,
)
from tests.simulation.world import World

pytestmark = pytest.mark.slow

FLOW = {
    "canary": {"enabled": False},
    "readers": {"groups": ["sink"]},
}
CHECKS = ("failover", "checkpoints", "readers")
OK, UNKNOWN = Health.OK, Health.UNKNOWN
WARNING, CRITICAL = Health.WARNING, Health.CRITICAL


@dataclass
class Run:
    """A world with a group at each side, and who judges it."""

    world: World
    groups: Groups
    judge: GroupsJudge
    report: Report | None = None

    def take(self, report: Report) -> None:
        self.report = report
        self.judge.take(report)

    def change(self, minutes: float = 0.0) -> None:
        """Note that something is done, and let time pass."""
        self.judge.base.calm_since = self.world.schedule.elapsed
        self.world.run(minutes * MINUTE)

    def do(self, what: str, topic: str = "a", amount: float = 0.0) -> None:
        do(self.world, Step(0, what, topic, 0, amount))
        self.judge.base.steps |= {what}
        self.change()

    @property
    def app(self) -> SimReader:
        return self.groups.readers["app"]

    @property
    def sink(self) -> SimReader:
        return self.groups.sinks["sink"]

    def failover(self) -> FailoverObservation:
        assert self.report is not None
        found = find_fact(self.report, FailoverObservation)
        assert found is not None
        return found

    def start(self, topic: str = "a", partition: int = 0) -> Start:
        """Return where the group at the source would start."""
        (found,) = (
            each.start
            for each in self.failover().starts
            if (each.start.place.topic, each.start.place.partition)
            == (topic, partition)
        )
        return found

    def expect(self, **healths: Health) -> None:
        for check in CHECKS:
            wanted = healths.get(check, OK)
            assert health(self.world, check) is wanted, self.world.describe()


@contextmanager
def running(*, emits: bool = True, **settings: Any) -> Iterator[Run]:
    """A world in which all is well."""
    mirror = MirrorSettings(**settings)
    with World(1, mirror=mirror, flow=FLOW, interval=15) as world:
        groups = Groups(world)
        if emits:
            groups.emit(CheckpointSettings(refresh=60.0))
        for topic in ("a", "b"):
            world.source.create(topic, 2)
            world.traffic(topic, per_second=2)
        groups.read("app", ["a", "b"])
        groups.sink("sink", ["a"])
        world.run(10)
        world.mirror.start()
        world.agent.start()
        world.run(5 * MINUTE)
        run = Run(world, groups, GroupsJudge(world, groups, Judge(world, 15)))
        world.agent.on_report = run.take
        run.change(1)
        run.expect(checkpoints=OK if emits else Health.OFF)
        yield run


def test_a_clean_world() -> None:
    with running() as run:
        run.change(30)
        run.expect()
        said = {s.check for s in run.world.agent.sayings if s.at > 6 * MINUTE}
        assert not said & set(CHECKS)


def test_a_start_is_what_both_logs_say() -> None:
    with running() as run:
        run.app.stop()
        run.change(3)
        place, chosen = run.start().place, run.start().chosen
        assert chosen is not None
        assert chosen.exact
        assert place.committed is not None
        at, world = chosen.offset, run.world
        assert cost_of(world, ("a", 0), place.committed, at) == (0, 0)
        assert cost_of(world, ("a", 0), place.committed, at + 3).missed == 3
        assert cost_of(world, ("a", 0), place.committed, at - 3).repeated == 3


def test_without_checkpoints_syncs_give_starts() -> None:
    with running(emits=False) as run:
        run.change(15)
        run.expect(checkpoints=Health.OFF)


def test_without_syncs_there_is_no_start() -> None:
    with running(emits=False, emits_syncs=False) as run:
        run.change(15)
        run.expect(checkpoints=Health.OFF, failover=CRITICAL)
        assert "failover.no-start" in codes(run.world, "failover")


def test_a_failed_checkpoint_task_leaves_checkpoints_stale() -> None:
    with running() as run:
        assert run.groups.checkpoints is not None
        run.groups.checkpoints.fail()
        run.change(10)
        run.expect(checkpoints=WARNING)
        run.groups.checkpoints.restart()
        run.change(5)
        run.expect()


def test_a_group_that_stops_has_a_start() -> None:
    with running() as run:
        run.app.stop()
        run.change(20)
        run.expect()


@pytest.mark.parametrize("by", [-150, 10_000])
def test_a_group_that_is_reset_starts_there(by: int) -> None:
    with running() as run:
        run.app.stop()
        run.change(5)
        before = run.app.offsets["a", 0]
        run.app.reset(by)
        run.change(5)
        moved = run.app.offsets["a", 0] - before
        assert moved
        place = run.start().place
        assert place.committed == before + moved
        run.expect()


def test_a_group_that_is_deleted_has_no_start() -> None:
    with running() as run:
        run.app.stop()
        run.change(5)
        run.app.delete()
        run.change(5)
        assert not run.failover().starts
        run.expect(failover=Health.OFF, checkpoints=Health.OFF)
        run.app.start()
        run.change(5)
        run.expect()


def test_a_sink_that_stops_is_told() -> None:
    with running() as run:
        run.sink.stop()
        run.change(10)
        run.expect(readers=CRITICAL)
        run.sink.start()
        run.change(3)
        run.expect()


def test_a_sink_that_is_deleted_before_it_read_all_is_told() -> None:
    with running() as run:
        run.sink.stop()
        run.change(2)
        run.sink.delete()
        run.change(5)
        run.expect(readers=WARNING)
        assert "readers.offsets-lost" in codes(run.world, "readers")
        run.sink.start()
        run.change(3)
        run.expect()


@pytest.mark.parametrize("how", ["is cut", "hangs"])
def test_while_the_source_is_away_groups_are_unknown(how: str) -> None:
    with running() as run:
        run.do(f"source {how}")
        run.change(10)
        run.expect(failover=UNKNOWN, checkpoints=UNKNOWN)
        run.do("source is back")
        run.change(5)
        run.expect()


@pytest.mark.parametrize("how", ["is cut", "hangs"])
def test_while_the_target_is_away_all_is_unknown(how: str) -> None:
    with running() as run:
        run.do(f"target {how}")
        run.change(10)
        run.expect(failover=UNKNOWN, checkpoints=UNKNOWN, readers=UNKNOWN)
        run.do("target is back")
        run.change(5)
        run.expect()


def test_while_the_mirror_stands_starts_hold() -> None:
    with running() as run:
        run.do("mirror dies")
        run.change(15)
        assert health(run.world, "failover") in {OK, WARNING}
        run.do("mirror starts")
        run.change(15)
        run.expect()


def test_an_agent_that_restarts_knows_the_same() -> None:
    with running() as run:
        restart(run.world)
        run.change(3)
        run.expect()


@pytest.mark.parametrize("seconds", [-3600.0, 86_400.0])
def test_a_clock_that_is_stepped_changes_nothing(seconds: float) -> None:
    with running() as run:
        run.do("clock steps", amount=seconds)
        run.change(10)
        run.expect()


def test_a_recreated_source_topic_is_read_from_its_start() -> None:
    with running() as run:
        run.do("source topic is deleted")
        run.change(1)
        run.do("source topic is back")
        run.change(15)
        run.expect()


def test_checkpoints_of_a_recreated_target_topic_are_not_believed() -> None:
    with running() as run:
        run.do("target topic is deleted")
        run.do("target topic is back")
        # MirrorMaker holds each to be newer than any that it could emit,
        # until as much was copied as before.
        run.change(5)
        chosen = run.start().chosen
        assert chosen is not None
        assert chosen.by == "sync"
        run.change(15)
        run.expect()


def test_a_checkpoint_of_a_former_target_topic_is_no_start() -> None:
    with running() as run:
        # It rests, so MirrorMaker says nothing new of it.
        run.app.stop()
        run.change(3)
        run.do("syncs fail")
        run.do("target topic is deleted")
        run.do("target topic is back")
        run.change(15)
        run.do("syncs are written")
        run.change(2)
        found = run.world.target.log("a", 0)
        place = run.start().place
        assert run.groups.checkpoints is not None
        newest = run.groups.checkpoints.newest["app", "a", 0]
        # As many were copied again, so that it points at one of them.
        assert found is not None
        assert newest.downstream < found.end
        assert place.committed is not None
        cost = cost_of(run.world, ("a", 0), place.committed, newest.downstream)
        assert cost.missed > 500
        assert run.start().chosen is None
        run.expect(failover=WARNING)


def test_what_a_mirror_left_behind_is_no_recovery_point() -> None:
    with running() as run:
        run.do("mirror stops")
        run.do("source topic is deleted")
        run.change(1)
        run.do("source topic is back")
        run.do("burst", amount=5000)
        run.change(1)
        run.do("mirror starts")
        run.change(20)
        point = run.failover().recovery
        assert point is not None
        lost = len(run.world.oracle.lost_by()["a", 0])
        assert lost > 500
        assert point.records >= lost
        assert point.complete_until is not None
        assert point.complete_until < run.world.schedule.now()


def test_the_task_forgets_syncs_as_kafka_does() -> None:
    store = SyncStore((0, 0))
    for upstream in range(100, 100_001, 100):
        store.update((upstream, upstream), alone=False)
    # The further a group is behind, the coarser it is translated: by no more
    # than it is behind.
    for behind in (0, 50, 99, 1000, 5000, 50_000):
        found = store.translate(100_000 - behind)
        assert found is not None
        assert 0 <= 100_000 - behind - found <= max(100, 2 * behind)
    store.update((50, 20), alone=False)
    assert store.translate(49) is None
    assert store.translate(50) == 20
    assert store.translate(99_999) == 21
