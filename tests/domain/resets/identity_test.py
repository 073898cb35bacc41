"""Clusters that answer with another id."""

import pytest

from mirrorwatch.domain.position.model import ResetKind
from mirrorwatch.domain.report import Health

from .world import World


@pytest.fixture
def world() -> World:
    return World.settled()


def test_another_cluster_is_critical_until_the_right_one_answers(
    world: World,
) -> None:
    old = world.source["t"].id
    world.sync(20, 300)
    world.tick()
    world.ids["summit"] = "X"
    world.source["t"].id = "sX"
    world.tick()
    assert world.verdict().health is Health.CRITICAL
    assert "summit answers with the cluster id X and not S" in (
        world.verdict().reason
    )
    world.restart()
    world.tick(3)
    assert world.reset().kind is ResetKind.OTHER_CLUSTER
    world.ids["summit"] = "S"
    world.source["t"].id = old
    world.settle()
    assert (world.resets, world.verdict().health) == ((), Health.OK)


def test_syncs_that_another_cluster_tells_are_not_booked(
    world: World,
) -> None:
    world.sync(20, 300)
    world.tick()
    world.ids["summit"] = "X"
    world.tick()
    world.ids["summit"] = "S"
    world.settle()
    assert world.resets == ()


@pytest.mark.parametrize("alias", ["summit", "ldf"])
def test_another_cluster_can_be_accepted(world: World, alias: str) -> None:
    world.ids[alias] = "X"
    logs = world.source if alias == "summit" else world.target
    logs["t"].id = "another"
    world.tick()
    world.accepted = {alias: "X"}
    world.restart()
    world.settle()
    assert world.resets == ()
    # It is pinned now, whatever the configuration says later.
    world.accepted = {}
    world.restart()
    world.settle()
    assert world.verdict().health is Health.OK


def test_a_configured_id_rules_from_the_start() -> None:
    world = World()
    world.accepted = {"ldf": "M"}
    world.restart()
    world.tick()
    assert "ldf answers with the cluster id L and not M" in (
        world.verdict().reason
    )
