"""Topics that were made again at the target."""

from mirrorwatch.domain.position.model import ResetKind
from mirrorwatch.domain.report import Health

from .world import Log, World


def test_one_made_again_at_the_target_is_critical() -> None:
    world = World.settled()
    world.target["t"] = Log("t2", {0: 0})
    world.tick()
    assert world.reset().kind is ResetKind.TARGET_RECREATED
    assert world.verdict().health is Health.CRITICAL
    assert "1 partition (100 offsets) is gone there" in world.verdict().reason
    # The mirror goes on, and its offsets say nothing about old copies.
    world.source["t"].ends[0] = 150
    world.sync(100, 0)
    world.target["t"].ends[0] = 50
    world.settle()
    assert len(world.resets) == 1
    world.restart()
    world.settle()
    assert world.seen.counts == {"t": 1}
