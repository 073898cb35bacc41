"""Records that look alike, or otherwise than their copies."""

import pytest

from tests.domain.conservation.harsh import AlikeWorld, AlteredWorld
from tests.domain.conservation.world import World


@pytest.mark.parametrize("world", [AlikeWorld(), AlteredWorld()])
def test_a_mirror_that_goes_back_does_not_seem_to_jump_ahead(
    world: World,
) -> None:
    # It dies each time before it has told where it is.
    world.do("look", "write 30", "copy 3", "crash_hard", "copy 3")
    world.do("crash_hard", "copy", "look", "look")
    assert world.tally.skipped == 0


@pytest.mark.parametrize("world", [AlikeWorld(), AlteredWorld()])
def test_what_may_have_been_copied_before_is_not_called_dropped(
    world: World,
) -> None:
    world.do("look", "write 4", "copy 3", "crash", "copy", "look", "drop")
    world.finish()
    assert world.missing == set()
    assert world.tally.skipped == 0
