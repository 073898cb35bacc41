"""Up to where partitions were audited, once a night is over."""

from dataclasses import replace
from datetime import timedelta

import pytest

from mirrorwatch.domain.audit.facts import Retention
from mirrorwatch.domain.audit.plan import AuditedEnds, TimeWindow, ends_after
from tests.support.builders import NOON
from tests.support.plans import FROZEN_AT, a_lane, a_plan

DAY = timedelta(days=1)


def ends_of(*topics: str) -> AuditedEnds:
    return ends_after(a_plan(*map(a_lane, topics)), AuditedEnds())


def named(ends: AuditedEnds) -> dict[str, int]:
    return {end.topic: end.source_end for end in ends.ends}


def test_a_night_moves_its_own_ends_and_leaves_the_others() -> None:
    plan = a_plan(a_lane("a", source=(10, 25)))
    assert named(ends_after(plan, ends_of("a", "b"))) == {"a": 25, "b": 10}


def test_an_end_knows_what_it_is_an_end_of() -> None:
    lane = replace(a_lane("a", target=(0, 12)), cut_at=NOON)
    (end,) = ends_after(a_plan(lane), AuditedEnds()).ends
    assert (end.source_id, end.target_id) == ("a at summit", "a at ldf")
    assert (end.source_end, end.target_end) == (10, 12)
    assert (end.position, end.cut_at) == (10, NOON)
    (end,) = ends_after(a_plan(a_lane("a")), AuditedEnds()).ends
    assert end.cut_at == FROZEN_AT


def test_a_window_moves_nothing() -> None:
    before = ends_of("a")
    window = TimeWindow(NOON - DAY, NOON)
    plan = a_plan(a_lane("a", source=(10, 25)), window=window)
    assert ends_after(plan, before) is before


def test_ends_of_topics_that_are_no_more_are_forgotten() -> None:
    plan = replace(a_plan(a_lane("a")), gone=(("summit->ldf", "b"),))
    assert named(ends_after(plan, ends_of("a", "b"))) == {"a": 10}


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
