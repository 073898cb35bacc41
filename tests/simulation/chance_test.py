"""Worlds by chance: a fixed list of them, and new ones."""

from itertools import count
from random import randrange
from time import monotonic

import pytest

from tests.simulation.chance import draw, fails, run

KNOWN = [1, 2, 4, 5, 6, 7, 8, 10, 25, 178, 279, 350, 396, 458]
"""Seeds that are always tried. More of them: ``make simulate``."""

NEW = 120.0
"""Seconds for which new ones are tried."""

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", KNOWN)
def test_a_world_by_chance(seed: int) -> None:
    run(draw(seed))


def test_a_seed_gives_one_world() -> None:
    first, second = run(draw(7)), run(draw(7))
    assert first.agent.sayings == second.agent.sayings
    assert first.oracle.copies == second.oracle.copies


def test_new_worlds_by_chance() -> None:
    ends, failed = monotonic() + NEW, dict[int, str]()
    for seed in count(randrange(10**9)):  # noqa: S311 - no secret
        if monotonic() > ends:
            break
        why = fails(draw(seed))
        if why is not None:
            failed[seed] = why
    assert not failed, "\n".join(
        f"python -m tests.simulation --seed {seed}: {why}"
        for seed, why in failed.items()
    )
