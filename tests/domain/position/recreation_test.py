"""Topics that were made again."""

from datetime import timedelta
from typing import Any

import pytest

from mirrorwatch.domain.position.model import Reset, ResetKind
from mirrorwatch.domain.report import Health

from .world import Log, World, grow


def remade(end: int, start: int = 0, **more: Any) -> World:
    """Return a world in which a topic was made again, mirror down."""
    world = World.settled(**more)
    world.source["t"] = Log("s2", {0: end}, {0: start})
    world.tick()
    return world


def test_one_that_grew_past_the_position_is_critical_at_once() -> None:
    world = remade(300)
    reset = world.reset()
    assert (reset.kind, reset.first, reset.end) == (
        ResetKind.SOURCE_RECREATED,
        0,
        100,
    )
    assert world.verdict().health is Health.CRITICAL
    world.find(
        "recreated", topic="t", records=0, records_at_risk=100, open_resets=1
    )


def test_a_mirror_that_goes_on_loses_what_lies_before() -> None:
    world = remade(300)
    world.sync(100, 100)
    world.settle()
    assert (world.reset().first, world.reset().end) == (0, 100)
    world.find("recreated", topic="t", records=100)
    assert world.verdict().health is Health.CRITICAL


def test_a_sync_that_comes_a_hundred_records_later_says_the_same() -> None:
    world = remade(300)
    world.sync(170, 170)
    world.settle()
    assert (world.reset().first, world.reset().end) == (0, 100)


def test_where_copies_are_not_counted_more_may_lie_before() -> None:
    world = remade(300, merged=["t"])
    world.sync(170, 170)
    world.settle()
    assert (world.reset().first, world.reset().end) == (0, 100)
    world.find("recreated", records=0, records_at_least=100)


@pytest.mark.parametrize("first", [0, 5])
@pytest.mark.parametrize("others", [set(), {("t", 0)}])
def test_where_it_began_is_believed_as_its_copies_show_it(
    first: int, others: set[tuple[str, int]]
) -> None:
    # The first syncs failed, and two tasks copied, or others write there.
    world = remade(60)
    world.foreign = others
    world.first_copies = {("t", 0): ("s2", first)}
    world.sync(50, 190)
    world.settle()
    assert (world.reset().first, world.reset().end) == (0, first)
    health = Health.CRITICAL if first else Health.WARNING
    assert world.verdict().health is health
    world.find("recreated", records=first)


def test_copies_of_another_topic_show_nothing_of_this_one() -> None:
    world = remade(300)
    world.first_copies = {("t", 0): ("s1", 5)}
    world.sync(100, 100)
    world.settle()
    world.find("recreated", records=100)


def test_more_copies_than_there_were_records_show_nothing() -> None:
    world = remade(60)
    world.sync(50, 190)
    world.settle()
    assert (world.reset().first, world.reset().end) == (0, 50)
    assert world.verdict().health is Health.WARNING
    world.find("recreated", records=0, records_at_most=50)
    # As long as a loss is: it may be one.
    world.now += timedelta(minutes=50)
    world.tick()
    world.find("recreated", records=0, records_at_most=50)


@pytest.mark.parametrize("pair", [(50, 150), (0, 103)])
def test_as_many_copies_as_there_were_records_leave_no_doubt(
    pair: tuple[int, int],
) -> None:
    # The last records of the old topic may come after it is gone.
    world = remade(60)
    world.sync(*pair)
    world.settle()
    world.find("recreated", records=0, open_resets=0)
    assert not world.reset().at_most


def test_what_expired_of_a_recreated_topic_was_not_copied_either() -> None:
    # Each log begins at 0. Where it begins when it is first seen says nothing
    # of where the mirror began.
    world = remade(300, start=40)
    world.sync(100, 100)
    world.settle()
    assert (world.reset().first, world.reset().end) == (0, 100)


def test_what_expires_beyond_the_position_is_lost_already() -> None:
    # It was not counted while the mirror was down (new world 9994000259).
    world = remade(300, start=40)
    world.tick()
    assert [(r.first, r.end) for r in world.resets] == [(0, 100)]
    world.source["t"].starts[0] = 120
    world.tick(2)
    world.source["t"].starts[0] = 130
    world.tick()
    assert [(r.kind, r.first, r.end) for r in world.resets] == [
        (ResetKind.SOURCE_RECREATED, 0, 100),
        (ResetKind.EXPIRED, 100, 130),
    ]
    world.find("expired-unread", records=30, ranges="partition 0: 100-129")
    # It goes on at the log start: all that it left out is one range.
    world.source["t"].starts[0] = 140
    grow(world, 300)
    world.target["t"].ends[0] = 110
    world.sync(140, 100)
    world.settle()
    assert (world.reset().first, world.reset().end) == (0, 140)
    assert world.reset().settled is not None


def test_what_expired_stays_told_where_copies_do_not_count() -> None:
    world = remade(300)
    world.source["t"].starts[0] = 120
    world.tick(2)
    # Others write there, too: more copies than there were records.
    world.target["t"].ends[0] = 500
    world.sync(250, 450)
    world.settle()
    found = {r.kind: (r.first, r.end, r.at_most) for r in world.resets}
    assert found[ResetKind.EXPIRED] == (100, 120, False)
    assert found[ResetKind.SOURCE_RECREATED] == (0, 250, True)
    assert all(r.settled is not None for r in world.resets)


@pytest.mark.parametrize("before", [False, True])
def test_what_expires_of_a_recreated_topic_may_have_been_copied(
    before: bool,
) -> None:
    world = World.settled()
    world.source["t"] = Log("s2", {0: 300})
    if before:
        world.target["t"].ends[0] = 350
    world.tick()
    if not before:
        world.target["t"].ends[0] = 350
    world.source["t"].starts[0] = 200
    world.tick(3)
    assert world.reset().kind is ResetKind.SOURCE_RECREATED
    world.sync(250, 350)
    world.target["t"].ends[0] = 400
    world.settle()
    assert world.reset().harmless


def test_a_shorter_one_is_critical_until_the_mirror_begins_anew() -> None:
    world = remade(30)
    assert world.verdict().health is Health.CRITICAL
    world.find("recreated", records_at_risk=0, open_resets=1)
    world.sync(0, 100)
    world.settle()
    assert world.verdict().health is Health.WARNING
    world.find("recreated", records=0, open_resets=0)
    assert [r.kind for r in world.resets] == [ResetKind.SOURCE_RECREATED]


def test_an_empty_one_is_a_warning_until_it_holds_records() -> None:
    world = remade(0)
    assert world.verdict().health is Health.WARNING
    world.find("recreated", records_at_risk=0)
    world.source["t"].ends[0] = 20
    world.tick()
    assert world.verdict().health is Health.CRITICAL


def test_a_late_sync_of_the_old_topic_decides_nothing() -> None:
    world = World.settled()
    world.source["t"] = Log("s2", {0: 300})
    world.target["t"].ends[0] = 105
    world.tick()
    # Copied before, written by the flush after.
    world.sync(104, 104)
    world.settle()
    assert world.reset().settled is None
    world.sync(105, 105)
    world.settle()
    # The five may have been of the new topic as well.
    assert (world.reset().first, world.reset().end) == (0, 100)
    assert world.reset().at_least


def rewound(source_end: int = 100) -> World:
    """Return a world whose mirror copies all again, as far as 100 records."""
    world = World.settled()
    world.source["t"].ends[0] = source_end
    world.target["t"].ends[0] = 200
    world.sync(1, 101)
    world.tick()
    return world


def recreation(world: World) -> Reset:
    kind = ResetKind.SOURCE_RECREATED
    (found,) = (reset for reset in world.resets if reset.kind is kind)
    return found


def test_a_rewind_of_the_old_topic_decides_nothing() -> None:
    # It went on at the end of the new topic.
    world = rewound()
    world.source["t"], world.target["t"].ends[0] = Log("s2", {0: 15}), 210
    world.sync(99, 199)
    world.tick()
    assert recreation(world).settled is None
    world.sync(5, 200)
    world.settle()
    assert (recreation(world).first, recreation(world).end) == (0, 5)


def test_what_two_tasks_copied_of_the_old_topic_decides_nothing() -> None:
    # It was read as the topic was recreated, and both went on in the new one.
    world = World.settled()
    world.source["t"].ends[0], world.target["t"].ends[0] = 103, 105
    world.tick()
    world.source["t"], world.target["t"].ends[0] = Log("s2", {0: 130}), 131
    world.first_copies = {("t", 0): ("s2", 103)}
    world.sync(101, 101)
    world.sync(101, 102)
    world.settle()
    assert recreation(world).settled is None
    world.source["t"].ends[0], world.target["t"].ends[0] = 140, 141
    world.sync(139, 140)
    world.settle()
    assert (recreation(world).first, recreation(world).end) == (0, 103)


def test_a_late_sync_of_two_tasks_decides_nothing() -> None:
    # They had copied more of the old topic when it was recreated, each record
    # twice; the mirror went on at the end of the new one.
    world = World.settled()
    world.source["t"].ends[0], world.target["t"].ends[0] = 103, 105
    world.tick()
    world.source["t"], world.target["t"].ends[0] = Log("s2", {0: 150}), 131
    world.tick()
    world.first_copies = {("t", 0): ("s2", 140)}
    world.sync(115, 120)
    world.settle()
    assert recreation(world).settled is None
    world.source["t"].ends[0], world.target["t"].ends[0] = 160, 141
    world.sync(149, 140)
    world.settle()
    assert (recreation(world).first, recreation(world).end) == (0, 140)
    assert not recreation(world).at_least


def test_a_mirror_that_began_anew_after_a_rewind_lost_nothing() -> None:
    world = rewound()
    world.source["t"], world.target["t"].ends[0] = Log("s2", {0: 15}), 215
    world.sync(99, 199)
    world.sync(0, 200)
    world.settle()
    assert recreation(world).count == 0


def test_what_a_rewound_mirror_copied_again_hides_nothing() -> None:
    world = rewound(150)
    world.source["t"] = Log("s2", {0: 15})
    world.tick()
    assert recreation(world).gone == 50


def test_a_sync_beyond_the_new_end_decides_nothing() -> None:
    world = remade(30)
    world.sync(99, 99)
    world.sync(104, 104)
    world.settle()
    assert world.reset().settled is None


def test_a_running_mirror_may_have_begun_anew_before_it_was_seen() -> None:
    world = World.settled()
    world.source["t"] = Log("s2", {0: 30})
    world.target["t"].ends[0] = 130
    world.sync(0, 100)
    world.sync(29, 129)
    world.tick(3)
    assert world.verdict().health is Health.WARNING
    assert world.reset().harmless


@pytest.mark.parametrize("unread", [0, 5])
def test_what_a_deleted_topic_held_unread_is_told_for_an_hour(
    unread: int,
) -> None:
    world = World.settled()
    world.source["t"].ends[0] += unread
    world.tick()
    world.source["t"] = Log("s2", {0: 30})
    world.target["t"].ends[0] = 130
    world.sync(0, 100)
    world.sync(29, 129)
    world.tick(3)
    assert world.reset().gone == unread
    world.now += timedelta(minutes=30)
    world.tick()
    told = Health.WARNING if unread else Health.OK
    assert world.verdict().health is told
    world.now += timedelta(minutes=35)
    world.tick()
    assert world.verdict().health is Health.OK


def test_a_commit_decides_where_there_are_no_syncs() -> None:
    for position, health in ((30, Health.WARNING), (250, Health.CRITICAL)):
        world = World()
        world.commit(100)
        world.tick(3)
        world.source["t"] = Log("s2", {0: 300})
        world.tick()
        world.commit(position)
        world.settle()
        assert world.verdict().health is health
        lost = 100 if health is Health.CRITICAL else 0
        assert world.reset().count == lost


def test_commits_of_the_old_topic_are_not_of_the_new_one() -> None:
    world = remade(30)
    world.commit(100)
    world.tick(2)
    world.sync(0, 100)
    world.tick(8)
    assert ResetKind.BEYOND not in {r.kind for r in world.resets}
    world.commit(30)
    world.settle()
    assert ResetKind.REWIND not in {r.kind for r in world.resets}


def test_what_the_mirror_had_not_copied_of_the_old_one_is_told() -> None:
    world = World.settled()
    world.source["t"].ends[0] = 140
    world.tick()
    world.source["t"] = Log("s2", {0: 30})
    world.tick()
    world.find("recreated", old_records_at_most=40)


def test_what_was_written_over_what_was_copied_is_of_it() -> None:
    world = World.settled()
    world.source["t"].ends[0] = world.target["t"].ends[0] = 120
    world.tick()
    world.source["t"].ends[0] = 110  # truncated by another leader
    world.tick()
    world.source["t"].ends[0] = 140
    world.tick()
    world.source["t"] = Log("s2", {0: 30})
    world.tick()
    assert world.reset().gone == 40


@pytest.mark.parametrize("hidden", ["topic", "source"])
def test_it_is_told_too_if_the_topic_was_away_for_some_surveys(
    hidden: str,
) -> None:
    world = World.settled()
    world.source["t"].ends[0] = 140
    world.tick()
    if hidden == "topic":
        del world.source["t"]
    else:
        world.answers["summit"] = False
    world.tick(5)
    world.answers["summit"] = True
    world.source["t"] = Log("s2", {0: 30})
    world.tick(2)
    assert world.reset().gone == 40
    world.find("recreated", old_records_at_most=40)


@pytest.mark.parametrize("unread", [0, 40])
def test_it_is_not_known_if_the_agent_was_away(unread: int) -> None:
    world = World.settled()
    world.source["t"].ends[0] += unread
    world.tick()
    world.source["t"] = Log("s2", {0: 30})
    world.restart()
    world.sync(0, 100)
    world.tick(4)
    assert world.verdict().health is Health.WARNING
    world.find("recreated", old_records_at_most=unread or None)
    world.now += timedelta(minutes=50)
    world.tick()
    assert world.verdict().health is Health.WARNING
    world.now += timedelta(minutes=15)
    world.tick()
    assert world.verdict().health is Health.OK


def test_one_made_again_while_the_agent_was_away_is_seen() -> None:
    world = World.settled()
    world.source["t"] = Log("s2", {0: 300})
    world.restart()
    world.tick(2)
    assert (world.reset().first, world.reset().end) == (0, 100)
    assert world.seen.counts == {"t": 1}
    world.restart()
    world.tick(2)
    assert world.seen.counts == {"t": 1}


def test_one_that_went_on_meanwhile_is_bounded_by_what_is_known() -> None:
    world = World.settled()
    world.tick()
    world.source["t"] = Log("s2", {0: 300})
    # Of the old topic or of the new one: nobody can tell.
    world.sync(250, 250)
    world.target["t"].ends[0] = 300
    world.restart()
    world.tick(4)
    assert (world.reset().first, world.reset().end) == (0, 100)
    assert world.reset().at_least
    assert world.verdict().health is Health.CRITICAL


def test_each_partition_has_its_own_range() -> None:
    world = World.settled()
    world.source["t"].ends[1] = world.target["t"].ends[1] = 10
    world.sync(9, 9, n=1)
    world.settle()
    world.source["t"] = Log("s2", {0: 300, 1: 5})
    world.tick()
    world.sync(100, 100)
    world.sync(0, 10, n=1)
    world.settle()
    found = {r.partition: (r.count, r.harmless) for r in world.resets}
    assert found == {0: (100, False), 1: (0, True)}
    world.find("recreated", records=100, resets=2)


@pytest.mark.parametrize("again", [False, True])
def test_a_topic_that_goes_away_is_no_alarm(again: bool) -> None:
    world = World.settled()
    log = world.source.pop("t")
    world.settle()
    assert (world.resets, world.verdict().health) == ((), Health.OK)
    if again:
        world.source["t"] = Log("s2", {0: 300})
        world.tick()
        assert world.reset().kind is ResetKind.SOURCE_RECREATED
    else:
        world.source["t"] = log
        world.settle()
        assert world.resets == ()


def test_new_topics_and_partitions_are_no_alarm() -> None:
    world = World.settled()
    world.source["new"] = Log("s3", {0: 50})
    world.source["t"].ends[1] = 20
    world.tick()
    world.target["new"] = Log("t3", {0: 50})
    world.target["t"].ends[1] = 20
    world.sync(0, 0, "new")
    world.sync(0, 0, n=1)
    world.settle()
    world.commit(50, "new")
    world.commit(20, partition=1)
    world.settle()
    assert (world.resets, world.verdict().health) == ((), Health.OK)


def test_what_was_never_copied_of_one_that_is_made_again_is_told() -> None:
    # Partitions that MirrorMaker had not found yet went with their topic, and
    # nothing was said of them (seed 41000121).
    world = World.settled()
    world.source["new"] = Log("s3", {0: 50, 1: 20}, {1: 15})
    world.settle()
    world.source["new"] = Log("s4", {0: 50, 1: 0})
    world.settle()
    assert [(r.partition, r.gone) for r in world.resets] == [(0, 50), (1, 5)]
    assert world.verdict().health is Health.WARNING
    world.find("recreated", topic="new", records=0, old_records_at_most=55)


@pytest.mark.parametrize("unread", [0, 20])
def test_what_was_never_copied_is_told_over_a_restart(unread: int) -> None:
    # Which partitions were not copied yet was forgotten.
    world = World.settled()
    world.source["new"] = Log("s3", {0: unread})
    world.settle()
    world.restart()
    world.source["new"] = Log("s4", {0: 0})
    world.settle()
    assert world.verdict().health is Health.WARNING
    world.find("recreated", old_records_at_most=unread or None)
    # Once is enough.
    world.restart()
    world.source["new"] = Log("s4", {0: 5})
    world.settle()
    assert len(world.resets) == 1


def test_what_is_copied_by_now_or_is_there_no_more_is_not_told() -> None:
    world = World.settled()
    world.source["new"] = Log("s3", {0: 20, 1: 20})
    world.settle()
    world.target["new"] = Log("t3", {0: 20, 1: 20})
    for partition in (0, 1):
        world.sync(19, 19, "new", partition)
    world.settle()
    world.restart()
    world.settle()
    assert (world.resets, world.verdict().health) == ((), Health.OK)


def test_what_was_never_copied_is_told_if_the_topic_was_hidden_before() -> (
    None
):
    # Only the survey just before was asked (new world 9994000209).
    world = World.settled()
    world.source["t"].ends[1] = 20
    world.tick()
    del world.source["t"]
    world.tick(5)
    world.source["t"] = Log("s2", {0: 0, 1: 0})
    world.tick(2)
    assert [(r.partition, r.gone) for r in world.resets] == [(0, 0), (1, 20)]
    world.find("recreated", old_records_at_most=20)
    # It is of that topic alone.
    world.source["t"] = Log("s3", {0: 0, 1: 0})
    world.tick(2)
    assert [r.gone for r in world.resets if r.partition == 1] == [20]


@pytest.mark.parametrize("copied", [False, True])
def test_what_was_hidden_for_a_while_lost_nothing(copied: bool) -> None:
    world = World.settled()
    world.source["t"].ends[1] = 20
    world.tick()
    topic = world.source.pop("t")
    world.tick(2)
    if copied:
        world.target["t"].ends[1] = 20
        world.sync(19, 19, n=1)
        world.source["t"] = topic
        world.settle()
        topic = Log("s2", {0: 0, 1: 0})
    world.source["t"] = topic
    world.settle()
    assert not any(reset.gone for reset in world.resets)


def test_an_empty_one_that_is_made_again_lost_nothing() -> None:
    world = World.settled()
    world.source["new"] = Log("s3", {0: 0})
    world.settle()
    world.source["new"] = Log("s4", {0: 50})
    world.settle()
    assert world.resets == ()


@pytest.mark.parametrize("restarts", [False, True])
def test_one_that_is_made_again_twice_before_the_mirror_says_anything(
    restarts: bool,
) -> None:
    # What was in the topic between the two may not have been copied, and the
    # mirror had shown nothing of it (seed 20001109).
    world = remade(300)
    if restarts:
        world.restart()
        world.tick(2)
    world.source["t"] = Log("s3", {0: 40})
    world.tick(2)
    (reset,) = world.resets
    assert (reset.first, reset.end, reset.gone) == (0, 100, 300)
    assert world.verdict().health is Health.CRITICAL
    # The first record that it copies of the third one decides.
    world.target["t"].ends[0] = 140
    world.sync(0, 100)
    world.settle()
    assert world.verdict().health is Health.WARNING
    world.find("recreated", records=0, open_resets=0, old_records_at_most=300)


def test_syncs_read_just_before_are_of_the_old_topic() -> None:
    world = World.settled()
    world.source["t"].ends[0] = 150
    world.sync(120, 120)
    world.tick()
    # Both are made again before the agent looks once more.
    world.source["t"] = Log("s2", {0: 300})
    world.target["t"] = Log("t2", {0: 0})
    world.settle()
    reset = world.reset()
    assert (reset.kind, reset.end) == (ResetKind.SOURCE_RECREATED, 121)
    assert reset.settled is None
    # Its copies are gone with what they were of.
    assert reset.target_end == 0


def remade_at_both(end: int, copied: int) -> World:
    """Return a world in which a topic was recreated at both sides while the
    agent was away.
    """
    world = World.settled()
    world.restart()
    world.source["t"] = Log("s2", {0: end})
    world.target["t"] = Log("t2", {0: copied})
    return world


@pytest.mark.parametrize("synced", [True, False])
def test_a_topic_recreated_at_both_sides_while_the_agent_was_away(
    synced: bool,
) -> None:
    world = remade_at_both(80, 80)
    if synced:
        world.sync(0, 0)
        world.sync(79, 79)
    world.settle()
    grow(world, 90)
    world.sync(89, 89)
    world.settle()
    assert world.reset().harmless
    assert world.verdict().health is Health.WARNING
    assert world.reset().now


def test_a_mirror_that_goes_on_in_a_topic_recreated_at_both_sides() -> None:
    world = remade_at_both(180, 80)
    world.sync(100, 0)
    world.sync(179, 79)
    world.settle()
    # It may have copied the old topic to the new one at the target, first.
    world.source["t"].ends[0], world.target["t"].ends[0] = 190, 90
    world.sync(189, 89)
    world.settle()
    assert (world.reset().first, world.reset().end) == (0, 100)
    assert world.verdict().health is Health.CRITICAL
    world.find("recreated", records_at_least=100)


def test_a_target_topic_recreated_after_the_source_topic() -> None:
    world = remade(30)
    world.target["t"] = Log("t2", {0: 0})
    world.tick()
    assert world.reset().settled is None
    world.target["t"].ends[0] = 30
    world.sync(10, 10)
    world.settle()
    assert world.reset().harmless
    assert world.reset().now


def test_a_topic_without_copies_is_not_recreated_at_the_target() -> None:
    world = World()
    world.source["t"].ends[0] = world.target["t"].ends[0] = 0
    world.commit(0)
    world.tick(3)
    world.source["t"] = Log("s2", {0: 5})
    world.tick(2)
    world.sync(0, 0)
    world.target["t"].ends[0] = 5
    world.settle()
    assert world.reset().harmless
    assert not world.reset().now


def of_two_partitions(**source: Any) -> World:
    """Return a world in which a topic of two partitions was recreated: 5
    records of the second one were not copied.
    """
    world = World()
    world.source["t"].ends[1] = world.target["t"].ends[1] = 50
    world.commit(100)
    world.sync(99, 99)
    world.commit(50, partition=1)
    world.sync(49, 49, n=1)
    world.tick(2)
    world.source["t"].ends[1] = 55
    world.tick()
    assert world.seen.partitions == 2
    world.source["t"] = Log("s2", {0: 30}, **source)
    world.tick()
    return world


@pytest.mark.parametrize("restarts", [True, False])
def test_partitions_that_the_new_topic_lacks_are_told_for_an_hour(
    *, restarts: bool
) -> None:
    world = of_two_partitions()
    assert world.seen.partitions == 1
    world.find("recreated", old_records_at_most=5, open_resets=1, resets=2)
    assert world.seen.counts == {"t": 2}
    world.target["t"].ends[0] = 130
    world.sync(0, 100)
    # Late, of what was copied before.
    world.sync(52, 52, n=1)
    world.commit(53, partition=1)
    world.settle()
    if restarts:
        world.restart()
        world.settle()
    world.now += timedelta(minutes=30)
    world.tick(2)
    assert world.verdict().health is Health.WARNING
    world.find("recreated", old_records_at_most=5, open_resets=0)
    world.now += timedelta(minutes=35)
    world.tick(2)
    assert world.verdict().health is Health.OK
    assert world.seen.partitions == 1


def test_a_position_in_a_partition_that_is_gone_is_kept_for_the_next() -> None:
    world = of_two_partitions()
    world.now += timedelta(minutes=70)
    world.tick(2)
    world.find("recreated", records_at_risk=0, resets=1)
    world.restart()
    world.settle()
    # It had no such partition, so nothing of it was left uncopied.
    world.source["t"] = Log("s3", {0: 0})
    world.tick()
    world.find("recreated", resets=1)
    assert sum(r.gone for r in world.resets) == 30  # of the other one
    world.source["t"] = Log("s4", {0: 0, 1: 80})
    world.tick()
    assert world.verdict().health is Health.CRITICAL
    world.find("recreated", records_at_risk=50)
    assert not any(r.unseen for r in world.resets)


def test_a_recreated_topic_that_grows_is_read_from_the_old_position() -> None:
    world = of_two_partitions()
    world.tick(20)
    world.source["t"].ends[1] = 80
    world.tick()
    world.find("recreated", records=0, records_at_risk=50)
    world.sync(50, 50, n=1)
    world.settle()
    world.find("recreated", records=50)


def test_a_partition_that_has_no_leader_is_still_there() -> None:
    world = of_two_partitions(leaderless=1)
    for _ in range(20):
        assert not any(r.away for r in world.resets)
        assert [r.settled for r in world.resets] == [None, None]
        assert world.seen.partitions == 2
        world.tick()
    world.source["t"] = Log("s2", {0: 30, 1: 80})
    world.tick()
    world.find("recreated", records_at_risk=50)


def test_commits_of_a_partition_that_is_gone_decide_nothing() -> None:
    world = World()
    world.source["t"].ends[1] = world.target["t"].ends[1] = 50
    world.commit(100)
    world.commit(50, partition=1)
    world.tick(3)
    world.source["t"] = Log("s2", {0: 30})
    world.tick()
    world.commit(53, partition=1)
    world.settle()
    assert not any(r.count for r in world.resets if r.settled)


def test_a_state_file_in_which_such_a_partition_is_open() -> None:
    world = of_two_partitions(leaderless=1)
    assert len(world.resets) == 2
    world.source["t"].leaderless = 0
    world.restart()
    world.now += timedelta(minutes=2)
    world.tick(2)
    assert [r.away for r in world.resets] == [False, False]
    world.now += timedelta(minutes=2)
    world.tick()
    assert [r.away for r in world.resets] == [False, True]
    world.find("recreated", resets=1)
