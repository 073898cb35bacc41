"""Worlds by chance: a fixed list, then new ones for two minutes."""

import time
from random import randrange

import pytest

from tests.simulation.chance import draw, fails, run

KNOWN = range(1, 17)
"""Seeds that are always tried."""

NEW_SECONDS = 120.0

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", KNOWN)
def test_a_world_by_chance(seed: int) -> None:
    run(draw(seed))


def test_a_seed_gives_one_world() -> None:
    first, second = run(draw(7)), run(draw(7))
    assert first.agent.sayings == second.agent.sayings
    assert first.oracle.copies == second.oracle.copies


def test_new_worlds() -> None:
    # Not a timing: as many as there is time for, the seeds are printed.
    seed = randrange(10**9)  # noqa: S311 - no secret
    until = time.monotonic() + NEW_SECONDS
    while time.monotonic() < until:
        why = fails(draw(seed))
        assert why is None, (
            f"seed {seed}: {why}\nReplay it by "
            f"python -m tests.simulation --seed {seed}"
        )
        seed += 1
