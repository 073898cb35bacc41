"""Resets of a mirror whose positions are the ends at the target."""

import pytest

from mirrorwatch.domain.position.model import ResetKind
from mirrorwatch.domain.report import Health

from .world import World


class Linked(World):
    """One whose mirror says nothing: its commits are ends at the target."""

    def reach(self, end: int) -> None:
        self.target["t"].ends[0] = end
        self.commit(end)
        self.tick(2)


@pytest.fixture
def world() -> Linked:
    world = Linked(keeps_offsets=True)
    world.homes = {}
    world.reach(100)
    world.tick(2)
    return world


def test_one_that_goes_on_is_ok(world: Linked) -> None:
    world.source["t"].ends[0] = 150
    world.tick(2)
    world.reach(150)
    # What it has copied may expire.
    world.source["t"].starts[0] = 150
    world.settle()
    assert world.verdict().health is Health.OK
    assert world.resets == ()


def test_what_expires_before_it_is_copied_is_counted(world: Linked) -> None:
    world.source["t"].ends[0] = 200
    world.source["t"].starts[0] = 112
    world.settle()
    verdict = world.verdict()
    assert verdict.health is Health.CRITICAL
    world.find("expired-unread", topic="t", partition=0, records=12)
    world.reach(200)
    assert world.reset().settled is not None
    assert (world.reset().first, world.reset().end) == (100, 112)


def test_what_nobody_saw_expire_cannot_be_verified(world: Linked) -> None:
    world.source["t"].ends[0] = 200
    world.source["t"].starts[0] = 112
    world.reach(200)
    verdict = world.verdict()
    assert verdict.health is Health.WARNING
    world.find("unverifiable", topic="t", records=0, records_at_most=12)


def expire_while_cut_off(world: Linked) -> None:
    world.answers["ldf"] = False
    world.source["t"].ends[0] = 200
    world.source["t"].starts[0] = 112


def test_a_position_of_before_the_target_was_cut_off_proves_no_loss(
    world: Linked,
) -> None:
    expire_while_cut_off(world)
    world.tick(60)
    assert world.reset().at_most


def test_a_target_that_is_back_is_read_before_a_loss_is_proved(
    world: Linked,
) -> None:
    expire_while_cut_off(world)
    world.tick(3)
    world.answers["ldf"] = True
    world.target["t"].ends[0] = 200
    world.tick()  # the ends, not yet the position
    assert world.resets == ()
    world.reach(200)
    world.find("unverifiable", topic="t", records=0, records_at_most=12)


def test_a_mirror_that_is_found_stopped_has_lost_what_expired(
    world: Linked,
) -> None:
    expire_while_cut_off(world)
    world.tick(3)
    world.answers["ldf"] = True
    world.tick(60)
    world.find("expired-unread", topic="t", partition=0, records=12)


def test_a_truncated_target_is_told_until_it_is_whole(world: Linked) -> None:
    world.reach(90)
    verdict = world.verdict()
    assert verdict.health is Health.WARNING
    world.find("target-truncated", topic="t", records=10, open_resets=1)
    world.reach(100)
    world.find("target-truncated", records=10, open_resets=0)


def test_what_it_lost_may_expire_at_the_source(world: Linked) -> None:
    world.reach(90)
    world.source["t"].starts[0] = 95
    world.settle()
    expired = [r for r in world.resets if r.kind is ResetKind.EXPIRED]
    assert [(r.first, r.end) for r in expired] == [(90, 95)]
    assert world.verdict().health is Health.CRITICAL


def test_a_target_that_holds_more_than_the_source(world: Linked) -> None:
    world.source["t"].ends[0] = 80
    world.tick(30)
    verdict = world.verdict()
    assert verdict.health is Health.CRITICAL
    world.find("truncated", topic="t", partition=0, records_at_risk=0)
