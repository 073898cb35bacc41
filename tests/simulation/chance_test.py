"""Worlds by chance: a fixed list of them. New ones: ``make simulate``."""

import pytest

from tests.simulation.chance import draw, run

KNOWN = [1, 2, 4, 5, 6, 7, 8, 10, 25, 178, 279, 350, 396, 458, 527, 965]
KNOWN += [1721, 1804]
"""Seeds that are always tried. More of them: ``make simulate``."""

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", KNOWN)
def test_a_world_by_chance(seed: int) -> None:
    run(draw(seed))


def test_a_seed_gives_one_world() -> None:
    first, second = run(draw(7)), run(draw(7))
    assert first.agent.sayings == second.agent.sayings
    assert first.oracle.copies == second.oracle.copies
