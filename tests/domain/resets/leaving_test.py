"""Topics that go away while something of them is open."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.position.model import ResetKind
from mirrorwatch.domain.report import Health

from .world import Log, World


@pytest.fixture
def world() -> World:
    """Of its topic, 150 records expired unread; the mirror is down."""
    world = World.settled()
    world.source["t"] = Log("s1", {0: 500}, {0: 250})
    world.tick(2)
    return world


def test_what_expired_of_it_is_over_after_a_minute(world: World) -> None:
    world.source.pop("t")
    world.tick(5)
    assert world.reset().settled is None
    world.tick(10)
    assert world.verdict().health is Health.CRITICAL
    assert "no longer there to be copied: t[0] offsets [100, 250)" in (
        world.verdict().reason
    )
    world.now += timedelta(hours=1)
    world.tick()
    assert world.resets == ()
    assert world.seen.counts == {"t": 1}


def test_a_topic_that_a_cluster_forgets_for_seconds_is_nothing(
    world: World,
) -> None:
    log = world.source.pop("t")
    world.tick(5)
    world.source["t"] = log
    world.tick(10)
    world.source.pop("t")
    world.tick(5)
    assert (world.reset().settled, world.reset().away) == (None, False)


def test_only_topics_that_are_there_are_said_to_be_kept(
    world: World,
) -> None:
    world.source["u"] = Log("s3", {0: 10})
    world.sync(9, 9, "u")
    world.settle()
    assert world.verdict().evidence["partitions"] == 2
    world.source.pop("t")
    world.tick(20)
    assert world.verdict().evidence["partitions"] == 1


def test_what_comes_back_is_told_again(world: World) -> None:
    log = world.source.pop("t")
    world.tick(20)
    world.source["t"] = log
    world.tick(3)
    assert [r.settled is None for r in world.resets] == [False, True]
    assert "and more will while it stands" in world.verdict().reason


def test_a_position_beyond_the_end_goes_with_its_log() -> None:
    world = World.settled()
    world.source["t"].ends[0] = 60
    world.tick(5)
    log = world.source.pop("t")
    world.tick(15)
    assert world.resets == ()
    world.source["t"] = log
    world.tick(5)
    assert world.reset().kind is ResetKind.BEYOND


def test_one_made_again_twice_is_held_to_the_first_position() -> None:
    world = World.settled()
    world.source["t"] = Log("s2", {0: 300})
    world.tick(2)
    world.source.pop("t")
    world.tick(15)
    assert world.verdict().health is Health.OK  # nothing of it is there
    assert world.verdict().evidence["open_resets"] == 0
    world.restart()
    world.source["t"] = Log("s3", {0: 300})
    world.tick(3)
    assert world.verdict().health is Health.CRITICAL
    world.sync(100, 100)
    world.settle()
    assert "100 records of the new topic were never read" in (
        world.verdict().reason
    )
