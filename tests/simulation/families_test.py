"""Mirrors of each family in simulated worlds: a clean one, and lossy ones."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mirrorwatch.domain.report import Health
from tests.simulation.episodes import Step, do
from tests.simulation.families import FAMILIES
from tests.simulation.mirrormaker import MirrorSettings
from tests.simulation.scenarios import codes, expired, health, reason, told
from tests.simulation.world import World

MINUTE = 60.0

pytestmark = pytest.mark.slow

OTHERS = [kind for kind in FAMILIES if kind != "mirrormaker2"]

KEPT = {"linked", "redpanda-migrator"}
"""Mirrors that keep the partition of a record."""

CHECKS = ("lag", "retention", "position", "skips", "topics", "tasks")


@contextmanager
def running(kind: str, **more: Any) -> Iterator[World]:
    """A world in which all is well, and whose producers rest."""
    # Mirus goes on at the log's end, if it is not told otherwise.
    more = {"earliest": kind == "mirus"} | more
    settings = MirrorSettings(
        emits_syncs=False, keeps_partitions=kind in KEPT, **more
    )
    with World(
        1,
        kind=kind,
        mirror=settings,
        flow={"canary": {"enabled": False}},
        interval=30,
    ) as world:
        world.source.create("a", 2)
        world.traffic("a", per_second=1)
        world.mirror.start()
        world.agent.start()
        world.run(3 * MINUTE)
        rest(world)
        yield world


def rest(world: World) -> None:
    """Let producers write nothing until both sides are compared."""
    world.quiet = True
    world.run(6 * MINUTE)
    world.quiet = False


def drop(world: World, count: int) -> None:
    """Let the mirror leave out its next records of a partition."""
    left = [count]

    def drops(name: str, partition: int, _: object) -> bool:
        del name
        if partition or not left[0]:
            return False
        left[0] -= 1
        return True

    world.mirror.drops = drops


def expire_unread(world: World, *, seen: bool = True) -> int:
    """Let records expire while the mirror is down; return how many."""
    world.mirror.stop()
    world.produce("a", 0, 100)
    world.run(2 * MINUTE)
    if not seen:
        world.agent.kill()
    before = world.oracle.lost()
    world.expire("a", 0, 30)
    if seen:
        world.run(8 * MINUTE)
    return world.oracle.lost() - before


@pytest.mark.parametrize("kind", OTHERS)
def test_a_clean_world_is_silent(kind: str) -> None:
    with running(kind) as world:
        world.run(10 * MINUTE)
        world.mirror.stop()
        world.run(20)
        world.mirror.start()
        world.agent.kill()
        world.run(20)
        world.agent.start()
        world.run(5 * MINUTE)
        rest(world)
        told = [s for s in world.agent.sayings if s.check in CHECKS]
        alarms = {Health.WARNING, Health.CRITICAL}
        assert [s for s in told if s.health in alarms] == []
        assert world.oracle.lost() == world.oracle.repeats == 0
        assert health(world, "lag") is Health.OK
        assert health(world, "skips") is Health.OFF


@pytest.mark.parametrize("kind", OTHERS)
def test_what_expires_unread_is_counted(kind: str) -> None:
    with running(kind) as world:
        lost = expire_unread(world)
        assert lost > 70
        assert health(world, "position") is Health.CRITICAL
        assert sum(expired(world)) == lost
        world.mirror.start()
        world.run(5 * MINUTE)
        assert world.oracle.lost() == lost
        assert sum(expired(world)) == lost


@pytest.mark.parametrize("aborts", [True, False])
def test_what_a_mirror_of_committed_records_leaves_is_no_lag(
    aborts: bool,
) -> None:
    # Nothing says that it reads so: its position stands for ever.
    with running("mirrormaker1", committed=True) as world:
        world.quiet = True
        world.run(3 * MINUTE)
        since = world.schedule.elapsed
        do(world, Step(since, "transaction begins", "a"))
        world.run(MINUTE)
        ends = "transaction aborts" if aborts else "transaction commits"
        do(world, Step(since, ends, "a"))
        world.run(20 * MINUTE)
        told = [s for s in world.agent.sayings if s.at > since]
        assert [s for s in told if s.health is Health.CRITICAL] == []
        assert health(world, "lag") is Health.OK, reason(world, "lag")


@pytest.mark.parametrize("kind", OTHERS)
def test_what_expires_unseen_is_not_ok(kind: str) -> None:
    with running(kind) as world:
        lost = expire_unread(world, seen=False)
        world.mirror.start()
        world.run(2 * MINUTE)
        world.agent.start()
        rest(world)
        assert lost > 70
        code = "position.unverifiable"
        assert told(world, code, number="records_at_most") == lost
        assert health(world, "position") is Health.WARNING


SILENT = ["mirrormaker1", "linked"]
"""Mirrors that do not say which topics they copy, one of each sort."""

OF_TOPICS = ("lag", "retention", "position", "skips", "topics", "configs")


def all_of(world: World) -> dict[str, Health | None]:
    found = {check: health(world, check) for check in OF_TOPICS}
    return {c: h for c, h in found.items() if h is not Health.OFF}


@pytest.mark.parametrize("kind", SILENT)
def test_of_a_topic_that_is_denied_nothing_is_known(kind: str) -> None:
    with running(kind) as world:
        world.source.denied.add("a")
        for _ in range(2):
            world.run(2 * MINUTE)
            for check, said in all_of(world).items():
                assert said is Health.UNKNOWN, check
                assert f"{check}.hidden-topics" in codes(world, check)
            world.agent.kill()
            world.run(5)
            world.agent.start()
        world.source.denied.clear()
        world.run(3 * MINUTE)
        rest(world)
        assert set(all_of(world).values()) == {Health.OK}, world.describe()


@pytest.mark.parametrize("kind", SILENT)
def test_a_topic_that_was_deleted_is_not_denied(kind: str) -> None:
    with running(kind) as world:
        world.source.create("b", 1)
        world.traffic("b", per_second=1)
        world.run(11 * MINUTE)
        since = world.schedule.elapsed
        world.source.delete("a")
        world.run(5 * MINUTE)
        later = [s for s in world.agent.sayings if s.at > since]
        said = {code for saying in later for code in saying.codes}
        assert not said & {f"{check}.hidden-topics" for check in OF_TOPICS}
        assert health(world, "topics") is Health.OK


@pytest.mark.parametrize("chosen", [True, False])
def test_a_topic_that_an_agent_never_saw_is_denied(chosen: bool) -> None:
    """By its name alone, it may be the target's own."""
    flow: dict[str, Any] = {"canary": {"enabled": False}}
    if chosen:
        flow["topics"] = {"include": ["[ab]"]}
    with World(1, kind="mirrormaker1", flow=flow, interval=30) as world:
        for topic in ("a", "b"):
            world.source.create(topic, 1)
            world.traffic(topic, per_second=1)
        world.mirror.start()
        world.run(3 * MINUTE)
        world.source.denied.add("a")
        world.agent.start()
        world.run(3 * MINUTE)
        expected = Health.UNKNOWN if chosen else Health.OK
        assert health(world, "topics") is expected, reason(world, "topics")


@pytest.mark.parametrize("kind", ["mirus", *SILENT])
def test_a_topic_that_the_mirror_may_not_read_has_stopped(kind: str) -> None:
    with running(kind) as world:
        world.source.create("b", 1)
        world.traffic("b", per_second=1)
        world.run(11 * MINUTE)
        world.source.denied_to_mirror.add("a")
        world.run(10 * MINUTE)
        assert health(world, "lag") is Health.CRITICAL
        assert told(world, "lag.stalled")
