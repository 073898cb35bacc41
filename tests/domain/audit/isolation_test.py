"""What a night says of records behind the position that may be aborted."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.audit.ranges import PlanningOutcome
from tests.support.audit_world import World, a_copied_world

LAST = set(range(30, 35))
"""Source offsets of the last five records."""


def a_waiting_world(
    aborted: set[int], *, read_committed: bool | None
) -> World:
    """Return one whose last five records were not copied, for hours."""
    world = a_copied_world()
    world.read_committed = read_committed
    world.aborted = aborted
    world.write(5)
    world.now += timedelta(hours=1)
    return world


def second_night(world: World) -> PlanningOutcome:
    world.night()
    return world.night()


@pytest.mark.parametrize("read_committed", [None, True])
def test_aborted_records_at_the_end_may_wait_for_ever(
    read_committed: bool | None,
) -> None:
    world = a_waiting_world(LAST, read_committed=read_committed)
    assert second_night(world).unverifiable == ()


@pytest.mark.parametrize(
    ("read_committed", "aborted"),
    [(None, {30, 31, 32, 34}), (None, set()), (False, LAST)],
)
def test_a_record_that_the_mirror_should_read_may_not(
    read_committed: bool | None, aborted: set[int]
) -> None:
    world = a_waiting_world(aborted, read_committed=read_committed)
    (gap,) = second_night(world).unverifiable
    assert gap.records == 5
    assert "has not moved" in gap.reason


def test_nor_may_one_of_a_transaction_that_is_open() -> None:
    world = a_waiting_world(LAST, read_committed=None)
    world.decided = 32
    (gap,) = second_night(world).unverifiable
    assert gap.records == 5
