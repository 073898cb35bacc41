"""What a night says of records that it cannot compare."""

from datetime import timedelta

import pytest

from tests.support.audit_world import a_copied_world, lane_of

HOUR = timedelta(hours=1)


def test_without_timestamps_and_syncs_nothing_is_cut() -> None:
    world = a_copied_world(syncs_every=None, timestamps=False)
    world.write(3)
    outcome = world.night()
    assert outcome.lane is None
    (gap,) = outcome.unverifiable
    assert gap.records == 30
    assert "no place is known" in gap.reason


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
    assert gap.reason == f"expired at the {side} before it was audited"
    source, target = world.sides(lane_of(outcome))
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
    assert f"topic at the {side} was deleted and made again" in gap.reason
    assert gap.records is None


def test_a_log_that_became_shorter_is_told() -> None:
    world = a_copied_world()
    world.night()
    del world.source[20:], world.target[20:], world.stamps[20:]
    world.syncs = [s for s in world.syncs if s[0] < 20]
    world.committed = world.position = 20
    assert "has become shorter" in world.night().unverifiable[0].reason
