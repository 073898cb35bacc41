"""Topics that the target lacks, compared over time and over restarts."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.conflicts import Conflict
from mirrorwatch.domain.lag.model import LagObservation
from mirrorwatch.domain.report import Health, Numbers, Verdict
from tests.support.builders import NOON
from tests.support.findings import find

from .world import DEFAULT, MINUTE, World, facts


def worst(verdict: Verdict) -> tuple[Health, str, Numbers]:
    found = verdict.findings[0]
    known = {k: v for k, v in found.numbers.items() if v is not None}
    return found.health, found.code, known


def test_nothing_is_said_before_both_sides_are_known() -> None:
    world = World()
    assert worst(world.verdict()) == (Health.UNKNOWN, "topics.no-data", {})
    found = world.survey({"a": 1}, None)
    assert found.health is Health.UNKNOWN
    find(found, "topics.unreadable", problem="ldf does not answer")
    assert world.figures() == []
    found = world.survey({}, {"a": 1})
    assert worst(found) == (Health.UNKNOWN, "topics.none", {})
    found = world.survey({"a": 1}, {"a": 1})
    assert worst(found) == (
        Health.OK,
        "topics.ok",
        {"topics": 1, "pending_topics": 0},
    )


def test_a_topic_that_is_hidden_is_not_said_to_be_there() -> None:
    world = World()
    # Brokers leave it out of their list, so it is not compared.
    assert world.survey({"a": 1}, {"a": 1}).health is Health.OK
    cannot = "Mirrorwatch cannot see b, which MirrorMaker copies"
    world.lag = LagObservation(flow="summit->ldf", at=NOON, hidden=cannot)
    verdict = world.survey({"a": 1}, {"a": 1})
    assert (verdict.health, verdict.codes) == (
        Health.UNKNOWN,
        ("topics.hidden-topics", "topics.ok"),
    )
    # What is compared is judged as ever.
    assert world.survey({"a": 1}, {"a": 2}).health is Health.WARNING
    world.lag = LagObservation(flow="summit->ldf", at=NOON)
    assert world.survey({"a": 1}, {"a": 1}).health is Health.OK


def test_a_new_topic_is_missed_after_two_refreshes_until_it_is_there() -> None:
    world = World()
    assert world.survey({"a": 1, "b": 1}, {"a": 1}).health is Health.OK
    assert world.verdict().findings[0].numbers["pending_topics"] == 1
    world.now += 20 * MINUTE
    assert world.survey({"a": 1, "b": 1}, {"a": 1}).health is Health.OK
    assert world.figures() == [0, 0]
    world.now += timedelta(seconds=5)
    verdict = world.survey({"a": 1, "b": 1}, {"a": 1})
    assert worst(verdict) == (
        Health.CRITICAL,
        "topics.missing",
        {"topics": 1, "seconds": 1205},
    )
    assert verdict.findings[0].subject == {"topic": "b"}
    assert world.figures() == [1, 0]
    assert world.survey({"a": 1, "b": 1}, {"a": 1, "b": 1}).health is Health.OK
    assert world.figures() == [0, 0]


@pytest.mark.parametrize("refreshes", [True, False])
def test_what_a_mirror_misses_is_due_whether_it_refreshes_or_not(
    *, refreshes: bool
) -> None:
    world = World(refreshes=refreshes)
    world.survey({"a": 2, "b": 1}, {"a": 1})
    world.now += 21 * MINUTE
    verdict = world.survey({"a": 2, "b": 1}, {"a": 1})
    assert verdict.codes == (
        "topics.missing",
        "topics.partitions",
        "topics.ok",
    )


def test_a_restart_forgets_nothing_and_makes_nothing_older() -> None:
    world = World()
    world.survey({"a": 1, "b": 1}, {"a": 1})
    world.now += 15 * MINUTE
    world.start()
    verdict = world.survey({"a": 1, "b": 1, "c": 1}, {"a": 1})
    assert verdict.health is Health.OK
    world.now += 6 * MINUTE
    verdict = world.survey({"a": 1, "b": 1, "c": 1}, {"a": 1})
    assert verdict.health is Health.CRITICAL
    assert verdict.findings[0].subject == {"topic": "b"}
    assert verdict.findings[0].numbers["topics"] == 1


def test_a_missing_topic_is_never_ok_after_a_restart() -> None:
    """The target was not asked for it by name since then."""
    world = World()
    world.survey({"a": 1, "b": 1}, {"a": 1})
    world.now += 30 * MINUTE
    assert world.survey({"a": 1, "b": 1}, {"a": 1}).health is Health.CRITICAL
    world.start()
    world.survey({"a": 1, "b": 1, "new": 1}, {"a": 1})
    world.parity.hidden.set({})
    verdict = world.verdict()
    assert worst(verdict) == (
        Health.UNKNOWN,
        "topics.no-data",
        {"topics": 1},
    )
    # What is not due yet waits for no answer.
    world.survey({"a": 1, "new": 1}, {"a": 1})
    world.now += MINUTE
    world.survey({"a": 1, "new": 1}, {"a": 1})
    world.parity.hidden.set({})
    assert world.verdict().health is Health.OK


@pytest.mark.parametrize("there", [{"a": 1}, {"a": 1, "b": 1}])
def test_a_topic_that_is_not_listed_for_a_minute_is_gone(
    there: dict[str, int],
) -> None:
    world = World()
    world.survey({"a": 1, "b": 2}, there)
    world.now += 30 * MINUTE
    before = world.survey({"a": 1, "b": 2}, there)
    world.survey({"a": 1}, there)
    world.now += MINUTE / 2
    assert world.survey({"a": 1}, there).health is before.health
    world.now += MINUTE / 2
    assert world.survey({"a": 1}, there).health is Health.OK
    assert sum(world.figures()) == 0
    # It is new when it is listed again.
    world.survey({"a": 1, "b": 2}, there)
    world.now += 15 * MINUTE
    assert world.survey({"a": 1, "b": 2}, there).health is Health.OK


def test_a_topic_that_is_not_listed_may_have_been_copied_by_then() -> None:
    world = World()
    world.survey({"a": 1, "b": 1}, {"a": 1})
    world.now += 30 * MINUTE
    assert world.survey({"a": 1, "b": 1}, {"a": 1}).health is Health.CRITICAL
    assert world.survey({"a": 1}, {"a": 1, "b": 1}).health is Health.OK


def test_a_topic_that_was_made_anew_is_a_new_one() -> None:
    world = World()
    world.survey({"b": facts(1, topic_id="old"), "a": 1}, {"a": 1})
    world.now += 15 * MINUTE
    world.survey({"b": facts(1, topic_id="new"), "a": 1}, {"a": 1})
    world.now += 6 * MINUTE
    verdict = world.survey({"b": facts(1, topic_id="new"), "a": 1}, {"a": 1})
    assert verdict.health is Health.OK


def test_what_the_mirror_does_not_want_is_told_at_once_and_once() -> None:
    world = World(wants="a.*")
    verdict = world.survey({"a": 1, "b": 1, "heartbeats": 1}, {"a": 1})
    assert verdict.health is Health.CRITICAL
    assert verdict.codes == ("topics.filtered", "topics.ok")
    assert verdict.findings[0].subject == {"topic": "b"}
    assert verdict.findings[0].numbers["topics"] == 1
    assert world.figures() == [1, 0]
    world.configure("a.*|b")
    verdict = world.survey({"a": 1, "b": 1}, {"a": 1, "b": 1})
    assert verdict.health is Health.OK


@pytest.mark.parametrize("chosen", [True, False])
def test_heartbeats_are_missed_of_mirrormaker_2_only(chosen: bool) -> None:
    topics = {"a": 1, "base.heartbeats": 1}
    for after in (".", None):
        world = World(wants="a", chosen=chosen, heartbeats_after=after)
        world.survey(topics, {"a": 1})
        world.now += 60 * MINUTE
        verdict = world.survey(topics, {"a": 1})
        assert ("topics.missing" in verdict.codes) is (after == ".")


def test_a_filter_is_believed_only_once_all_of_it_was_read() -> None:
    world = World(wants="older")
    verdict = world.survey({"a": 1}, {"a": 1}, caught_up=False)
    assert verdict.health is Health.UNKNOWN
    assert verdict.codes == ("topics.unreadable",)


def test_what_is_due_is_not_called_new_while_a_filter_is_read() -> None:
    world = World(refresh=MINUTE)
    world.survey({"a": 1, "b": 1}, {"a": 1})
    world.now += 3 * MINUTE
    assert world.survey({"a": 1, "b": 1}, {"a": 1}).health is Health.CRITICAL
    # A restarted agent does not know yet how often the mirror refreshes.
    world.start()
    verdict = world.survey({"a": 1, "b": 1}, {"a": 1}, caught_up=False)
    assert verdict.health is Health.UNKNOWN
    assert world.parity.sides.get() is None
    assert world.survey({"a": 1, "b": 1}, {"a": 1}).health is Health.CRITICAL


def test_a_flow_without_topics_carries_what_its_mirror_wants() -> None:
    world = World(wants="a.*", chosen=False)
    world.survey({"a": 1, "b": 1}, {"a": 1})
    world.now += 60 * MINUTE
    verdict = world.survey({"a": 1, "b": 1}, {"a": 1})
    assert verdict.health is Health.OK
    assert verdict.evidence["not_wanted_topics"] == "b"
    assert world.figures() == [0, 0]


def test_a_short_silence_of_a_cluster_changes_nothing_a_long_one_does() -> (
    None
):
    world = World()
    world.survey({"a": 1}, {"a": 1})
    world.now += timedelta(seconds=30)
    assert world.survey({"a": 1}, None).health is Health.OK
    world.now += MINUTE
    assert world.survey({"a": 1}, None).health is Health.UNKNOWN


def test_a_filter_that_only_java_reads_is_taken_for_unknown() -> None:
    verdict = World(wants=r"\Qa\E").survey({"b": 1}, {"b": 1})
    assert verdict.health is Health.OK


def test_partitions_that_the_mirror_should_have_added_are_a_warning() -> None:
    world = World(refresh=MINUTE)
    assert world.survey({"a": 3}, {"a": 2}).health is Health.OK
    world.now += timedelta(seconds=121)
    verdict = world.survey({"a": 3}, {"a": 2})
    assert worst(verdict) == (
        Health.WARNING,
        "topics.partitions",
        {
            "source_partitions": 3,
            "target_partitions": 2,
            "topics": 1,
            "seconds": 121,
        },
    )
    assert world.figures() == [0, 1]
    # Another growth is another wait.
    assert world.survey({"a": 4}, {"a": 3}).health is Health.OK


def test_partitions_that_only_the_target_has_are_told_at_once() -> None:
    verdict = World().survey({"a": 2}, {"a": 4})
    assert worst(verdict) == (
        Health.WARNING,
        "topics.partitions",
        {
            "source_partitions": 2,
            "target_partitions": 4,
            "topics": 1,
            "seconds": 0,
        },
    )


def test_many_topics_that_are_divided_otherwise_are_one_finding_each_way() -> (
    None
):
    world = World(refresh=MINUTE)
    here = {f"t{n}": 3 for n in range(9)}
    there = dict.fromkeys(here, 2) | {"t7": 5, "t8": 5}
    world.survey(here, there)
    world.now += timedelta(seconds=121)
    verdict = world.survey(here, there)
    fewer, more, _ = verdict.findings
    assert (fewer.subject, fewer.numbers["topics"]) == ({"topic": "t0"}, 7)
    assert (more.subject, more.numbers["topics"]) == ({"topic": "t7"}, 2)


def test_a_topic_that_the_mirror_leaves_alone_is_no_copy() -> None:
    for topics in ({"a": 1, "own": 2}, {"a": 1, "own": 9}):
        world = World(wants="a", chosen=False, refresh=MINUTE)
        world.survey({"a": 1, "own": 3}, topics)
        world.now += 60 * MINUTE
        verdict = world.survey({"a": 1, "own": 3}, topics)
        assert verdict.health is Health.OK
        assert world.figures() == [0, 0]


def test_what_is_left_over_or_replicated_otherwise_is_information() -> None:
    world = World()
    verdict = world.survey(
        {"a": facts(1, replicas=3)}, {"a": facts(1, replicas=2), "gone": 1}
    )
    assert verdict.health is Health.OK
    (seen,) = world.parity.observe(world.now)
    assert seen.left_over == ("gone",)
    assert seen.other_replication == ("a",)


def test_active_active_with_default_naming_is_no_cycle() -> None:
    world = World(DEFAULT)
    verdict = world.survey(
        dict.fromkeys(("x", "heartbeats", "ldf.x", "ldf.heartbeats"), 1),
        dict.fromkeys(("x", "summit.x", "heartbeats", "ldf"), 1)
        | dict.fromkeys(("summit.heartbeats", "summit.ldf"), 1),
    )
    assert verdict.health is Health.OK
    find(verdict, "topics.ok", topics=2)


def test_names_that_came_round_are_a_warning() -> None:
    topics = {"x": 1, "heartbeats": 1}
    there = {"x": 1, "summit.x": 1, "summit.heartbeats": 1}
    for name in ("summit.ldf.x", "summit.summit.heartbeats"):
        verdict = World(DEFAULT).survey(topics, {**there, name: 1})
        assert worst(verdict) == (
            Health.WARNING,
            "topics.loop",
            {"topics": 1},
        )
        assert verdict.findings[0].subject == {"topic": name}


def test_a_topic_that_is_taken_for_a_copy_is_told() -> None:
    world = World(DEFAULT)
    verdict = world.survey({"x": 1, "site.ldf.y": 1}, {"summit.x": 1})
    assert worst(verdict) == (
        Health.WARNING,
        "topics.misnamed",
        {"topics": 1, "alias": "ldf"},
    )
    assert verdict.findings[0].subject == {"topic": "site.ldf.y"}
    verdict = world.survey({"x": 1, "site.ldf.y": 1}, {"summit.x": 1, "y": 1})
    assert verdict.health is Health.OK


@pytest.mark.parametrize("loop", [True, False])
def test_topics_that_another_flow_copies_too(loop: bool) -> None:
    world = World()
    same = Conflict(other="back", loop=loop, topics=("a", "b"))
    verdict = world.survey(
        {"a": 1, "b": 1}, {"a": 1, "b": 1}, conflicts=(same,)
    )
    (found, _) = verdict.findings
    assert found.code == ("topics.loop" if loop else "topics.overlap")
    assert found.health is Health.CRITICAL
    assert found.subject == {"flow": "back", "topic": "a"}
    assert found.numbers["topics"] == 2
    world.survey({"a": 1}, {"a": 1})
    assert world.verdict().health is Health.OK
