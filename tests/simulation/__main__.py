"""``python -m tests.simulation``: try worlds, for a time or a number.

Prints the seed of each world that fails, and at the end what the worlds had in
them. ``--seed N`` shrinks such a world and prints its plan.
"""

import argparse
import sys
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pprint import pformat
from random import randrange

from .chance import draw, fails, run, shrink

__all__ = ["main"]


def attempt(seed: int) -> tuple[int, str | None, float, frozenset[str]]:
    """Try one world."""
    plan = draw(seed)
    try:
        world = run(plan)
    except Exception as e:  # noqa: BLE001 - whatever it is, the world failed
        why = (
            str(e)
            if isinstance(e, AssertionError)
            else ("".join(traceback.format_exception(e)[-6:]))
        )
        return seed, why, 0.0, plan.features
    return seed, None, world.schedule.elapsed, plan.features


def main() -> int:
    """Run worlds; exit 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--worlds", type=int, default=10**9)
    parser.add_argument("--first", type=int, default=None)
    parser.add_argument("--seed", type=int, help="replay and shrink one world")
    parser.add_argument("--processes", type=int, default=1)
    chosen = parser.parse_args()
    if chosen.seed is not None:
        return replay(chosen.seed)
    first = chosen.first
    if first is None:
        first = randrange(10**9)  # noqa: S311 - no secret
    began, worlds, hours = time.monotonic(), 0, 0.0
    features: Counter[str] = Counter()
    failed: list[tuple[int, str]] = []
    with ProcessPoolExecutor(chosen.processes) as pool:
        while worlds < chosen.worlds and (
            time.monotonic() - began < chosen.seconds
        ):
            seeds = range(
                first + worlds, first + worlds + 8 * chosen.processes
            )
            for seed, why, seconds, drawn in pool.map(attempt, seeds):
                worlds += 1
                hours += seconds / 3600
                features.update(drawn)
                if why is not None:
                    failed.append((seed, why))
                    print(f"seed {seed} fails: {why}", flush=True)
    passed = time.monotonic() - began
    print(f"{worlds} worlds, {hours:.0f} simulated hours in {passed:.0f} s")
    for name, count in sorted(features.items()):
        print(f"  {name}: {count}")
    print(f"{len(failed)} failed: {[seed for seed, _ in failed]}")
    return 1 if failed else 0


def replay(seed: int) -> int:
    """Shrink a world that fails, and print it."""
    plan = draw(seed)
    why = fails(plan)
    if why is None:
        print(f"seed {seed} holds")
        return 0
    smaller = shrink(plan)
    print(pformat(smaller))
    print(fails(smaller))
    return 1


if __name__ == "__main__":
    sys.exit(main())
