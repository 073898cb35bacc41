"""Where the ranges of a night begin and end."""

from dataclasses import replace
from datetime import timedelta

from mirrorwatch.domain.audit.plan import AuditSpan
from tests.support.audit_world import SLACK, World, a_copied_world, lane_of

HOUR = timedelta(hours=1)


def test_a_partition_at_rest_is_cut_at_both_ends() -> None:
    world = a_copied_world()
    outcome = world.night()
    lane = lane_of(outcome)
    assert (lane.cut, lane.span) == ("idle", AuditSpan(0, 30))
    assert lane.sources[0].span == AuditSpan(0, 30)
    assert (outcome.unverifiable, outcome.stated) == ((), ())
    assert len(lane_of(world.night()).span) == 0


def test_a_partition_is_not_at_rest_while_it_is_written() -> None:
    world = a_copied_world()
    lane = lane_of(world.night(write=2, copy=1))
    assert lane.cut == "sync"
    source, target = world.sides(lane)
    assert source == target


def test_a_sync_is_a_cut_up_to_its_own_record() -> None:
    world = a_copied_world()
    world.write(1)
    lane = lane_of(world.night())
    assert (lane.cut, lane.span) == ("sync", AuditSpan(0, 28))


def test_without_syncs_the_cut_is_by_time() -> None:
    world = a_copied_world(syncs_every=None)
    world.write(3)
    lane = lane_of(world.night())
    assert (lane.cut, lane.sources[0].span) == ("timestamp", AuditSpan(0, 30))
    assert lane.span == AuditSpan(0, 30)


def test_an_old_sync_is_no_cut_where_time_can_be_one() -> None:
    world = a_copied_world(syncs_every=None)
    world.syncs = [(4, 4)]
    world.write(3)
    assert lane_of(world.night()).cut == "timestamp"
    world = replace(world, timestamps=False, ends=type(world.ends)())
    assert lane_of(world.night()).cut == "sync"


def test_what_is_behind_the_position_is_in_flight() -> None:
    world = a_copied_world()
    world.write(10)
    world.now += HOUR
    outcome = world.night()
    assert [s.count for s in outcome.stated] == [10]
    assert [s.kind for s in outcome.stated] == ["in_flight"]
    source, target = world.sides(lane_of(outcome))
    assert source == target


def test_a_marker_at_the_end_is_no_record_in_flight() -> None:
    world = a_copied_world()
    world.mark()
    outcome = world.night()
    assert (lane_of(outcome).cut, outcome.stated) == ("idle", ())
    assert lane_of(outcome).sources[0].span == AuditSpan(0, 31)


def test_a_drop_below_the_position_is_within_the_range() -> None:
    world = a_copied_world()
    world.write(10)
    world.drop(2)
    world.copy(8)
    world.commit()
    world.now += HOUR
    source, target = world.sides(lane_of(world.night()))
    assert set(source) - set(target) == {30, 31}
    assert lane_of(world.night()).sources[0].position == 40


def test_a_record_from_the_future_does_not_stop_the_audit() -> None:
    world = a_copied_world()
    world.source[5] = world.stamps[5] = world.now + timedelta(days=30_000)
    world.write(3)
    lane = lane_of(world.night())
    assert lane.sources[0].span.end == 28
    world = a_copied_world(syncs_every=None)
    world.source[5] = world.stamps[5] = world.now + timedelta(days=30_000)
    world.write(3)
    assert lane_of(world.night()).sources[0].span == AuditSpan(0, 5)
    world.write(3)
    outcome = world.night()
    assert outcome.lane is None
    assert len(outcome.unverifiable) == 1


def test_without_syncs_a_range_begins_a_slack_after_what_is_left() -> None:
    world = World(syncs_every=None)
    for _ in range(24):
        world.write(1)
        world.now += HOUR
    world.copy(24)
    world.commit()
    world.source_start = 4
    lane = lane_of(world.night())
    source, target = world.sides(lane)
    # The record at exactly six hours after the oldest one is not older.
    assert source == target == list(range(10, 24))
    assert timedelta(hours=6) == SLACK


def test_missed_nights_are_made_up_by_days_and_come_to_an_end() -> None:
    world = World()
    for _ in range(5 * 24):
        world.write(1)
        world.now += HOUR
    world.copy(200)
    world.commit()
    found: list[int] = []
    more, pieces = True, 0
    while more:
        outcome = world.night()
        source, target = world.sides(lane_of(outcome))
        assert source == target
        assert len(source) <= 36
        found += source
        more, pieces = outcome.more, pieces + 1
    assert found == list(range(5 * 24))
    assert pieces == 5


def test_records_of_years_ago_do_not_make_thousands_of_nights() -> None:
    world = World()
    world.write(1, early=timedelta(days=4000))
    world.write(50)
    world.copy(51)
    world.commit()
    world.now += HOUR
    pieces = 1
    while world.night().more:
        pieces += 1
    assert pieces < 60
