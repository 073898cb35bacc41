"""Lost offsets; what is usual; what is not known."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.lag.model import LagObservation
from mirrorwatch.domain.position.check import PositionLimits, judge_position
from mirrorwatch.domain.position.model import ResetKind
from mirrorwatch.domain.report import Health

from .world import FLOW, Log, World, grow


@pytest.fixture
def world() -> World:
    return World.settled()


def test_a_mirror_that_goes_on_is_ok(world: World) -> None:
    grow(world, 300)
    for position in (200, 201, 300):
        world.commit(position)
        world.tick()
    world.settle()
    assert (world.resets, world.verdict().health) == ((), Health.OK)
    world.find("ok", partitions=1)


def test_an_offsets_topic_that_is_gone_is_critical(world: World) -> None:
    world.homes["offsets"] = None
    world.tick(12)
    assert not world.resets
    world.tick()
    assert world.reset().kind is ResetKind.OFFSETS_GONE
    world.find("offsets-deleted", topic=world.reset().topic, partitions=1)
    assert not world.reset().from_end
    world.homes["offsets"] = "o2"
    world.commit(40)
    world.settle()
    kinds = [r.kind for r in world.resets]
    assert kinds == [ResetKind.OFFSETS_GONE, ResetKind.REWIND]
    world.find("rewound", records=60)
    assert world.seen.counts == {"t": 2}


@pytest.mark.parametrize("topic", ["offsets", "syncs"])
def test_a_topic_that_comes_back_lost_nothing(
    world: World, topic: str
) -> None:
    pinned, world.homes[topic] = world.homes[topic], None
    world.tick(6)
    world.restart()
    world.tick(6)
    world.homes[topic] = pinned
    world.settle()
    assert (world.resets, world.seen.counts) == ((), {"t": 0})
    world.homes[topic] = None
    world.tick(14)
    assert world.verdict().health is not Health.OK
    world.homes[topic] = pinned
    world.settle()
    assert world.verdict().health is Health.OK


def test_so_is_another_one_found_after_the_agent_was_away(
    world: World,
) -> None:
    world.from_end = True
    world.homes["offsets"] = "o2"
    world.committed.clear()
    world.restart()
    world.tick(2)
    assert world.verdict().health is Health.CRITICAL
    assert world.reset().from_end


def test_committed_positions_that_are_deleted_are_critical(
    world: World,
) -> None:
    world.commit(None)
    world.tick(2)
    assert world.verdict().health is Health.CRITICAL
    world.find("offsets-deleted", topic="t", partitions=1)
    world.settle()
    assert len(world.resets) == 1


def test_another_syncs_topic_is_a_warning(world: World) -> None:
    world.homes["syncs"] = "y2"
    world.tick()
    assert world.verdict().health is Health.WARNING
    world.find("syncs-recreated")
    assert world.seen.counts == {"t": 0}


def test_what_is_not_known_is_not_ok(world: World) -> None:
    fresh = World()
    fresh.tick()
    assert fresh.verdict().health is Health.UNKNOWN
    nothing = judge_position(FLOW, None, PositionLimits(), world.now)
    assert nothing.health is Health.UNKNOWN
    world.now += timedelta(minutes=3)
    world.find("stale", seconds=180)
    assert world.verdict().health is Health.UNKNOWN


def test_nothing_is_judged_before_all_was_read() -> None:
    world = World()
    world.caught_up = False
    world.source["t"].starts[0] = 60
    world.commit(20)
    world.tick(3)
    assert world.verdict().health is Health.UNKNOWN
    world.commit(100)
    world.caught_up = True
    world.settle()
    assert (world.resets, world.verdict().health) == ((), Health.OK)


def test_a_cluster_that_does_not_answer_changes_nothing(world: World) -> None:
    world.answers["summit"] = False
    grow(world, 300)
    world.commit(200)
    world.tick(3)
    world.answers["summit"] = True
    world.answers["ldf"] = False
    world.settle()
    world.commit(150)
    world.settle()
    assert (world.reset().first, world.reset().end) == (150, 200)


def test_a_verdict_tells_a_bounded_number_of_resets(world: World) -> None:
    log = type(world.source["t"])
    for n in range(30):
        world.source[f"t{n}"] = log(f"s{n}", {0: 10})
        world.commit(10, f"t{n}")
    world.settle()
    for n in range(30):
        world.source[f"t{n}"] = log(f"new{n}", {0: 50})
    world.tick()
    assert len(world.resets) == 30
    found = [
        f for f in world.verdict().findings if f.health is Health.CRITICAL
    ]
    assert {f.subject["topic"] for f in found} == {f"t{n}" for n in range(30)}


@pytest.fixture
def identity_world() -> World:
    return World.settled()


def test_another_cluster_is_critical_until_the_right_one_answers(
    identity_world: World,
) -> None:
    old = identity_world.source["t"].id
    identity_world.ids["summit"] = "X"
    identity_world.source["t"].id = "sX"
    identity_world.tick()
    assert identity_world.verdict().health is Health.CRITICAL
    identity_world.find("other-cluster", cluster="summit")
    identity_world.restart()
    identity_world.tick(3)
    assert identity_world.reset().kind is ResetKind.OTHER_CLUSTER
    identity_world.ids["summit"] = "S"
    identity_world.source["t"].id = old
    identity_world.settle()
    assert (identity_world.resets, identity_world.verdict().health) == (
        (),
        Health.OK,
    )


@pytest.mark.parametrize("alias", ["summit", "ldf"])
def test_another_cluster_can_be_accepted(
    identity_world: World, alias: str
) -> None:
    identity_world.ids[alias] = "X"
    logs = (
        identity_world.source if alias == "summit" else identity_world.target
    )
    logs["t"].id = "another"
    identity_world.tick()
    identity_world.accepted = {alias: "X"}
    identity_world.restart()
    identity_world.settle()
    assert identity_world.resets == ()
    # It is pinned now, whatever the configuration says later.
    identity_world.accepted = {}
    identity_world.restart()
    identity_world.settle()
    assert identity_world.verdict().health is Health.OK


def test_a_configured_id_rules_from_the_start() -> None:
    identity_world = World()
    identity_world.accepted = {"ldf": "M"}
    identity_world.restart()
    identity_world.tick()
    identity_world.find("other-cluster", cluster="ldf")


@pytest.fixture
def leaving_world() -> World:
    """Of its topic, 150 records expired unread; the mirror is down."""
    leaving_world = World.settled()
    leaving_world.source["t"] = Log("s1", {0: 500}, {0: 250})
    leaving_world.tick(45)
    return leaving_world


def test_only_topics_that_are_there_are_said_to_be_kept(
    leaving_world: World,
) -> None:
    leaving_world.source["u"] = Log("s3", {0: 10})
    leaving_world.commit(10, "u")
    leaving_world.settle()
    assert leaving_world.verdict().evidence["partitions"] == 2
    leaving_world.source.pop("t")
    leaving_world.tick(20)
    assert leaving_world.verdict().evidence["partitions"] == 1


def test_positions_of_a_topic_that_is_hidden_are_not_known(
    leaving_world: World,
) -> None:
    hidden = "Mirrorwatch cannot see u, which MirrorMaker copies"
    lag = LagObservation(flow=FLOW, at=leaving_world.now, hidden=hidden)
    calm = World.settled()
    found = [
        judge_position(FLOW, world.seen, PositionLimits(), world.now, lag)
        for world in (calm, leaving_world)
    ]
    assert [v.health for v in found] == [Health.UNKNOWN, Health.CRITICAL]
    assert found[0].code == "position.hidden-topics"
    assert calm.verdict().health is Health.OK
