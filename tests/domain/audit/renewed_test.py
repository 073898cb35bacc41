"""Where a night begins in a topic that is another one, or in several."""

from dataclasses import replace
from datetime import timedelta

import pytest

from mirrorwatch.domain.audit.plan import AuditedEnd, AuditSpan
from tests.domain.audit.alignment_test import SLACK_STEPS, a_long_world
from tests.domain.audit.merged_test import NOW, minutes, plan
from tests.support.audit_world import World, a_copied_world, lane_of
from tests.support.builders import NOON


def a_renewed_world(count: int) -> World:
    """Return one whose topics were made again, shorter."""
    before = a_copied_world()
    before.night()
    world = a_copied_world(count)
    world.ids, world.ends = ("another", "one"), before.ends
    return world


def test_offsets_of_another_topic_are_no_floor() -> None:
    outcome = a_renewed_world(10).night()
    (source,) = lane_of(outcome).sources
    assert source.span.start <= source.span.end == 10
    (gap,) = outcome.unverifiable
    assert gap.records is None


def test_another_topic_is_audited_from_where_both_sides_hold_it() -> None:
    before = a_long_world()
    before.night()
    world = a_long_world()
    world.ids, world.ends = ("another", "one"), before.ends
    lane = lane_of(world.night(write=1))
    assert lane.sources[0].span.start == 10 + SLACK_STEPS < 100


def test_syncs_of_another_topic_are_no_begin() -> None:
    world = a_renewed_world(10)
    world.syncs = [(5, 2)]
    lane = lane_of(world.night())
    assert (lane.sources[0].span.start, lane.span.start) != (5, 2)


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
    outcome = plan(
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
    outcome = plan(
        {"a": minutes(1, 2, 3)}, None, positions={"a": 3}, ends=[end]
    )
    assert lane_of(outcome).sources[0].span == AuditSpan(begin, 3)
