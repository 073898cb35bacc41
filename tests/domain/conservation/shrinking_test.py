"""Copies that are gone, or changed, when somebody looks for them."""

import pytest

from mirrorwatch.domain.skips.model import SkipKind
from tests.domain.conservation.harsh import HarshWorld

MOVED = ("write 3", "mark", "write 3", "copy 6")
"""A mark of a transaction, so that the stretch must be read."""

LOOK = ("flush", "look", "look", "look")


def watched(*actions: str) -> HarshWorld:
    world = HarshWorld()
    world.do("look", "write 20", "copy 20", *LOOK, *actions)
    return world


def kinds(world: HarshWorld) -> list[SkipKind]:
    return [happening.kind for happening in world.store.happenings()]


@pytest.mark.parametrize("how", ["remove_last_here", "expire_here 24"])
def test_a_copy_that_is_gone_is_not_taken_for_dropped(how: str) -> None:
    world = watched(*MOVED, how, *LOOK)
    assert world.tally.skipped == 0
    assert SkipKind.SKIPPED not in kinds(world)


def test_copies_that_expired_cannot_be_verified() -> None:
    world = watched(*MOVED, "expire_here 24", *LOOK)
    assert world.tally.unverifiable == 3
    assert kinds(world) == [SkipKind.UNVERIFIABLE]


def test_what_compaction_took_of_the_target_is_a_sign_of_nothing() -> None:
    world = watched(*MOVED, "remove_last_here", *LOOK)
    assert world.tally.unverifiable == 0
    assert kinds(world) == []


def test_more_missing_than_gone_is_a_loss_by_the_rest() -> None:
    world = watched("write 9", "copy 2", "drop 4", "copy 3", "expire_here 21")
    world.do(*LOOK)
    assert world.skipped == {22, 23, 24, 25}
    assert world.tally.unverifiable == 1


def test_records_that_expire_while_they_are_read_are_no_loss() -> None:
    world = watched("write 9", "copy 2", "drop 4", "copy 3")
    world.do("expire 24", "expire_meanwhile", *LOOK)
    assert world.tally.skipped == 0
    # Two copies of what is gone, too, explain as many of six offsets.
    assert kinds(world) == [SkipKind.UNVERIFIABLE]
    assert world.tally.unverifiable == 4


def test_an_altered_copy_is_not_taken_for_dropped() -> None:
    world = watched("write 3", "mark", "write 3", "copy 2")
    world.target[-1] = None
    world.do("copy 4", *LOOK)
    assert world.tally.skipped == 0
    assert kinds(world) == [SkipKind.UNVERIFIABLE]
    assert world.tally.unverifiable == 1
