"""Target topics whose offsets do not count copies: others write there, or the
mirror's transactions leave markers.
"""

import pytest

from mirrorwatch.domain.position.model import ResetKind
from mirrorwatch.domain.report import Health

from .world import Log, World

WORLDS = [{"merged": ["t"]}, {"estimates": False}]


def test_what_others_write_hides_no_loss() -> None:
    world = World.settled(merged=["t"])
    world.source["t"] = Log("s1", {0: 500}, {0: 250})
    world.target["t"].ends[0] = 700
    # A commit is up to a minute old, so it takes longer than usual.
    world.tick(45)
    assert (world.reset().first, world.reset().end) == (100, 250)
    world.sync(250, 700)
    world.settle()
    assert (world.reset().kind, world.reset().count) == (
        ResetKind.EXPIRED,
        150,
    )


def test_a_merged_topic_that_goes_on_is_ok() -> None:
    world = World.settled(merged=["t"])
    for n in range(1, 5):
        world.source["t"].ends[0] = 100 + 100 * n
        world.target["t"].ends[0] = 100 + 300 * n
        world.sync(100 * n, 300 * n)
        world.sync(100 * n, 300 * n)
        world.tick()
    world.settle()
    world.restart()
    world.settle()
    assert (world.resets, world.verdict().health) == ((), Health.OK)


@pytest.mark.parametrize("how", WORLDS, ids=["merged", "transactions"])
@pytest.mark.parametrize("first", [0, 100])
def test_a_topic_made_again_is_held_to_its_own_offsets(
    how: dict[str, object], first: int
) -> None:
    world = World.settled(**how)  # type: ignore[arg-type]
    world.target["t"].ends[0] = 350
    world.tick()
    world.source["t"] = Log("s2", {0: 300})
    world.tick()
    assert world.reset().end == 100
    world.target["t"].ends[0] = 900
    world.sync(first, 850)
    world.settle()
    assert (world.reset().count, world.reset().harmless) == (
        first,
        first == 0,
    )


def test_a_sync_of_the_old_topic_that_is_written_again_decides_nothing() -> (
    None
):
    world = World.settled(merged=["t"])
    world.source["t"] = Log("s2", {0: 300})
    world.tick(2)
    world.sync(99, 99)
    world.settle()
    assert world.reset().settled is None
