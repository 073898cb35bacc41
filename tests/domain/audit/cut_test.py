"""Where a night ends, and what keeps it from going further."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.audit.facts import AuditFound, Question, RecordAt
from mirrorwatch.domain.audit.plan import AuditedEnd, AuditSpan
from tests.domain.audit.merged_test import minutes, plan
from tests.support.audit_world import SETTLE, World, a_copied_world, lane_of
from tests.support.builders import NOON


def test_a_sync_of_a_record_that_is_young_is_no_cut() -> None:
    world = a_copied_world(syncs_every=1)
    # The last ten have not settled, and others follow.
    world.now += SETTLE - timedelta(hours=1, seconds=10)
    lane = lane_of(world.night(write=1))
    assert lane.cut == "sync"
    at = lane.cut_at
    assert at is not None
    settled = sum(t is not None and t < at for t in world.source)
    assert 0 < settled < 30
    assert lane.sources[0].span == lane.span == AuditSpan(0, settled)


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
    assert outcome.lane is None
    (gap,) = outcome.unverifiable
    assert gap.records == 20
    assert "no place is known" in gap.reason


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
    lane = lane_of(
        plan(
            {"a": minutes(1, 3, 5, 7), "b": minutes(2, 4, 6)},
            minutes(1, 2, 3, 5, 7),
            positions={"a": 4, "b": 1},
            syncs=((2, 3),),
        )
    )
    assert lane.cut == "timestamp"


@pytest.mark.parametrize("target_end", [3, 4])
def test_a_side_that_was_cut_later_does_not_go_back(target_end: int) -> None:
    outcome = plan(
        {"a": minutes(1, 3, 5, 7), "b": minutes(2, 4, 6)},
        minutes(1, 2, 3, 5, 7),
        positions={"a": 4, "b": 1},
        ends=[an_end("a->hub", 3, target_end), an_end("b->hub", 1, 3)],
    )
    # What waits of b has minute 4, and of a minute 5 was audited.
    lane = lane_of(outcome)
    assert [s.span for s in lane.sources] == [AuditSpan(3, 3), AuditSpan(1, 1)]
    assert lane.span == AuditSpan(target_end, target_end)


def test_a_time_before_the_range_of_all_sources_cuts_nothing() -> None:
    outcome = plan(
        {"a": minutes(1, 3, 2, 9)},
        minutes(0, 0, 0, 9),
        positions={"a": 2},
        ends=[an_end("a->hub", 2, 2)],
    )
    lane = lane_of(outcome)
    assert lane.sources[0].span == lane.span == AuditSpan(2, 2)
