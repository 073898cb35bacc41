"""Topics that were recreated, at the source or at the target.

The old topic has 100 records, all of them copied, unless a case says more.
"""

from collections.abc import Callable

import pytest

from mirrorwatch.domain.copies.pair import Beginning
from mirrorwatch.domain.position.model import ResetKind
from mirrorwatch.domain.report import Health

from .world import Log, World

PLACE = ("t", 0)

Steps = Callable[[World], None]


def unread(count: int) -> Steps:
    """Write records that are not copied."""

    def do(world: World) -> None:
        world.source["t"].ends[0] += count
        world.tick()

    return do


def recreate(end: int, *, id_: str = "s2") -> Steps:
    def do(world: World) -> None:
        world.source["t"] = Log(id_, {0: end})
        world.copied.pop(PLACE, None)
        world.tick()

    return do


def remove(world: World) -> None:
    del world.source["t"]
    world.tick()


def restart(world: World) -> None:
    world.restart()
    world.tick()


def begin(first: int, *, is_exact: bool = True, id_: str = "s2") -> Steps:
    """Let copies show where the mirror began."""

    def do(world: World) -> None:
        world.beginnings[PLACE] = Beginning(id_, first, is_exact)
        world.tick()

    return do


def commit(position: int) -> Steps:
    def do(world: World) -> None:
        world.commit(position)
        world.tick(2)

    return do


Numbers = tuple[Health, int, int | None, int | None, int | None]
"""Health; records left out, at risk and at most; of the old topic at most."""

BY_COPIES: dict[str, tuple[list[Steps], Numbers]] = {
    "outgrown": ([recreate(300)], (Health.CRITICAL, 0, 100, None, 0)),
    "shorter": ([recreate(30)], (Health.CRITICAL, 0, 0, None, 0)),
    "empty": ([recreate(0)], (Health.WARNING, 0, 0, None, 0)),
    "resumed": (
        [recreate(300), begin(100)],
        (Health.CRITICAL, 100, None, None, 0),
    ),
    "began anew": (
        [recreate(300), begin(0)],
        (Health.WARNING, 0, None, None, 0),
    ),
    "too long to read": (
        [recreate(300), begin(170, is_exact=False)],
        (Health.WARNING, 0, None, 170, 0),
    ),
    "copies of the old topic": (
        [recreate(300), begin(100, id_="s1")],
        (Health.CRITICAL, 0, 100, None, 0),
    ),
    "commit decides nothing": (
        [recreate(300), commit(250)],
        (Health.CRITICAL, 0, 100, None, 0),
    ),
    "unread": (
        [unread(20), recreate(30)],
        (Health.CRITICAL, 0, 0, None, 20),
    ),
    "unread over a restart": (
        [unread(20), restart, recreate(30)],
        (Health.CRITICAL, 0, 0, None, 20),
    ),
    "agent away": (
        [World.restart, recreate(30), unread(0)],
        (Health.CRITICAL, 0, 0, None, None),
    ),
    "twice": (
        [recreate(300), recreate(200, id_="s3")],
        (Health.CRITICAL, 0, 100, None, None),
    ),
    "twice and away between": (
        [recreate(300), remove, restart, recreate(200, id_="s3")],
        (Health.CRITICAL, 0, 100, None, None),
    ),
}


@pytest.mark.parametrize("name", BY_COPIES)
def test_a_topic_whose_copies_are_compared(name: str) -> None:
    steps, (health, left_out, at_risk, at_most, old) = BY_COPIES[name]
    world = World.settled(compares=True)
    for step in steps:
        step(world)
    found = world.find("recreated", topic="t")
    assert found.health is health
    numbers = found.numbers
    assert (
        numbers["records"],
        numbers.get("records_at_risk"),
        numbers.get("records_at_most"),
        numbers["old_records_at_most"],
    ) == (left_out, at_risk, at_most, old)


@pytest.mark.parametrize(
    ("position", "left_out"), [(40, 0), (100, 0), (250, 100), (999, None)]
)
def test_a_commit_decides_where_copies_are_not_compared(
    position: int, left_out: int | None
) -> None:
    world = World.settled()
    recreate(300)(world)
    commit(position)(world)
    reset = world.reset()
    assert (reset.settled is None) is (left_out is None)
    if left_out is not None:
        assert (reset.count, reset.harmless) == (left_out, not left_out)


def test_a_topic_that_is_gone_is_not_told() -> None:
    world = World.settled(compares=True)
    recreate(300)(world)
    remove(world)
    assert world.resets == ()
    assert world.verdict().evidence["open_resets"] == 0


def test_each_partition_has_its_own_range_and_lacking_ones_are_settled() -> (
    None
):
    world = World()
    world.source["t"].ends[1] = world.target["t"].ends[1] = 70
    world.commit(100)
    world.commit(70, partition=1)
    world.tick(2)
    world.source["t"].ends[1] = 75
    world.tick()
    recreate(300)(world)
    first, second = world.resets
    assert (first.partition, first.end, first.settled) == (0, 100, None)
    assert (second.partition, second.count, second.gone) == (1, 0, 5)
    assert second.settled is not None
    world.find("recreated", records_at_risk=100, old_records_at_most=5)


@pytest.mark.parametrize("unread", [0, 40])
def test_one_that_was_never_copied(unread: int) -> None:
    world = World()
    world.source["u"] = Log("u1", {0: unread})
    world.commit(100)
    world.tick(3)
    world.source["u"] = Log("u2", {0: 10})
    world.tick()
    assert [r.gone for r in world.resets] == ([40] if unread else [])


def test_new_topics_and_partitions_are_no_resets() -> None:
    world = World.settled()
    world.source["u"] = Log("u1", {0: 10})
    world.source["t"].ends[1] = 10
    world.tick(3)
    assert world.resets == ()


@pytest.mark.parametrize("away", [0, 2])
def test_one_recreated_at_the_target(away: int) -> None:
    world = World.settled()
    del world.target["t"]
    world.tick(away)
    assert world.resets == ()
    world.target["t"] = Log("t2", {0: 0})
    world.tick()
    assert world.reset().kind is ResetKind.TARGET_RECREATED
    assert world.verdict().health is Health.CRITICAL
    world.find("target-recreated", topic="t", partitions=1, offsets=100)
    world.restart()
    world.settle()
    assert world.seen.counts == {"t": 1}


def test_one_deleted_and_created_around_a_restart_has_no_number() -> None:
    world = World.settled()
    del world.target["t"]
    world.tick()
    world.restart()
    world.target["t"] = Log("t2", {0: 0})
    world.settle()
    world.find("target-recreated", partitions=1, offsets=None)


def test_one_recreated_at_both_sides_is_told_by_its_source() -> None:
    world = World.settled(compares=True)
    world.target["t"] = Log("t2", {0: 0})
    recreate(300)(world)
    assert world.reset().kind is ResetKind.SOURCE_RECREATED
