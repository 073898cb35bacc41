"""What one survey asks, in which order, and who learns of it."""

from datetime import timedelta

import pytest
import structlog
from structlog.testing import capture_logs

from mirrorwatch.domain.carriage import Carriage
from mirrorwatch.domain.cluster_view import ClusterAnswer
from mirrorwatch.domain.conflicts import Conflict
from mirrorwatch.domain.mirror_records import Committed, Connector, Sync
from mirrorwatch.domain.report import Flow
from mirrorwatch.domain.topics import (
    IdentityNaming,
    ReplicatedTopics,
    Selection,
)
from mirrorwatch.exceptions import (
    InternalError,
    SourceDeniedError,
    SourceUnavailableError,
    StateError,
)
from mirrorwatch.isolation import Isolation
from mirrorwatch.sources.survey import (
    DESCRIBE_EVERY,
    LEAST_ROUND_TRIPS,
    STARTS_EVERY,
    STARTS_WHOLE_EVERY,
    AnswerTracker,
    SurveyedFlow,
    SurveyWorker,
)
from tests.support.builders import NOON
from tests.support.surveys import FakeCluster, FakePositions, Learner, World


def test_a_follower_is_read_before_its_leader() -> None:
    world = World()
    world.clusters["base"].topics = {"summit.b": ("4", 1)}
    told = world.look()
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
    world.clusters["summit"].known["sal.a", 0] = 8
    world.clusters["summit"].start = 7
    assert read in world.look(timedelta(seconds=5))
    view = world.view("ldf")
    assert view.source is not None
    assert view.source.starts["sal.a", 0] == 7


def test_starts_of_empty_logs_are_read_again_when_their_ends_move() -> None:
    world = World()
    summit = world.clusters["summit"]
    summit.start = 100
    summit.known["b", 0] = 101
    world.look()
    assert summit.starts_read == {("sal.a", 0), ("sal.a", 1), ("b", 0)}
    world.look(STARTS_EVERY)
    assert summit.starts_read == {("b", 0)}
    summit.known["sal.a", 1] = summit.start = 103
    world.look(STARTS_EVERY)
    assert summit.starts_read == {("sal.a", 1), ("b", 0)}
    starts = world.source().starts
    assert starts == {("sal.a", 0): 100, ("sal.a", 1): 103, ("b", 0): 103}
    world.look(STARTS_EVERY)
    assert summit.starts_read == {("b", 0)}
    # Of another topic all are read.
    summit.topics["sal.a"] = ("anew", 2)
    world.look(STARTS_EVERY)
    assert summit.starts_read == {("sal.a", 0), ("sal.a", 1), ("b", 0)}


def test_starts_of_empty_logs_are_read_every_ten_minutes() -> None:
    world = World()
    summit = world.clusters["summit"]
    summit.start = 100
    world.look()
    world.look(STARTS_EVERY)
    # A leader that is behind has records that are deleted elsewhere.
    summit.start = 50
    world.look(STARTS_EVERY)
    assert set(world.source().starts.values()) == {100}
    world.look(STARTS_WHOLE_EVERY)
    assert set(world.source().starts.values()) == {50}


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


def test_who_crashes_keeps_no_other_flow_from_learning() -> None:
    isolation = Isolation(structlog.get_logger())
    world = World(isolation.run)
    world.learners["ldf"][0].crashing = True
    with capture_logs(), pytest.raises(InternalError):
        world.survey.step()
    assert [len(x.views) for x in world.learners["base"]] == [1, 1]
    assert isolation.failing.keys() == {"view to ldf"}
    world.learners["ldf"][0].crashing = False
    world.survey.step()
    assert not isolation.failing


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


def test_a_topic_without_a_record_is_described_every_ten_minutes() -> None:
    world = World()
    summit = world.clusters["summit"]
    summit.known = {("sal.a", 0): 0, ("sal.a", 1): 0, ("b", 0): 1}
    everything = asked(world)
    some = {**everything, "summit": {"b"}}
    for _ in range(9):
        assert asked(world, DESCRIBE_EVERY) == some
    assert asked(world, DESCRIBE_EVERY) == everything
    # One that is recreated loses nothing, and is known by its first record.
    summit.topics["sal.a"] = ("anew", 2)
    assert asked(world, DESCRIBE_EVERY) == some
    assert world.source().topics["sal.a"].id == "1"
    summit.known["sal.a", 1] = 1
    assert asked(world) == {"summit": {"sal.a"}}
    assert world.source().topics["sal.a"].id == "anew"
    # With a record in one of its partitions it is not without any.
    both = {**everything, "summit": {"sal.a", "b"}}
    assert asked(world, DESCRIBE_EVERY) == both


def test_a_clock_that_is_set_back_lets_no_facts_grow_old() -> None:
    world = World()
    world.look()
    assert asked(world, timedelta(hours=-1)) != {}
    assert asked(world) == {}


def test_a_topic_whose_end_or_start_moved_is_described() -> None:
    world = World()
    world.look()
    world.clusters["summit"].known["sal.a", 1] = 101
    assert asked(world) == {"summit": {"sal.a"}}
    assert asked(world) == {}
    world.clusters["ldf"].known["summit.sal.a", 0] = 99
    assert asked(world) == {"ldf": {"summit.sal.a"}}
    world.clusters["ldf"].start = 3
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
    summit.known["sal.a", 0] = 40

    def make_again() -> None:
        # Between its end and its description.
        summit.topics["sal.a"] = ("anew", 2)
        summit.known["sal.a", 0] = 7
        summit.start = 5

    summit.after_ends = make_again
    world.look(TICK)
    assert world.source().topics["sal.a"].id == "anew"
    assert world.source().ends["sal.a", 0] == 7
    assert world.source().starts["sal.a", 0] == 5


def test_another_id_is_believed_when_it_is_answered_again() -> None:
    world = World()
    world.look()
    summit = world.clusters["summit"]
    right, summit.topics["b"] = summit.topics["b"], ("of one broker", 1)
    summit.after_ends = lambda: summit.topics.update(b=right)
    world.look(DESCRIBE_EVERY)
    assert world.source().topics["b"].id == "2"
    summit.topics["b"] = ("anew", 1)
    summit.after_ends = lambda: None
    world.look(DESCRIBE_EVERY)
    assert world.source().topics["b"].id == "anew"


def test_what_moved_while_a_cluster_was_down_is_described() -> None:
    world = World()
    world.look()
    world.clusters["summit"].up = False
    world.look(TICK)
    world.clusters["summit"].up = True
    world.clusters["summit"].known["b", 0] = 4
    assert asked(world)["summit"] == {"b"}


def test_who_answers_and_how_fast_is_in_each_view() -> None:
    world = World()
    world.look()
    source, target = world.view("ldf").answers
    assert (source.alias, target.alias) == ("summit", "ldf")
    assert source.answered_at == target.answered_at == NOON
    assert source.silent_since is target.silent_since is None
    assert (source.took, source.usual) == (timedelta(), None)
    for _ in range(LEAST_ROUND_TRIPS):
        world.look(TICK)
    assert world.view("ldf").answers[0].usual == timedelta()
    heard = world.now
    world.clusters["summit"].up = False
    world.look(TICK)
    world.look(TICK)
    source, target = world.view("ldf").answers
    assert source.answered_at == heard
    assert source.silent_since == heard + TICK
    assert target.silent_since is None
    world.clusters["summit"].up = True
    world.look(TICK)
    assert world.view("ldf").answers[0].silent_since is None


def test_a_refusal_is_no_silence() -> None:
    tracker = AnswerTracker("ldf")
    denied = SourceDeniedError(
        "No", source="kafka", cluster="ldf", right="READ"
    )
    silent = SourceUnavailableError("Away", source="kafka", cluster="ldf")
    tracker.fail(NOON, silent)
    assert tracker.answer == ClusterAnswer(alias="ldf", silent_since=NOON)
    tracker.fail(NOON + TICK, denied)
    assert tracker.answer == ClusterAnswer(alias="ldf")


def test_one_slow_answer_is_not_slow_and_two_are() -> None:
    tracker, quick, slow = AnswerTracker("ldf"), TICK / 100, TICK
    for _ in range(20):
        tracker.note(NOON, quick)
    tracker.note(NOON, slow)
    assert tracker.answer.took == quick
    tracker.note(NOON, slow)
    assert (tracker.answer.took, tracker.answer.usual) == (slow, quick)


def test_copies_are_read_while_the_source_is_silent() -> None:
    world = World()
    world.look()
    world.clusters["summit"].up = False
    world.look(TICK)
    view = world.view("ldf")
    assert view.source is None
    assert dict(view.names) == {}
    assert view.target is not None
    assert set(view.target.ends) == {("summit.sal.a", n) for n in (0, 1)}


def test_topics_that_opposite_flows_copy_back_are_in_both_views() -> None:
    learners = (Learner(), Learner())
    clusters = {a: FakeCluster(a, []) for a in ("summit", "ldf")}
    for cluster in clusters.values():
        cluster.topics = {"a": ("1", 1)}
    ways = [("summit", "ldf"), ("ldf", "summit")]
    survey = SurveyWorker(
        flows=[
            SurveyedFlow(
                flow=Flow(name=source, source=source, target=target),
                carriage=Carriage(
                    ReplicatedTopics(
                        selection=Selection(),
                        naming=IdentityNaming(alias=source),
                        target_alias=target,
                    )
                ),
                positions=FakePositions([]),
                listeners=(learner,),
            )
            for (source, target), learner in zip(ways, learners, strict=True)
        ],
        clusters=clusters,
        interval=timedelta(seconds=5),
        clock=lambda: NOON,
    )
    survey.step()
    found = [learner.views[-1].conflicts for learner in learners]
    assert found == [
        (Conflict(other="ldf", loop=True, topics=("a",)),),
        (Conflict(other="summit", loop=True, topics=("a",)),),
    ]
