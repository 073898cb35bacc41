"""A mirror without syncs that resumes at the log end once its position has
expired.
"""

import pytest

from mirrorwatch.domain.position.model import ResetKind
from mirrorwatch.domain.report import Health
from mirrorwatch.domain.skips.balance import Shortfall

from .world import World


@pytest.fixture
def world() -> World:
    world = World()
    world.homes = {"offsets": "o1"}
    world.resumes_at_end = True
    world.exact = frozenset({"t"})
    world.commit(100)
    world.tick(3)
    return world


def expire(world: World) -> None:
    world.source["t"].ends[0] = 120
    world.source["t"].starts[0] = 105
    world.tick(3)


def resume(world: World, *, missing: int, unverifiable: int = 0) -> None:
    world.exact = frozenset()
    world.source["t"].ends[0] += 3
    world.target["t"].ends[0] += 3
    world.commit(123)
    world.tick(2)
    world.shortfalls = (
        Shortfall(
            topic="t",
            at=world.now,
            missing=missing,
            unverifiable=unverifiable,
        ),
    )
    world.tick(2)


def kinds(world: World) -> list[ResetKind]:
    return [reset.kind for reset in world.resets]


def test_what_it_skips_is_counted_exactly(world: World) -> None:
    expire(world)
    verdict = world.verdict()
    assert verdict.health is Health.CRITICAL
    assert "5 records expired" in verdict.reason
    assert "At most" not in verdict.reason
    assert "resumes at the log end" in verdict.reason
    resume(world, missing=15, unverifiable=5)
    verdict = world.verdict()
    assert verdict.health is Health.CRITICAL
    said = " ".join([verdict.reason, *map(str, verdict.evidence.values())])
    assert "20 records of t are missing at ldf" in said
    assert "5 records expired" in said
    # Once, also after a restart of the agent.
    world.restart()
    world.tick(4)
    assert kinds(world) == [ResetKind.EXPIRED, ResetKind.JUMPED]


def test_a_later_loss_is_no_jump(world: World) -> None:
    expire(world)
    resume(world, missing=15, unverifiable=5)
    world.tick(10)
    loss = Shortfall(topic="t", at=world.now, missing=1)
    world.shortfalls = (*world.shortfalls, loss)
    world.tick(2)
    assert kinds(world) == [ResetKind.EXPIRED, ResetKind.JUMPED]


@pytest.mark.parametrize("what", ["earliest", "no more", "no expiry"])
def test_what_is_no_jump(world: World, what: str) -> None:
    world.resumes_at_end = what != "earliest"
    if what == "no expiry":
        world.source["t"].ends[0] = 120
        world.tick(3)
    else:
        expire(world)
    resume(world, missing=0 if what == "no more" else 15, unverifiable=5)
    assert ResetKind.JUMPED not in kinds(world)


def test_copies_that_may_be_uncommitted_are_told_as_such(world: World) -> None:
    world.exact = frozenset()
    expire(world)
    assert world.resets == ()
    world.tick(40)
    assert "At most 5 records expired" in world.verdict().reason
