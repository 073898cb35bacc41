"""What one survey asks, in which order, and who learns of it."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.mirror_records import Connector
from mirrorwatch.domain.topics import Selection
from mirrorwatch.exceptions import StateError
from mirrorwatch.sources.survey import STARTS_EVERY
from tests.support.surveys import World


def test_a_follower_is_read_before_its_leader() -> None:
    told = World().look()
    assert told[:2] == ["positions"] * 2
    ends = [t for t in told if t.startswith("ends")]
    assert ends == ["ends of base", "ends of ldf", "ends of summit"]


def test_each_cluster_is_asked_once_for_all_flows() -> None:
    world = World()
    told = world.look()
    assert told.count("positions") == 2  # of each flow its own
    assert len(told) - 1 == len(set(told))
    out, all_out = world.view("ldf"), world.view("base")
    assert out.source is not None
    assert all_out.source is not None
    assert dict(out.names) == {"sal.a": "summit.sal.a"}
    assert dict(all_out.names) == {"sal.a": "summit.sal.a", "b": "summit.b"}
    assert out.source.ends == all_out.source.ends
    assert set(out.source.ends) == {("sal.a", 0), ("sal.a", 1), ("b", 0)}
    assert out.target is not None
    assert set(out.target.ends) == {("summit.sal.a", n) for n in (0, 1)}


def test_ends_are_those_that_the_mirror_reads() -> None:
    world = World()
    world.positions["ldf"].note(
        Connector(
            name="c",
            selection=Selection(),
            refresh=timedelta(minutes=10),
            max_in_flight=1,
            read_committed=True,
        )
    )
    world.look()
    committed, other = world.view("ldf"), world.view("base")
    assert committed.source is not None
    assert other.source is not None
    assert committed.target is not None
    assert set(committed.source.ends.values()) == {90}
    assert set(other.source.ends.values()) == {100}
    assert set(committed.target.ends.values()) == {100}


def test_starts_are_read_now_and_then_and_at_once_where_topics_are_new() -> (
    None
):
    world, read = World(), "starts of summit"
    assert read in world.look()
    assert read not in world.look(timedelta(seconds=5))
    assert read in world.look(STARTS_EVERY)
    world.clusters["summit"].topics["sal.a"] = ("1", 3)
    assert read in world.look(timedelta(seconds=5))
    assert read not in world.look(timedelta(seconds=5))
    world.clusters["summit"].topics["sal.a"] = ("anew", 3)
    world.ends["summit"].ends["sal.a", 0] = 8
    world.ends["summit"].start = 7
    assert read in world.look(timedelta(seconds=5))
    view = world.view("ldf")
    assert view.source is not None
    assert view.source.starts["sal.a", 0] == 7


def test_a_cluster_that_is_down_is_a_problem_of_its_flows_only() -> None:
    world = World()
    world.clusters["ldf"].up = False
    world.look()
    assert world.view("ldf").target is None
    assert world.view("ldf").source is not None
    assert world.view("ldf").problems == ("ldf is down",)
    assert world.view("base").target is not None
    assert world.view("base").problems == ()
    world.clusters["summit"].up = False
    world.look()
    assert world.view("base").source is None
    assert dict(world.view("base").names) == {}
    assert world.view("base").problems == ("summit is down",)
    assert world.view("ldf").problems == ("summit is down", "ldf is down")


def test_one_who_cannot_learn_keeps_nobody_else_from_it() -> None:
    world = World()
    world.learners["ldf"][0].failing = True
    with pytest.raises(StateError):
        world.survey.step()
    assert len(world.learners["ldf"][1].views) == 1
    assert [len(x.views) for x in world.learners["base"]] == [1, 1]
