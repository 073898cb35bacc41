"""Groups of a source are read once, whoever judges them."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
import structlog
from confluent_kafka import KafkaError, KafkaException
from structlog.testing import capture_logs

from mirrorwatch.domain.checkpoints import (
    CheckpointsObservation,
    CheckpointsState,
    judge_checkpoints,
)
from mirrorwatch.domain.failover.recovery import CopyFacts, RecoveryState
from mirrorwatch.domain.mirror_records import Checkpoint, Companion, Sync
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.domain.topics import IdentityNaming
from mirrorwatch.exceptions import InternalError, StateError
from mirrorwatch.isolation import Isolation
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch.sources.checkpoints import CheckpointsSource
from mirrorwatch.sources.failover import FailoverSource
from mirrorwatch.sources.groups import GroupReading, GroupsWorker
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.state import Database
from mirrorwatch.state.documents import DocumentStore, FirstSeenStore
from mirrorwatch.state.failover import GroupStore, SourceEndStore
from tests.support.builders import NOON
from tests.support.findings import find
from tests.support.surveys import an_unseen_view


class FakeGroups(Cluster):
    """A source that counts what it is asked."""

    def __init__(self) -> None:
        self.alias = "summit"
        self.committed: dict[str, dict[tuple[str, int], int]] = {}
        self.denied: set[str] = set()
        self.silent: set[str] = set()
        """Groups of a broker that does not list any."""
        self.up = True
        self.asked: list[str] = []
        self._error, self._failures = None, 0
        self._admin: Any = SimpleNamespace(poll=lambda _: 0)

    def call(self, question: Callable[..., Any], right: str) -> Any:
        return question(self)

    def list_consumer_groups(self, request_timeout: float) -> "Future[Any]":
        self.asked.append("list")
        valid = [
            SimpleNamespace(group_id=name)
            for name in self.committed
            if name not in self.denied | self.silent
        ]
        timed_out = KafkaError(KafkaError._TIMED_OUT)  # noqa: SLF001
        errors = [timed_out] if self.silent else []
        return self._answer(SimpleNamespace(valid=valid, errors=errors))

    def list_consumer_group_offsets(
        self, wanted: Sequence[Any], request_timeout: float
    ) -> "dict[str, Future[Any]]":
        (group,) = (w.group_id for w in wanted)
        self.asked.append(group)
        if group in self.denied:
            refused: Future[Any] = Future()
            error = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)
            refused.set_exception(KafkaException(error))
            return {group: refused}
        partitions = [
            SimpleNamespace(topic=topic, partition=p, offset=offset)
            for (topic, p), offset in self.committed.get(group, {}).items()
        ]
        return {
            group: self._answer(SimpleNamespace(topic_partitions=partitions))
        }

    def _answer(self, value: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        if self.up:
            future.set_result(value)
        else:
            error = KafkaError(KafkaError._TIMED_OUT)  # noqa: SLF001
            future.set_exception(KafkaException(error))
        return future


class Flow:
    """One flow of that source, and all that judges its groups."""

    def __init__(self, name: str, database: Database) -> None:
        self.positions = MirrorState()
        self.due = DocumentStore(
            database, name, "checkpoints", CheckpointsState
        )
        self.positions.note(
            Companion(
                name="c", role="checkpoints", interval=timedelta(seconds=60)
            )
        )
        self.positions.optional.catch_up("checkpoints", 0)
        self.checkpoints = CheckpointsSource(
            flow=name,
            source="summit",
            naming=IdentityNaming(alias="summit"),
            positions=self.positions,
            store=self.due,
        )
        self.store = GroupStore(database, name)
        self.failover = FailoverSource(
            flow=name,
            positions=self.positions,
            store=self.store,
            first_seen=FirstSeenStore(database, name, "failover"),
            copied=lambda _: {},
            copy_facts=CopyFacts,
            recovery=DocumentStore(database, name, "recovery", RecoveryState),
            source_ends=SourceEndStore(database, name),
        )
        self.failover.take(an_unseen_view(name, {"t": "t"}))

    def checkpoint(self, group: str, upstream: int = 1) -> None:
        self.positions.note(
            Checkpoint(
                group=group,
                topic="t",
                partition=0,
                upstream=upstream,
                downstream=upstream,
                written_at=NOON,
            )
        )

    def seen(self) -> CheckpointsObservation:
        (seen,) = self.checkpoints.observe(NOON)
        return seen


class World:
    def __init__(self) -> None:
        self.source = FakeGroups()
        self.database = Database(None)
        self.flows = [Flow(name, self.database) for name in ("f", "g")]
        self.now = NOON
        self.worker = GroupsWorker(
            source=self.source,
            listeners=[
                reader
                for flow in self.flows
                for reader in (flow.checkpoints, flow.failover)
            ],
            clock=lambda: self.now,
        )

    def verdict(self) -> Verdict:
        return judge_checkpoints("f", self.flows[0].seen(), self.now)


@pytest.fixture
def world() -> World:
    return World()


def test_a_round_asks_for_each_group_once(world: World) -> None:
    # Two flows of this source, with a check and a store each. Each of the
    # four asked by itself before: 2 lists and 6 offsets in 15 s, and 4
    # offsets in 20 s.
    world.source.committed = {
        name: {("t", 0): 5} for name in ("a", "b", "idle")
    }
    for flow in world.flows:
        flow.checkpoint("a")
        flow.checkpoint("b")
    world.worker.step()
    assert sorted(world.source.asked) == ["a", "b", "idle", "list"]
    for flow in world.flows:
        assert flow.seen().groups == 2
        assert set(flow.store.load()) == {"a", "b", "idle"}


def test_groups_that_may_not_be_described_turn_the_check_off(
    world: World,
) -> None:
    world.source.committed = {"a": {("t", 0): 5}, "b": {("t", 0): 6}}
    world.source.denied = {"a", "b"}
    world.flows[0].checkpoint("a")
    world.flows[0].checkpoint("b")
    world.worker.step()
    verdict = world.verdict()
    assert verdict.health is Health.OFF
    assert verdict.code == "checkpoints.off"
    # Of one of them alone the check goes without it.
    world.source.denied = {"b"}
    world.worker.step()
    verdict = world.verdict()
    assert verdict.health is Health.OK
    find(verdict, "checkpoints.ok", groups=1, groups_denied=1)
    # The store goes without it, and has its checkpoint.
    kept = world.flows[0].store.load()
    assert kept["a"].offsets[0].committed == 5
    assert kept["b"].offsets[0].committed is None
    assert kept["b"].offsets[0].upstream == 1


def test_a_source_that_does_not_answer_makes_the_check_unknown(
    world: World,
) -> None:
    world.source.committed = {"a": {("t", 0): 5}}
    world.flows[0].checkpoint("a")
    world.worker.step()
    assert world.verdict().health is Health.OK
    world.source.up = False
    world.now += timedelta(seconds=15)
    world.worker.step()
    assert world.verdict().health is Health.UNKNOWN
    assert world.flows[0].store.load()["a"].read_at == NOON
    world.source.up = True
    world.worker.step()
    assert world.verdict().health is Health.OK


def test_checkpoints_that_were_read_after_the_groups_wait_for_the_next_round(
    world: World,
) -> None:
    flow = world.flows[0]
    flow.checkpoint("a")
    flow.checkpoints.take_groups(GroupReading(at=NOON))
    assert world.verdict().health is Health.UNKNOWN
    world.worker.step()
    assert world.verdict().health is Health.OFF  # it was deleted


def test_more_groups_than_are_read_in_a_round_are_said(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mirrorwatch.sources.groups.MOST", 2)
    for name in ("a", "b", "c"):
        world.source.committed[name] = {("t", 0): 5}
        world.flows[0].checkpoint(name)
    world.worker.step()
    assert world.flows[0].seen().groups == 2
    assert world.flows[0].seen().unasked == 1


def test_a_source_that_was_silent_gives_checkpoints_time(
    world: World,
) -> None:
    flow = world.flows[0]
    flow.checkpoint("a", upstream=1)
    flow.positions.note(
        Sync(topic="t", partition=0, upstream=4, downstream=4, written_at=NOON)
    )

    def read(minute: float, committed: int) -> Health:
        world.source.committed = {"a": {("t", 0): committed}}
        world.now = NOON + timedelta(minutes=minute)
        world.worker.step()
        return world.verdict().health

    assert read(0, 5) is Health.OK
    world.source.up = False
    assert read(1, 5) is Health.UNKNOWN
    assert read(9, 5) is Health.UNKNOWN
    # The mirror has not reached it either: its next checkpoint is due soon.
    world.source.up = True
    assert read(10, 6) is Health.OK
    assert read(13, 7) is Health.OK
    assert read(15, 8) is Health.WARNING
    # What was stale before is so after.
    world.source.up = False
    assert read(16, 8) is Health.UNKNOWN
    world.source.up = True
    assert read(17, 9) is Health.WARNING


def test_checkpoints_of_another_flow_of_the_pair_are_none_of_it(
    world: World,
) -> None:
    flow = world.flows[0]
    flow.checkpoint("a", upstream=1)
    sync = Sync(
        topic="t", partition=0, upstream=4, downstream=4, written_at=NOON
    )
    flow.positions.note(sync)

    def read(topic: str) -> Verdict:
        flow.checkpoints.take(an_unseen_view("f", {topic: topic}))
        for minute in range(6):
            world.source.committed = {"a": {("t", 0): 5 + minute}}
            world.now = NOON + timedelta(minutes=minute)
            world.worker.step()
        return world.verdict()

    assert read("t").health is Health.WARNING
    found = read("u")
    assert found.health is Health.OFF
    assert found.code == "checkpoints.off"


def test_checkpoints_that_are_held_to_nothing_are_not_current(
    world: World,
) -> None:
    """They are of a topic that the group does not read at the source."""
    world.flows[0].checkpoint("a")
    world.source.committed = {"a": {("u", 0): 5}}
    world.worker.step()
    assert world.verdict().health is Health.OFF
    world.source.committed["a"]["t", 0] = 5
    world.worker.step()
    assert world.verdict().health is Health.OK


def test_a_mirror_that_nobody_knows_makes_the_check_unknown() -> None:
    flow = Flow("f", Database(None))
    for positions in (flow.positions, MirrorState()):
        positions.fail("mm2-configs", "The configs topic does not exist")
        positions.optional.miss("checkpoints")
        source = CheckpointsSource(
            flow="f",
            source="summit",
            naming=IdentityNaming(alias="summit"),
            positions=positions,
            store=flow.due,
        )
        source.take_groups(GroupReading(at=NOON))
        (seen,) = source.observe(NOON)
        verdict = judge_checkpoints("f", seen, NOON)
        # A connector that was seen before is still known.
        known = positions is flow.positions
        assert verdict.health is (Health.OFF if known else Health.UNKNOWN)


def test_a_checkpoints_topic_that_is_missing_is_reported(
    world: World,
) -> None:
    flow = world.flows[0]
    flow.positions.optional.miss("checkpoints")

    def look(minute: float) -> Verdict:
        world.now = NOON + timedelta(minutes=minute)
        world.worker.step()
        return world.verdict()

    # A connector that has just been started is about to create it.
    assert [look(minute).health for minute in range(5)] == [Health.OFF] * 5
    found = look(5)
    assert found.health is Health.WARNING
    find(found, "checkpoints.topic-missing", seconds=300)
    # A restart of the agent takes nothing of it back.
    world.flows[0] = restarted = Flow("f", world.database)
    restarted.positions.optional.miss("checkpoints")
    restarted.checkpoints.take_groups(GroupReading(at=world.now))
    find(world.verdict(), "checkpoints.topic-missing", seconds=300)
    restarted.positions.optional.catch_up("checkpoints", 0)
    restarted.positions.optional.fail("checkpoints", None)
    restarted.checkpoints.take_groups(GroupReading(at=world.now))
    assert world.verdict().health is Health.OFF
    assert world.verdict().code == "checkpoints.off"


def test_a_stale_checkpoint_is_stale_after_a_restart(world: World) -> None:
    def look(flow: Flow, minute: int) -> Verdict:
        flow.positions.note(
            Sync(
                topic="t",
                partition=0,
                upstream=150,
                downstream=150,
                written_at=NOON,
            )
        )
        flow.checkpoint("a", upstream=100)
        at = NOON + timedelta(minutes=minute)
        offsets = {("a", "t", 0): 200 + minute}
        flow.checkpoints.take_groups(
            GroupReading(at=at, asked={"a"}, offsets=offsets)
        )
        return judge_checkpoints("f", flow.seen(), at)

    for minute in range(5):
        assert look(world.flows[0], minute).health is Health.OK
    # Each restart of the agent put it off by four minutes.
    for minute in range(5, 8):
        found = look(Flow("f", world.database), minute)
        assert found.health is Health.WARNING
    find(found, "checkpoints.overdue", checkpoints=1, seconds=420)


def test_topics_that_are_never_read_to_their_ends_make_the_check_unknown(
    world: World,
) -> None:
    world.source.committed = {"a": {("t", 0): 5}}
    world.flows[0].checkpoint("a")
    world.worker.step()
    positions = world.flows[0].positions
    for minute, health in (
        (1, Health.OK),
        (5, Health.OK),
        (7, Health.UNKNOWN),
    ):
        positions.catch_up("mm2-offsets.summit.internal", 1)
        world.now = NOON + timedelta(minutes=minute)
        world.worker.step()
        assert world.verdict().health is health
    assert world.verdict().code == "checkpoints.unreadable"
    positions.catch_up("mm2-offsets.summit.internal", 0)
    world.worker.step()
    assert world.verdict().health is Health.OK


def test_a_store_that_fails_keeps_nobody_from_learning(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StateError("full")

    monkeypatch.setattr(world.flows[0].store, "save", fail)
    world.source.committed = {"a": {("t", 0): 5}}
    with pytest.raises(StateError):
        world.worker.step()
    assert set(world.flows[1].store.load()) == {"a"}


def test_who_crashes_keeps_nobody_from_learning(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolation = Isolation(structlog.get_logger())
    world.worker = GroupsWorker(
        source=world.source,
        listeners=[flow.failover for flow in world.flows],
        clock=lambda: world.now,
        guard=isolation.run,
    )

    def crash(*_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(world.flows[0].store, "save", crash)
    world.source.committed = {"a": {("t", 0): 5}}
    with capture_logs(), pytest.raises(InternalError):
        world.worker.step()
    assert set(world.flows[1].store.load()) == {"a"}
    assert isolation.failing.keys() == {"reading failover f"}
