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
    for upstream in (199, 200, 299):
        world.sync(upstream, upstream)
        world.tick()
    world.commit(300)
    world.settle()
    assert (world.resets, world.verdict().health) == ((), Health.OK)
    world.find("ok", partitions=1)


def test_a_sync_that_is_written_again_is_nothing(world: World) -> None:
    world.sync(99, 99)
    world.settle()
    world.restart()
    world.settle()
    assert world.resets == ()


def test_an_offsets_topic_that_is_gone_is_critical(world: World) -> None:
    world.homes["offsets"] = None
    world.tick(12)
    assert not world.resets
    world.tick()
    assert world.reset().kind is ResetKind.OFFSETS_GONE
    world.find("offsets-deleted", topic=world.reset().topic, partitions=1)
    assert not world.reset().from_end
    world.homes["offsets"] = "o2"
    world.committed.clear()
    world.sync(0, 100)
    world.commit(40)
    world.settle()
    kinds = [r.kind for r in world.resets]
    assert kinds == [ResetKind.OFFSETS_GONE, ResetKind.REWIND]
    world.find("rewound", records=100)
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


def test_syncs_are_not_told_again_by_a_topic_that_comes_back(
    world: World,
) -> None:
    for end in (200, 300):
        grow(world, end)
        world.sync(end - 1, end - 1)
        world.tick()
    world.settle()
    unseen, world.homes["syncs"] = world.homes["syncs"], None
    world.restart()
    again = world.take_unread()
    world.tick(3)
    world.homes["syncs"] = unseen
    world.hold(again)
    world.settle()
    assert (world.resets, world.verdict().health) == ((), Health.OK)


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
    world.sync(19, 19)
    world.tick(3)
    assert world.verdict().health is Health.UNKNOWN
    world.commit(100)
    world.sync(99, 99)
    world.caught_up = True
    world.settle()
    assert (world.resets, world.verdict().health) == ((), Health.OK)


def test_what_is_read_again_after_a_restart_is_nothing_new() -> None:
    world = World()
    grow(world, 300)
    for upstream in (99, 199, 299):
        world.sync(upstream, upstream)
        world.tick()
    world.settle()
    world.restart()
    world.settle()
    assert world.resets == ()


def test_a_cluster_that_does_not_answer_changes_nothing(world: World) -> None:
    world.answers["summit"] = False
    grow(world, 300)
    world.sync(199, 199)
    world.tick(3)
    world.answers["summit"] = True
    world.answers["ldf"] = False
    world.settle()
    world.sync(150, 200)
    world.settle()
    # Every sync was kept meanwhile.
    assert (world.reset().first, world.reset().end) == (150, 200)


def test_a_verdict_tells_a_bounded_number_of_resets(world: World) -> None:
    log = type(world.source["t"])
    for n in range(30):
        world.source[f"t{n}"] = log(f"s{n}", {0: 10})
        world.sync(9, 9, f"t{n}")
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
    identity_world.sync(20, 300)
    identity_world.tick()
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


def test_syncs_that_another_cluster_tells_are_not_booked(
    identity_world: World,
) -> None:
    identity_world.sync(20, 300)
    identity_world.tick()
    identity_world.ids["summit"] = "X"
    identity_world.tick()
    identity_world.ids["summit"] = "S"
    identity_world.settle()
    assert identity_world.resets == ()


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
    leaving_world.tick(2)
    return leaving_world


def test_what_expired_of_it_is_over_after_a_minute(
    leaving_world: World,
) -> None:
    leaving_world.source.pop("t")
    leaving_world.tick(5)
    assert leaving_world.reset().settled is None
    leaving_world.tick(10)
    assert leaving_world.verdict().health is Health.CRITICAL
    leaving_world.find(
        "expired-unread", topic="t", partition=0, records=150, open_resets=0
    )
    leaving_world.now += timedelta(hours=1)
    leaving_world.tick()
    assert leaving_world.resets == ()
    assert leaving_world.seen.counts == {"t": 1}


def test_a_topic_that_a_cluster_forgets_for_seconds_is_nothing(
    leaving_world: World,
) -> None:
    log = leaving_world.source.pop("t")
    leaving_world.tick(5)
    leaving_world.source["t"] = log
    leaving_world.tick(10)
    leaving_world.source.pop("t")
    leaving_world.tick(5)
    assert (leaving_world.reset().settled, leaving_world.reset().away) == (
        None,
        False,
    )


def test_only_topics_that_are_there_are_said_to_be_kept(
    leaving_world: World,
) -> None:
    leaving_world.source["u"] = Log("s3", {0: 10})
    leaving_world.sync(9, 9, "u")
    leaving_world.settle()
    assert leaving_world.verdict().evidence["partitions"] == 2
    leaving_world.source.pop("t")
    leaving_world.tick(20)
    assert leaving_world.verdict().evidence["partitions"] == 1


def test_one_that_goes_soon_after_it_expired_is_not_over() -> None:
    world = World.settled()
    world.source["t"] = Log("s1", {0: 500}, {0: 250})
    world.now += timedelta(minutes=1)
    world.tick()
    world.now += timedelta(minutes=1)
    world.tick()
    world.source.pop("t")
    world.tick()
    assert (world.reset().settled, world.reset().away) == (None, False)


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


def test_what_comes_back_is_told_again(leaving_world: World) -> None:
    log = leaving_world.source.pop("t")
    leaving_world.tick(20)
    assert leaving_world.reset().away
    leaving_world.source["t"] = log
    leaving_world.tick(3)
    assert (leaving_world.reset().settled, leaving_world.reset().away) == (
        None,
        False,
    )
    leaving_world.find("expired-unread", records=150, open_resets=1)


def test_what_the_mirror_passed_while_it_was_away_counts_once(
    leaving_world: World,
) -> None:
    log = leaving_world.source.pop("t")
    leaving_world.sync(250, 100)
    leaving_world.tick(20)
    leaving_world.source["t"] = log
    leaving_world.target["t"].ends[0] = 150
    leaving_world.settle()
    reset = leaving_world.reset()
    assert (reset.first, reset.end, reset.away) == (100, 250, False)
    assert reset.settled is not None
    assert leaving_world.seen.counts == {"t": 1}


def test_what_had_expired_of_a_topic_that_is_recreated_stays_over(
    leaving_world: World,
) -> None:
    leaving_world.source.pop("t")
    leaving_world.tick(20)
    leaving_world.source["t"] = Log("s2", {0: 5})
    leaving_world.tick(3)
    expired = leaving_world.resets[0]
    assert (expired.kind, expired.away) == (ResetKind.EXPIRED, True)
    assert expired.settled is not None


def test_a_position_beyond_the_end_goes_with_its_log() -> None:
    leaving_world = World.settled()
    leaving_world.source["t"].ends[0] = 60
    leaving_world.tick(5)
    log = leaving_world.source.pop("t")
    leaving_world.tick(15)
    assert leaving_world.resets == ()
    leaving_world.source["t"] = log
    leaving_world.tick(5)
    assert leaving_world.reset().kind is ResetKind.BEYOND


def test_one_made_again_twice_is_held_to_the_first_position() -> None:
    leaving_world = World.settled()
    leaving_world.source["t"] = Log("s2", {0: 300})
    leaving_world.tick(2)
    leaving_world.source.pop("t")
    leaving_world.tick(15)
    assert (
        leaving_world.verdict().health is Health.OK
    )  # nothing of it is there
    assert leaving_world.verdict().evidence["open_resets"] == 0
    leaving_world.restart()
    leaving_world.source["t"] = Log("s3", {0: 300})
    leaving_world.tick(3)
    assert leaving_world.verdict().health is Health.CRITICAL
    leaving_world.sync(100, 100)
    leaving_world.settle()
    leaving_world.find("recreated", topic="t", records=100)


def test_one_made_again_at_the_target_is_critical() -> None:
    world = World.settled()
    world.target["t"] = Log("t2", {0: 0})
    world.tick()
    assert world.reset().kind is ResetKind.TARGET_RECREATED
    assert world.verdict().health is Health.CRITICAL
    world.find("target-recreated", topic="t", partitions=1, offsets=100)
    # The mirror goes on, and its offsets say nothing about old copies.
    world.source["t"].ends[0] = 150
    world.sync(100, 0)
    world.target["t"].ends[0] = 50
    world.settle()
    assert len(world.resets) == 1
    world.restart()
    world.settle()
    assert world.seen.counts == {"t": 1}


def test_one_deleted_at_the_target_a_while_before_is_counted_too() -> None:
    world = World.settled()
    deleted = world.target.pop("t")
    world.tick()
    world.tick()
    assert deleted.ends == {0: 100}
    assert world.resets == ()
    world.target["t"] = Log("t2", {0: 0})
    world.tick()
    world.find("target-recreated", partitions=1, offsets=100)


def test_one_deleted_and_created_around_a_restart_has_no_number() -> None:
    world = World.settled()
    del world.target["t"]
    world.tick()
    world.restart()
    world.target["t"] = Log("t2", {0: 0})
    world.settle()
    world.find("target-recreated", partitions=1, offsets=None)


# Target topics whose offsets do not count copies: others write there, or the
# mirror's transactions leave markers.

WORLDS = [{"merged": ["t"]}, {"estimates": False}]


def test_what_others_write_hides_no_loss() -> None:
    world = World.settled(merged=["t"])
    world.source["t"] = Log("s1", {0: 500}, {0: 250})
    world.target["t"].ends[0] = 700
    # A commit is up to a minute old, so it takes longer than usual.
    world.tick(45)
    assert (world.reset().first, world.reset().end) == (100, 250)
    world.sync(250, 700)
    world.settle()
    assert (world.reset().kind, world.reset().count) == (
        ResetKind.EXPIRED,
        150,
    )


def test_a_merged_topic_that_goes_on_is_ok() -> None:
    world = World.settled(merged=["t"])
    for n in range(1, 5):
        world.source["t"].ends[0] = 100 + 100 * n
        world.target["t"].ends[0] = 100 + 300 * n
        world.sync(100 * n, 300 * n)
        world.sync(100 * n, 300 * n)
        world.tick()
    world.settle()
    world.restart()
    world.settle()
    assert (world.resets, world.verdict().health) == ((), Health.OK)


@pytest.mark.parametrize("how", WORLDS, ids=["merged", "transactions"])
@pytest.mark.parametrize("first", [0, 100])
def test_a_topic_made_again_is_held_to_its_own_offsets(
    how: dict[str, object], first: int
) -> None:
    world = World.settled(**how)  # type: ignore[arg-type]
    world.target["t"].ends[0] = 350
    world.tick()
    world.source["t"] = Log("s2", {0: 300})
    world.tick()
    assert world.reset().end == 100
    world.target["t"].ends[0] = 900
    world.sync(first, 850)
    world.settle()
    assert (world.reset().count, world.reset().harmless) == (
        first,
        first == 0,
    )


def test_a_sync_of_the_old_topic_that_is_written_again_decides_nothing() -> (
    None
):
    world = World.settled(merged=["t"])
    world.source["t"] = Log("s2", {0: 300})
    world.tick(2)
    world.sync(99, 99)
    world.settle()
    assert world.reset().settled is None
