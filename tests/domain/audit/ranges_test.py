"""Where a night ends, and what keeps it from going further."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.audit.facts import (
    MOST,
    AuditFound,
    PairedLogs,
    Question,
    RecordAt,
    Retention,
    SyncHistory,
    newest_sync,
    oldest_sync,
)
from mirrorwatch.domain.audit.plan import (
    AuditedEnd,
    AuditedEnds,
    AuditSpan,
    TimeWindow,
    ends_after,
)
from mirrorwatch.domain.audit.ranges import (
    AlignedOffsets,
    PlanningOutcome,
    align,
    settled_of,
)
from mirrorwatch.domain.mirror_records import Sync
from tests.domain.audit.plan_test import NOW, merged_plan, minutes
from tests.support.audit import FROZEN_AT, a_pair, a_plan
from tests.support.audit_spark import (
    SETTLE,
    SLACK,
    World,
    a_copied_world,
    looking,
    pair_of,
)
from tests.support.builders import NOON


def test_a_sync_of_a_record_that_is_young_is_no_cut() -> None:
    world = a_copied_world(syncs_every=1)
    # The last ten have not settled, and others follow.
    world.now += SETTLE - timedelta(hours=1, seconds=10)
    pair = pair_of(world.night(write=1))
    assert pair.cut == "sync"
    at = pair.cut_at
    assert at is not None
    settled = sum(t is not None and t < at for t in world.source)
    assert 0 < settled < 30
    assert pair.sources[0].span == pair.span == AuditSpan(0, settled)


class Mute(World):
    """One whose record at the position cannot be read."""

    def _answer(self, question: Question) -> AuditFound:
        if isinstance(question, RecordAt):
            return AuditFound(None, failed=True)
        return super()._answer(question)


def test_nothing_is_cut_by_time_where_it_is_not_known_what_waits() -> None:
    world = Mute(syncs_every=None)
    world.write(30)
    world.copy(20)
    world.commit()
    world.now += timedelta(hours=1)
    outcome = world.night()
    assert outcome.pair is None
    (gap,) = outcome.unverifiable
    assert gap.records == 20
    assert "offsets is known to start from" in gap.reason


def an_end(flow: str, source_end: int, target_end: int) -> AuditedEnd:
    return AuditedEnd(
        flow=flow,
        topic="t",
        partition=0,
        source_end=source_end,
        target_end=target_end,
        source_id=f"id {flow[0]}",
        target_id="id hub",
        cut_at=NOON,
    )


def test_syncs_of_one_of_several_sources_cut_nothing() -> None:
    pair = pair_of(
        merged_plan(
            {"a": minutes(1, 3, 5, 7), "b": minutes(2, 4, 6)},
            minutes(1, 2, 3, 5, 7),
            positions={"a": 4, "b": 1},
            syncs=((2, 3),),
        )
    )
    assert pair.cut == "timestamp"


@pytest.mark.parametrize("target_end", [3, 4])
def test_a_side_that_was_cut_later_does_not_go_back(target_end: int) -> None:
    outcome = merged_plan(
        {"a": minutes(1, 3, 5, 7), "b": minutes(2, 4, 6)},
        minutes(1, 2, 3, 5, 7),
        positions={"a": 4, "b": 1},
        ends=[an_end("a->hub", 3, target_end), an_end("b->hub", 1, 3)],
    )
    # What waits of b has minute 4, and of a minute 5 was audited.
    pair = pair_of(outcome)
    assert [s.span for s in pair.sources] == [AuditSpan(3, 3), AuditSpan(1, 1)]
    assert pair.span == AuditSpan(target_end, target_end)


def test_what_is_skipped_of_a_source_as_another_expired_is_told() -> None:
    outcome = merged_plan(
        {"a": minutes(*range(0, 1000, 100)), "b": minutes(50, 250, 950)},
        minutes(0, 50, *range(100, 1000, 50)),
        positions={"a": 10, "b": 3},
        ends=[an_end("a->hub", 1, 2), an_end("b->hub", 0, 2)],
        starts={"b": 1},
        now=NOON + timedelta(days=1),
    )
    pair = pair_of(outcome)
    starts = {source.flow: source.span.start for source in pair.sources}
    # Six hours after what is left of b.
    assert starts == {"a->hub": 7, "b->hub": 2}
    gaps = {gap.flow: gap for gap in outcome.unverifiable}
    assert gaps["b->hub"].reason == "expired at the source before the audit"
    assert gaps["b->hub"].records == 2
    assert gaps["a->hub"].records == 7 - 1
    assert gaps["a->hub"].reason == (
        "of b->hub, which feeds the same target topic: "
        "expired at the source before the audit"
    )


def test_sources_that_cannot_begin_anew_are_all_told() -> None:
    outcome = merged_plan(
        {"a": minutes(1, 3, 5), "b": minutes(2, 4)},
        minutes(1, 2, 3, 4, 5),
        positions={"a": 3, "b": 1},
        ends=[an_end("a->hub", 1, 2), an_end("b->hub", 0, 2)],
        starts={"b": 1},
    )
    assert outcome.pair is None
    assert [(gap.flow, gap.records) for gap in outcome.unverifiable] == [
        ("a->hub", None),
        ("b->hub", None),
    ]


def test_a_time_before_the_range_of_all_sources_cuts_nothing() -> None:
    outcome = merged_plan(
        {"a": minutes(1, 3, 2, 9)},
        minutes(0, 0, 0, 9),
        positions={"a": 2},
        ends=[an_end("a->hub", 2, 2)],
    )
    pair = pair_of(outcome)
    assert pair.sources[0].span == pair.span == AuditSpan(2, 2)


STEP = timedelta(minutes=10)

SLACK_STEPS = SLACK // STEP


def a_long_world(*syncs: tuple[int, int]) -> World:
    """Return a hundred records, ten minutes apart, of which ten expired."""
    world = World(syncs_every=None)
    for _ in range(100):
        world.write(1)
        world.now += STEP - timedelta(seconds=1)
    world.copy(100)
    world.commit()
    world.syncs = list(syncs)
    world.source_start = world.target_start = 10
    return world


def aligned(
    world: World, *, floor: AlignedOffsets | None = None, **changes: object
) -> AlignedOffsets | None:
    pair: PairedLogs = world.freeze(write=1)
    pair = replace(pair, **changes)  # type: ignore[arg-type]
    assert pair.target is not None
    look = looking(world.answer)
    return align(look, pair, pair.target, SLACK, floor=floor)


def at(offset: int) -> AlignedOffsets:
    return AlignedOffsets(sources=(offset,), target=offset)


def test_the_first_of_a_sync_and_a_time_counts() -> None:
    by_time = at(10 + SLACK_STEPS)
    assert aligned(a_long_world()) == by_time
    assert aligned(a_long_world((20, 20))) == at(20)
    assert aligned(a_long_world((60, 60))) == by_time


def test_nothing_is_compared_below_a_floor() -> None:
    assert aligned(a_long_world(), floor=at(70)) == at(70)
    world = a_long_world((60, 60), (80, 80))
    assert aligned(world, floor=at(70), timestamps=False) == at(80)


def test_a_target_that_was_never_written_begins_with_the_source() -> None:
    world = a_long_world()
    world.target, world.stamps, world.target_start = [], [], 0
    assert aligned(world) == AlignedOffsets(sources=(10,), target=0)


def test_a_mirror_before_that_time_may_copy_what_is_before_it() -> None:
    world = a_long_world()
    end = 5 + SLACK_STEPS
    world.target, world.stamps = world.target[:end], world.stamps[:end]
    world.committed = end
    assert aligned(world) is None
    # Past it, the copies that are missing there will not come any more.
    world.committed = 10 + SLACK_STEPS
    assert aligned(world) == AlignedOffsets(
        sources=(10 + SLACK_STEPS,), target=end
    )


@pytest.mark.parametrize("timestamps", [True, False])
def test_syncs_of_one_of_several_sources_are_none(*, timestamps: bool) -> None:
    world = a_long_world((20, 20))
    sources = world.freeze().sources * 2
    found = aligned(world, sources=sources, timestamps=timestamps)
    both = AlignedOffsets(
        sources=(10 + SLACK_STEPS,) * 2, target=10 + SLACK_STEPS
    )
    whole = AlignedOffsets(sources=(100, 100), target=100)
    assert found == (both if timestamps else whole)


def test_ends_belong_together_only_at_rest() -> None:
    rests = a_long_world().freeze().sources
    busy = a_long_world().freeze(write=1).sources
    world = a_long_world()
    assert aligned(world, timestamps=False, sources=busy) is None
    assert aligned(world, timestamps=False, sources=rests) == at(100)
    behind = tuple(replace(source, position=99) for source in rests)
    assert aligned(world, timestamps=False, sources=behind) is None


def a_world_that_skipped(count: int, *, starts_at_end: bool | None) -> World:
    """Return one whose mirror read past its first records."""
    world = World(starts_at_end=starts_at_end)
    world.write(30)
    world.drop(count)
    world.copy(30 - count)
    world.commit()
    world.now = a_copied_world().now
    return world


def test_all_is_compared_if_the_mirror_begins_at_the_start() -> None:
    world = a_world_that_skipped(4, starts_at_end=False)
    outcome = world.night()
    source, _ = world.sides(pair_of(outcome))
    assert source == list(range(30))
    assert outcome.unverifiable == ()


def test_what_it_skipped_is_not_compared_if_it_begins_at_the_end() -> None:
    world = a_world_that_skipped(4, starts_at_end=True)
    outcome = world.night()
    assert world.sides(pair_of(outcome)) == (list(range(4, 30)),) * 2
    assert outcome.unverifiable == ()


def test_what_may_be_lost_or_skipped_is_unverifiable() -> None:
    world = a_world_that_skipped(4, starts_at_end=None)
    outcome = world.night()
    assert world.sides(pair_of(outcome)) == (list(range(4, 30)),) * 2
    (gap,) = outcome.unverifiable
    assert gap.records == 4
    assert "auto.offset.reset" in gap.reason
    assert world.night().unverifiable == ()


def a_world_that_only_committed(*, starts_at_end: bool | None) -> World:
    """Return one whose consumer group is at the log end, and copied nothing:
    a consumer commits where it begins.
    """
    world = World(starts_at_end=starts_at_end)
    world.write(30)
    world.position = world.committed = 30
    world.now = a_copied_world().now
    return world


def asked_from(outcome: PlanningOutcome) -> int:
    (source,) = pair_of(outcome).sources
    return source.asked_from


@pytest.mark.parametrize("starts_at_end", [None, True])
@pytest.mark.parametrize("there", [True, False])
def test_what_a_group_passed_before_its_first_copy_may_be_skipped(
    *, starts_at_end: bool | None, there: bool
) -> None:
    world = a_world_that_only_committed(starts_at_end=starts_at_end)
    assert asked_from(world.night(there=there)) == 30
    # From there on it is to copy all.
    world.write(3)
    world.position = world.committed = 33
    world.now += HOUR
    outcome = world.night(there=there)
    assert pair_of(outcome).sources[0].span == AuditSpan(30, 33)
    assert asked_from(outcome) == 0


@pytest.mark.parametrize("there", [True, False])
def test_what_a_group_passed_that_begins_at_the_start_is_missing(
    *, there: bool
) -> None:
    world = a_world_that_only_committed(starts_at_end=False)
    assert asked_from(world.night(there=there)) == 0


@pytest.mark.parametrize("copies", [0, 3])
def test_what_was_not_settled_when_a_group_began_may_be_skipped(
    copies: int,
) -> None:
    world = World(starts_at_end=None, syncs_every=None)
    world.write(30)
    world.position = world.committed = 30
    assert len(pair_of(world.night()).sources[0].span) == 0
    world.write(3)
    world.copy(copies)
    world.position = world.committed = 33
    world.now += HOUR
    outcome = world.night()
    assert pair_of(outcome).sources[0].span == AuditSpan(0, 33)
    assert asked_from(outcome) == 30
    # Then all that follows is asked for.
    world.write(3)
    assert asked_from(world.night()) == 0


def test_what_was_audited_before_the_mirror_ran_may_be_skipped() -> None:
    """It was left to the next night, which knows a position."""
    world = World(starts_at_end=True, syncs_every=1)
    world.write(30)
    world.now += HOUR
    outcome = world.night()
    assert pair_of(outcome).sources[0].position is None
    world.position = 30
    world.write(5)
    world.copy(5)
    world.commit()
    world.now += HOUR
    assert asked_from(world.night()) == 30


@pytest.mark.parametrize("starts_at_end", [None, False, True])
def test_a_mirror_that_skipped_nothing_is_compared_whole(
    starts_at_end: bool | None,
) -> None:
    world = a_copied_world()
    world.starts_at_end = starts_at_end
    outcome = world.night()
    assert world.sides(pair_of(outcome)) == (list(range(30)),) * 2
    assert outcome.unverifiable == ()


DAY = timedelta(days=1)


def ends_of(*topics: str) -> AuditedEnds:
    return ends_after(a_plan(*map(a_pair, topics)), AuditedEnds())


def named(ends: AuditedEnds) -> dict[str, int]:
    return {end.topic: end.source_end for end in ends.ends}


def test_a_night_moves_its_own_ends_and_leaves_the_others() -> None:
    plan = a_plan(a_pair("a", source=(10, 25)))
    assert named(ends_after(plan, ends_of("a", "b"))) == {"a": 25, "b": 10}


def test_an_end_knows_what_it_is_an_end_of() -> None:
    pair = replace(a_pair("a", target=(0, 12)), cut_at=NOON)
    (end,) = ends_after(a_plan(pair), AuditedEnds()).ends
    assert (end.source_id, end.target_id) == ("a at summit", "a at ldf")
    assert (end.source_end, end.target_end) == (10, 12)
    assert (end.position, end.cut_at) == (10, NOON)
    (end,) = ends_after(a_plan(a_pair("a")), AuditedEnds()).ends
    assert end.cut_at == FROZEN_AT


def test_a_window_moves_nothing() -> None:
    before = ends_of("a")
    window = TimeWindow(NOON - DAY, NOON)
    plan = a_plan(a_pair("a", source=(10, 25)), window=window)
    assert ends_after(plan, before) is before


def test_ends_of_topics_that_are_no_more_are_of_none() -> None:
    plan = replace(a_plan(a_pair("a")), gone=(("summit->ldf", "b"),))
    after = ends_after(plan, ends_of("a", "b"))
    ids = {end.topic: end.source_id for end in after.ends}
    assert ids == {"a": "a at summit", "b": ""}
    later = replace(plan, at=FROZEN_AT + 100 * DAY, gone=())
    assert named(ends_after(later, after)) == {"a": 10}


def test_a_topic_that_comes_back_begins_behind_the_copies_of_the_old() -> None:
    """They are no records that were never at the source."""
    world = a_copied_world()
    world.night()
    gone = replace(a_plan(), at=world.now, gone=(("flow", "t"),))
    world.ends = ends_after(replace(gone, pairs=()), world.ends)
    world.now += DAY
    world.source, world.position, world.ids = [], 0, ("another", "target")
    world.write(10)
    world.copy(10)
    world.now += HOUR
    world.syncs, world.committed = [(0, 30), (9, 39)], 10
    outcome = world.night()
    assert outcome.pair is None or pair_of(outcome).span.start >= 30
    (gap,) = outcome.unverifiable
    assert "at the source was deleted and recreated" in gap.reason


@pytest.mark.parametrize(
    ("by_time", "by_bytes", "kept"),
    [
        (86_400_000, -1, True),
        (86_400_000, 10**9, False),
        (86_400_000, None, False),
        (3_600_000, -1, False),
        (None, -1, False),
        (-1, -1, True),
    ],
)
def test_what_may_expire_by_age_or_size_is_not_sure_to_be_kept(
    *, by_time: int | None, by_bytes: int | None, kept: bool
) -> None:
    retention = Retention.of(by_time, by_bytes)
    assert retention.kept_since(NOON, NOON + DAY / 2) is kept


def test_markers_before_a_record_that_waits_do_not_wait() -> None:
    world = a_copied_world()
    world.mark()
    world.write(3)
    world.now += timedelta(hours=1)
    outcome = world.night()
    assert [stated.count for stated in outcome.stated] == [3]
    assert pair_of(outcome).sources[0].position == 31


def test_a_position_says_nothing_of_what_was_written_later() -> None:
    world = a_copied_world(syncs_every=1)
    pair = pair_of(world.night(write=5, copy=2))
    assert world.syncs[-1] == (33, 33)
    assert pair.sources[0].span.end == 30
    assert pair.sources[0].position == 30


class Expired(World):
    """One whose cluster is asked for nothing that it lost."""

    def _answer(self, question: Question) -> AuditFound:
        if isinstance(question, RecordAt):
            assert question.offset >= question.log.retained.start
        return super()._answer(question)


def test_a_position_in_what_expired_is_looked_for_where_the_log_begins() -> (
    None
):
    world = Expired()
    world.write(30)
    world.copy(10)
    world.commit()
    world.source_start = 20
    later = world.now + timedelta(hours=1)
    (source,) = world.freeze().sources
    found = settled_of(looking(world.answer), source, later, later)
    assert found.position == 20


PLACE = ("t", 0)


def collect(
    *pairs: tuple[int, int], floor: int = 0
) -> tuple[tuple[int, int], ...]:
    history = SyncHistory({PLACE: floor})
    for upstream, downstream in pairs:
        history.take(
            Sync(
                topic="t",
                partition=0,
                upstream=upstream,
                downstream=downstream,
                written_at=NOON,
            )
        )
    return history.of(PLACE)


def test_a_re_reading_mirror_is_no_place_to_cut() -> None:
    assert collect((0, 0), (9, 9), (5, 15), (8, 18), (12, 22)) == (
        (0, 0),
        (9, 9),
        (12, 22),
    )


def test_pairs_of_a_target_that_was_recreated_replace_all_others() -> None:
    assert collect((0, 0), (90, 90), (91, 0), (99, 8)) == ((91, 0), (99, 8))


def test_what_is_below_the_floor_is_of_no_concern() -> None:
    assert collect((0, 0), (9, 9), (12, 12), floor=9) == ((9, 9), (12, 12))
    history = SyncHistory({})
    assert history.of(PLACE) == ()


def test_of_very_many_the_newest_and_some_of_all_are_kept() -> None:
    kept = collect(*((n, n) for n in range(10_000)))
    assert len(kept) <= MOST
    assert kept[-1] == (9_999, 9_999)
    gaps = [b[0] - a[0] for a, b in pairwise(kept)]
    assert kept[0] == (0, 0)
    assert max(gaps) <= 2 * 10_000 / MOST


def test_pairs_are_found_between_others_on_both_sides() -> None:
    pairs = ((5, 1), (9, 4), (12, 9))
    assert newest_sync(pairs, (5, 0), (12, 8)) == (9, 4)
    assert newest_sync(pairs, (10, 0), (11, 9)) is None
    assert oldest_sync(pairs, (5, 2)) == (9, 4)
    assert oldest_sync(pairs, (13, 0)) is None


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50))))
def test_pairs_ascend_on_both_sides(pairs: list[tuple[int, int]]) -> None:
    kept = collect(*pairs)
    for before, after in pairwise(kept):
        assert before[0] < after[0]
        assert before[1] <= after[1]


HOUR = timedelta(hours=1)


def test_what_a_mirror_that_goes_on_has_not_copied_is_in_flight() -> None:
    world = a_copied_world()
    world.write(10)
    world.now += HOUR
    world.night()
    world.copy(4)
    world.commit()
    outcome = world.night()
    assert outcome.unverifiable == ()
    assert [stated.count for stated in outcome.stated] == [6]


def test_a_log_that_is_not_whole_and_cannot_be_paired_is_told() -> None:
    world = a_copied_world(timestamps=False, syncs_every=None)
    world.source_start = 10
    outcome = world.night(write=1)
    assert outcome.pair is None
    (gap,) = outcome.unverifiable
    assert gap.records == 20
    assert "no pair of source and target offsets" in gap.reason


def test_what_expired_is_told_though_the_rest_cannot_be_cut() -> None:
    whole = World(syncs_every=None)
    for _ in range(100):
        whole.write(1)
        whole.now += STEP
    whole.copy(5)
    whole.commit()
    whole.night()
    world = Mute(**vars(whole))
    world.copy(75)
    world.commit()
    world.source_start = world.target_start = 10
    outcome = world.night()
    assert outcome.pair is None
    expired, uncut = (gap.reason for gap in outcome.unverifiable)
    assert "expired at the source" in expired
    assert "offsets is known to start from" in uncut


def test_a_partition_that_rests_for_days_is_up_to_date_at_once() -> None:
    world = a_copied_world()
    world.night()
    world.now += timedelta(days=5)
    outcome = world.night()
    assert pair_of(outcome).cut_at == world.now - SETTLE
    assert not outcome.more


def a_renewed_world(count: int) -> World:
    """Return one whose topics were made again, shorter."""
    before = a_copied_world()
    before.night()
    world = a_copied_world(count)
    world.ids, world.ends = ("another", "one"), before.ends
    return world


def test_offsets_of_another_topic_are_no_floor() -> None:
    outcome = a_renewed_world(10).night()
    (source,) = pair_of(outcome).sources
    assert source.span.start <= source.span.end == 10
    (gap,) = outcome.unverifiable
    assert gap.records is None


def test_another_topic_is_audited_from_where_both_sides_hold_it() -> None:
    before = a_long_world()
    before.night()
    world = a_long_world()
    world.ids, world.ends = ("another", "one"), before.ends
    pair = pair_of(world.night(write=1))
    assert pair.sources[0].span.start == 10 + SLACK_STEPS < 100


def test_syncs_of_another_topic_are_no_begin() -> None:
    world = a_renewed_world(10)
    world.syncs = [(5, 2)]
    pair = pair_of(world.night())
    assert (pair.sources[0].span.start, pair.span.start) != (5, 2)


def test_of_several_sources_the_one_that_is_furthest_behind_counts() -> None:
    end = AuditedEnd(
        flow="a->hub",
        topic="t",
        partition=0,
        source_end=0,
        target_end=0,
        source_id="id a",
        target_id="id hub",
        cut_at=NOON,
    )
    late = replace(
        end,
        flow="b->hub",
        source_id="id b",
        cut_at=NOON - timedelta(days=3),
    )
    outcome = merged_plan(
        {"a": minutes(1, 3, 700), "b": minutes(2, 4)},
        minutes(1, 2, 3, 4, 700),
        positions={"a": 3, "b": 2},
        ends=[end, late],
        now=NOW + timedelta(hours=2),
        steady=False,
    )
    assert outcome.more


@pytest.mark.parametrize(("source_id", "begin"), [("id a", 2), ("gone", 0)])
def test_records_without_a_target_are_missed_once(
    source_id: str, begin: int
) -> None:
    end = AuditedEnd(
        flow="a->hub",
        topic="t",
        partition=0,
        source_end=2,
        target_end=0,
        source_id=source_id,
        target_id="",
        cut_at=NOON,
    )
    outcome = merged_plan(
        {"a": minutes(1, 2, 3)}, None, positions={"a": 3}, ends=[end]
    )
    assert pair_of(outcome).sources[0].span == AuditSpan(begin, 3)
