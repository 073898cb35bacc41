"""Topics that the target has, and how they differ."""

from datetime import timedelta

from mirrorwatch.domain.report import Health

from .world import DEFAULT, MINUTE, World, facts


def test_partitions_that_the_mirror_should_have_added_are_a_warning() -> None:
    world = World(refresh=MINUTE)
    assert world.survey({"a": 3}, {"a": 2}).health is Health.OK
    world.now += timedelta(seconds=121)
    verdict = world.survey({"a": 3}, {"a": 2})
    assert verdict.health is Health.WARNING
    assert verdict.reason.startswith(
        "a has 3 partitions at summit and only 2 at ldf for 2 min"
    )
    assert world.figures() == [0, 1]
    # Another growth is another wait.
    assert world.survey({"a": 4}, {"a": 3}).health is Health.OK


def test_partitions_that_only_the_target_has_are_told_at_once() -> None:
    verdict = World().survey({"a": 2}, {"a": 4})
    assert verdict.health is Health.WARNING
    assert verdict.reason.startswith("a has 4 partitions at ldf and only 2 at")


def test_many_topics_that_are_divided_otherwise_are_told_in_one_sentence() -> (
    None
):
    world = World(refresh=MINUTE)
    here = {f"t{n}": 3 for n in range(9)}
    there = dict.fromkeys(here, 2) | {"t7": 5, "t8": 5}
    world.survey(here, there)
    world.now += timedelta(seconds=121)
    verdict = world.survey(here, there)
    assert verdict.reason.startswith("t0 has 3 partitions at summit and only ")
    assert "ALTER the topic? (likewise t1, t2, t3 and 3 more)" in (
        verdict.reason
    )
    also = {k: v for k, v in verdict.evidence.items() if k.startswith("also")}
    assert str(also.pop("also_1")).endswith("anew with fewer (likewise t8)")
    assert also == {}
    assert verdict.evidence["partition_mismatches"] == 9


def test_a_topic_that_the_mirror_leaves_alone_is_no_copy() -> None:
    for topics in ({"a": 1, "own": 2}, {"a": 1, "own": 9}):
        world = World(wants="a", chosen=False, refresh=MINUTE)
        world.survey({"a": 1, "own": 3}, topics)
        world.now += 60 * MINUTE
        verdict = world.survey({"a": 1, "own": 3}, topics)
        assert verdict.health is Health.OK
        assert world.figures() == [0, 0]


def test_what_is_left_over_or_replicated_otherwise_is_information() -> None:
    verdict = World().survey(
        {"a": facts(1, replicas=3)}, {"a": facts(1, replicas=2), "gone": 1}
    )
    assert verdict.health is Health.OK
    assert verdict.evidence["only_at_target_topics"] == "gone"
    assert verdict.evidence["other_replication_factor_topics"] == "a"


def test_active_active_with_default_naming_is_no_cycle() -> None:
    world = World(DEFAULT)
    verdict = world.survey(
        dict.fromkeys(("x", "heartbeats", "ldf.x", "ldf.heartbeats"), 1),
        dict.fromkeys(("x", "summit.x", "heartbeats", "ldf"), 1)
        | dict.fromkeys(("summit.heartbeats", "summit.ldf"), 1),
    )
    assert verdict.health is Health.OK
    assert verdict.evidence["topics"] == 2


def test_names_that_came_round_are_a_warning() -> None:
    topics = {"x": 1, "heartbeats": 1}
    there = {"x": 1, "summit.x": 1, "summit.heartbeats": 1}
    for name in ("summit.ldf.x", "summit.summit.heartbeats"):
        verdict = World(DEFAULT).survey(topics, {**there, name: 1})
        assert verdict.health is Health.WARNING
        assert f"came round to where they began: {name}." in verdict.reason
