"""Where the ranges of a night begin and end."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.audit.plan import AuditSpan, PartitionPair
from mirrorwatch.domain.audit.ranges import PlanningOutcome
from tests.support.audit_spark import SLACK, World, a_copied_world, pair_of

HOUR = timedelta(hours=1)


def test_a_partition_at_rest_is_cut_at_both_ends() -> None:
    world = a_copied_world()
    outcome = world.night()
    pair = pair_of(outcome)
    assert (pair.cut, pair.span) == ("idle", AuditSpan(0, 30))
    assert pair.sources[0].span == AuditSpan(0, 30)
    assert (outcome.unverifiable, outcome.stated) == ((), ())
    assert len(pair_of(world.night()).span) == 0


def test_a_partition_is_not_at_rest_while_it_is_written() -> None:
    world = a_copied_world()
    pair = pair_of(world.night(write=2, copy=1))
    assert pair.cut == "sync"
    source, target = world.sides(pair)
    assert source == target


def test_a_sync_is_a_cut_up_to_its_own_record() -> None:
    world = a_copied_world()
    world.write(1)
    pair = pair_of(world.night())
    assert (pair.cut, pair.span) == ("sync", AuditSpan(0, 28))


def test_without_syncs_the_cut_is_by_time() -> None:
    world = a_copied_world(syncs_every=None)
    world.write(3)
    pair = pair_of(world.night())
    assert (pair.cut, pair.sources[0].span) == ("timestamp", AuditSpan(0, 30))
    assert pair.span == AuditSpan(0, 30)


def test_an_old_sync_is_no_cut_where_time_can_be_one() -> None:
    world = a_copied_world(syncs_every=None)
    world.syncs = [(4, 4)]
    world.write(3)
    assert pair_of(world.night()).cut == "timestamp"
    world = replace(world, timestamps=False, ends=type(world.ends)())
    assert pair_of(world.night()).cut == "sync"


def test_what_is_behind_the_position_is_in_flight() -> None:
    world = a_copied_world()
    world.write(10)
    world.now += HOUR
    outcome = world.night()
    assert [s.count for s in outcome.stated] == [10]
    assert [s.kind for s in outcome.stated] == ["in_flight"]
    source, target = world.sides(pair_of(outcome))
    assert source == target


def test_a_marker_at_the_end_is_no_record_in_flight() -> None:
    world = a_copied_world()
    world.mark()
    outcome = world.night()
    assert (pair_of(outcome).cut, outcome.stated) == ("idle", ())
    assert pair_of(outcome).sources[0].span == AuditSpan(0, 31)


def test_a_drop_below_the_position_is_within_the_range() -> None:
    world = a_copied_world()
    world.write(10)
    world.drop(2)
    world.copy(8)
    world.commit()
    world.now += HOUR
    source, target = world.sides(pair_of(world.night()))
    assert set(source) - set(target) == {30, 31}
    assert pair_of(world.night()).sources[0].position == 40


def test_a_record_from_the_future_does_not_stop_the_audit() -> None:
    world = a_copied_world()
    world.source[5] = world.stamps[5] = world.now + timedelta(days=30_000)
    world.write(3)
    pair = pair_of(world.night())
    assert pair.sources[0].span.end == 28
    world = a_copied_world(syncs_every=None)
    world.source[5] = world.stamps[5] = world.now + timedelta(days=30_000)
    world.write(3)
    assert pair_of(world.night()).sources[0].span == AuditSpan(0, 5)
    world.write(3)
    outcome = world.night()
    assert outcome.pair is None
    assert len(outcome.unverifiable) == 1


def test_without_syncs_a_range_begins_a_slack_after_what_is_left() -> None:
    world = World(syncs_every=None)
    for _ in range(24):
        world.write(1)
        world.now += HOUR
    world.copy(24)
    world.commit()
    world.source_start = 4
    pair = pair_of(world.night())
    source, target = world.sides(pair)
    # The record at exactly six hours after the oldest one is not older.
    assert source == target == list(range(10, 24))
    assert timedelta(hours=6) == SLACK


@pytest.mark.parametrize("syncs_every", [None, 100])
def test_copies_of_what_is_written_meanwhile_are_of_records_behind_the_range(
    syncs_every: int | None,
) -> None:
    world = World(syncs_every=syncs_every)
    world.write(30, early=HOUR)
    world.copy(30)
    world.commit()
    pair = pair_of(world.night(write=3, copy=3, early=HOUR))
    (source,) = pair.sources
    # No time can leave them out of the target's range.
    assert (pair.cut, pair.span) == ("timestamp", AuditSpan(0, 33))
    assert source.span == AuditSpan(0, 30)
    # So they are looked for there, and carried: not extra tonight, and not
    # dropped the next night.
    assert source.retained == AuditSpan(0, 33)


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
        source, target = world.sides(pair_of(outcome))
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


def test_without_timestamps_and_syncs_nothing_is_cut() -> None:
    world = a_copied_world(syncs_every=None, timestamps=False)
    world.write(3)
    outcome = world.night()
    assert outcome.pair is None
    (gap,) = outcome.unverifiable
    assert gap.records == 30
    assert "offsets is known to start from" in gap.reason


def test_what_is_still_behind_it_on_the_next_night_is_unverifiable() -> None:
    world = a_copied_world()
    world.write(10)
    world.now += HOUR
    world.night()
    world.night()
    outcome = world.night()
    assert outcome.stated == ()
    assert [gap.records for gap in outcome.unverifiable] == [10]


@pytest.mark.parametrize("side", ["source", "target"])
def test_what_expired_before_it_was_audited_is_unverifiable(
    side: str,
) -> None:
    world = a_copied_world(20)
    world.night()
    world.write(40)
    world.copy(40)
    world.commit()
    world.now += HOUR
    setattr(world, f"{side}_start", 31)
    outcome = world.night()
    (gap,) = outcome.unverifiable
    assert gap.reason == f"expired at the {side} before the audit"
    source, target = world.sides(pair_of(outcome))
    assert source == target == list(range(33, 60))
    assert gap.records == 13


@pytest.mark.parametrize("number", [0, 1])
def test_another_topic_is_audited_anew(number: int) -> None:
    world = a_copied_world()
    world.night()
    ids = list(world.ids)
    ids[number] = "another"
    world.ids = (ids[0], ids[1])
    outcome = world.night()
    (gap,) = outcome.unverifiable
    side = ("source", "target")[number]
    assert f"topic at the {side} was deleted and recreated" in gap.reason
    assert gap.records is None


def test_a_log_that_became_shorter_is_told() -> None:
    world = a_copied_world()
    world.night()
    del world.source[20:], world.target[20:], world.stamps[20:]
    world.syncs = [s for s in world.syncs if s[0] < 20]
    world.committed = world.position = 20
    assert "was truncated" in world.night().unverifiable[0].reason


deeds = st.one_of(
    st.tuples(st.just("write"), st.integers(1, 12)),
    st.tuples(st.just("late"), st.integers(1, 300)),
    st.tuples(st.just("copy"), st.integers(1, 12)),
    st.tuples(st.just("mark"), st.just(0)),
    st.tuples(st.just("commit"), st.just(0)),
    st.tuples(st.just("wait"), st.integers(1, 2000)),
    st.tuples(st.just("expire source"), st.integers(1, 5)),
    st.tuples(st.just("expire target"), st.integers(1, 5)),
    st.tuples(st.just("night"), st.integers(0, 3)),
)
faults = st.one_of(
    deeds,
    st.tuples(st.just("drop"), st.integers(1, 5)),
    st.tuples(st.just("rewind"), st.integers(1, 9)),
)
worlds = st.builds(
    World,
    timestamps=st.booleans(),
    syncs_every=st.sampled_from([None, 1, 2, 7]),
)


def nights(
    world: World, history: list[tuple[str, int]]
) -> Iterator[PlanningOutcome]:
    """Live through a history; return the nights that compare something."""
    for deed, count in history:
        if deed != "night":
            world.do(deed, count)
            continue
        outcome = world.night(write=count, copy=count)
        if outcome.pair is not None:
            yield outcome


@given(st.lists(deeds, max_size=60), worlds)
def test_a_faithful_mirror_always_gives_two_equal_ranges(
    history: list[tuple[str, int]], world: World
) -> None:
    audited: PartitionPair | None = None
    sent: list[int] = []
    arrived: list[int] = []
    known = True
    for outcome in nights(world, history):
        pair = pair_of(outcome)
        source = pair.sources[0]
        if (
            audited is None
            or source.span.start != audited.sources[0].span.end
            or pair.span.start != audited.span.end
        ):
            assert audited is None or outcome.unverifiable
            sent, arrived, known = [], [], True
        here, there = world.sides(pair)
        sent += here
        arrived += there
        known = known and (source.position is not None or not sent)
        # What waits while no position is known is carried, and found later.
        waiting = sent[len(arrived) :]
        assert arrived == sent[: len(arrived)]
        assert not (known and waiting)
        beyond = world.target[pair.span.end :]
        assert all(
            source.position is None
            or offset >= source.position
            or offset in beyond
            for offset in waiting
        )
        audited = pair


@given(st.lists(faults, max_size=60), worlds)
def test_only_what_was_dropped_is_missing_below_a_position(
    history: list[tuple[str, int]], world: World
) -> None:
    audited = 0
    for outcome in nights(world, history):
        pair = pair_of(outcome)
        (source,) = pair.sources
        assert source.span.start >= audited
        assert source.span.end >= source.span.start
        assert pair.span.end >= pair.span.start
        audited = source.span.end
        there = set(world.target[: pair.retained.end])
        missing = {
            offset
            for offset in world.sides(pair)[0]
            if offset < (source.position or 0)
        } - there
        assert missing <= world.dropped
