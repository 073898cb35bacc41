"""How a survey knows that topics are the ones that they were."""

from datetime import timedelta

from mirrorwatch.domain.mirror_records import Committed, Sync
from mirrorwatch.sources.survey import DESCRIBE_EVERY
from tests.support.builders import NOON
from tests.support.surveys import World

TICK = timedelta(seconds=5)


def asked(world: World, after: timedelta = TICK) -> dict[str, set[str]]:
    """Return which topics a survey asked for by name, by cluster."""
    for cluster in world.clusters.values():
        cluster.described = set()
    world.look(after)
    return {a: c.described for a, c in world.clusters.items() if c.described}


def test_a_topic_on_which_nothing_moves_is_described_once_a_minute() -> None:
    world = World()
    everything = {"summit": {"sal.a", "b"}, "ldf": {"summit.sal.a"}}
    assert asked(world) == everything
    for _ in range(10):
        assert asked(world) == {}
    assert asked(world, DESCRIBE_EVERY) == everything


def test_a_clock_that_is_set_back_lets_no_facts_grow_old() -> None:
    world = World()
    world.look()
    assert asked(world, timedelta(hours=-1)) != {}
    assert asked(world) == {}


def test_a_topic_whose_end_or_start_moved_is_described() -> None:
    world = World()
    world.look()
    world.ends["summit"].ends["sal.a", 1] = 101
    assert asked(world) == {"summit": {"sal.a"}}
    assert asked(world) == {}
    world.ends["ldf"].ends["summit.sal.a", 0] = 99
    assert asked(world) == {"ldf": {"summit.sal.a"}}
    world.ends["ldf"].start = 3
    assert asked(world, timedelta(seconds=40)) == {"ldf": {"summit.sal.a"}}


def test_a_topic_with_other_partitions_or_a_new_one_is_described() -> None:
    world = World()
    world.look()
    world.clusters["summit"].topics["b"] = ("2", 2)
    assert asked(world) == {"summit": {"b"}}
    world.clusters["summit"].topics["c"] = ("4", 1)
    assert asked(world) == {"summit": {"c"}}
    del world.clusters["summit"].topics["c"]
    assert asked(world) == {}
    assert "c" not in world.source().topics


def test_a_cluster_that_is_another_is_described_as_a_whole() -> None:
    world = World()
    world.look()
    world.clusters["ldf"].cluster_id = "another"
    assert asked(world) == {"ldf": {"summit.sal.a"}}


def test_both_topics_of_what_a_mirror_told_are_described() -> None:
    world = World()
    world.look()
    both = {"summit": {"sal.a"}, "ldf": {"summit.sal.a"}}
    world.positions["ldf"].note(
        Sync(
            topic="sal.a",
            partition=0,
            upstream=1,
            downstream=1,
            written_at=NOON,
        )
    )
    assert asked(world) == both
    assert asked(world) == {}
    commit = Committed(topic="sal.a", partition=1, position=2, written_at=NOON)
    world.positions["ldf"].note(commit)
    assert asked(world) == both
    world.positions["ldf"].note(commit)
    assert asked(world) == {}


def test_what_was_told_is_made_sure_of_when_both_sides_answer() -> None:
    world = World()
    world.look()
    world.positions["ldf"].note(
        Committed(topic="sal.a", partition=1, position=2, written_at=NOON)
    )
    world.clusters["ldf"].up = False
    world.look(TICK)
    world.clusters["ldf"].up = True
    assert asked(world)["ldf"] == {"summit.sal.a"}


def test_a_topic_made_again_is_seen_with_its_own_ends() -> None:
    world = World()
    world.look()
    assert world.source().topics["sal.a"].id == "1"
    summit = world.clusters["summit"]
    ends = world.ends["summit"]
    ends.ends["sal.a", 0] = 40

    def make_again() -> None:
        # Between its end and its description.
        summit.topics["sal.a"] = ("anew", 2)
        ends.ends["sal.a", 0] = 7
        ends.start = 5

    ends.after_ends = make_again
    world.look(TICK)
    assert world.source().topics["sal.a"].id == "anew"
    assert world.source().ends["sal.a", 0] == 7
    assert world.source().starts["sal.a", 0] == 5


def test_what_moved_while_a_cluster_was_down_is_described() -> None:
    world = World()
    world.look()
    world.clusters["summit"].up = False
    world.look(TICK)
    world.clusters["summit"].up = True
    world.ends["summit"].ends["b", 0] = 4
    assert asked(world)["summit"] == {"b"}
