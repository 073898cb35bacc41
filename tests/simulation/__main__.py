"""``python -m tests.simulation``: try worlds, for a time or a number.

Prints the seed of each world that fails, and at the end what the worlds had in
them. ``--seed N`` shrinks such a world and prints its plan.
"""

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain, count, islice
from pathlib import Path
from pprint import pformat
from random import randrange

from .chance import (
    FEATURES,
    SITES_FROM,
    ViolationError,
    draw,
    fails,
    run,
    shrink,
)

__all__ = ["main"]


@dataclass(frozen=True)
class Attempt:
    """A world that was tried."""

    seed: int
    why: str | None
    simulated: float
    """Seconds in the world."""

    processor: float
    """Seconds of processor time."""

    features: frozenset[str]


def attempt(seed: int) -> Attempt:
    """Try one world."""
    plan, began = draw(seed), time.process_time()
    seconds, why = 0.0, None
    try:
        seconds = run(plan).schedule.elapsed
    except AssertionError as e:
        why = str(e)
    except Exception as e:  # noqa: BLE001 - whatever it is, the world failed
        why = "".join(traceback.format_exception(e)[-6:])
    used = time.process_time() - began
    return Attempt(seed, why, seconds, used, plan.features)


def main() -> int:
    """Run worlds; exit 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument(
        "--seconds",
        type=float,
        default=120.0,
        help="processor time of each process",
    )
    parser.add_argument("--worlds", type=int, default=10**9)
    parser.add_argument("--first", type=int, default=None)
    parser.add_argument("--commit", help="draw the first seed from its hash")
    parser.add_argument(
        "--list",
        type=Path,
        help="file of seeds that fail: tries them first, adds new ones to it, "
        "and exits 0",
    )
    parser.add_argument("--seed", type=int, help="replay and shrink one world")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--until-failure", action="store_true")
    parser.add_argument("--only", default="", help="part of a mirror's kind")
    chosen = parser.parse_args()
    if chosen.seed is not None:
        return replay(chosen.seed)
    first = chosen.first
    if chosen.commit:
        first = SITES_FROM + int(chosen.commit[:8], 16)
    elif first is None:
        first = SITES_FROM + randrange(10**9)  # noqa: S311 - no secret
    listed = read_list(chosen.list) if chosen.list else []
    seeds = chain(
        listed, (n for n in count(first) if chosen.only in draw(n).kind)
    )
    tried: list[Attempt] = []
    with ProcessPoolExecutor(chosen.processes) as pool:
        while (
            len(tried) < chosen.worlds
            and sum(t.processor for t in tried) / chosen.processes
            < chosen.seconds
            and not (chosen.until_failure and any(t.why for t in tried))
        ):
            most = min(8 * chosen.processes, chosen.worlds - len(tried))
            for each in pool.map(attempt, islice(seeds, most)):
                tried.append(each)
                if each.why is not None:
                    print(f"seed {each.seed} fails: {each.why}", flush=True)
    report(tried)
    failed = [each for each in tried if each.why is not None]
    if not chosen.list:
        return 1 if failed else 0
    with chosen.list.open("a") as file:
        file.writelines(
            f"{each.seed}\n" for each in failed if each.seed not in listed
        )
    return 0


def read_list(file: Path) -> list[int]:
    """Return the seeds in a file, of which each has a line."""
    lines = file.read_text().splitlines()
    return [int(line) for line in lines if not line.startswith("#")]


def report(tried: Sequence[Attempt]) -> None:
    """Print what the worlds had in them, and how fast they were."""
    hours = sum(each.simulated for each in tried) / 3600
    minutes = sum(each.processor for each in tried) / 60
    print(
        f"{len(tried)} worlds, {hours:.0f} simulated hours: "
        f"{hours / minutes:.0f} hours and {len(tried) / minutes:.0f} worlds "
        "per minute of one core"
    )
    drawn = Counter(name for each in tried for name in each.features)
    for name, times in sorted(drawn.items()):
        print(f"  {name}: {times}")
    never = sorted(FEATURES - drawn.keys())
    print(f"never drawn: {', '.join(never) or 'nothing'}")
    failed = [each.seed for each in tried if each.why is not None]
    print(f"{len(failed)} failed: {failed}")
    for seed in failed:
        print(f"  python -m tests.simulation --seed {seed}")


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
    try:
        run(smaller)
    except ViolationError as e:
        print(f"\nWhat was lost, found and said:\n{e.account}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
