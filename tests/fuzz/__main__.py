"""``python -m tests.fuzz``: give hostile input to every decoder, for a time.

Prints what was tried of each. An input that fails is kept in the corpus, shown
with its traceback, and ends the run with status 1.
"""

import argparse
import resource
import sys
import time
from random import randrange

from .run import MEMORY, attempt
from .targets import TARGETS

__all__ = ["main"]

ROUND = 200
"""Inputs of one target, then it is the next one's turn."""


def main() -> int:
    """Try inputs until time is over; exit 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", choices=TARGETS, help="try one target")
    chosen = parser.parse_args()
    # What takes without end gets a MemoryError, and the machine stays well.
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    names = [chosen.only] if chosen.only else list(TARGETS)
    tried, failed = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    ends = time.monotonic() + chosen.seconds
    while time.monotonic() < ends:
        for name in names:
            if time.monotonic() >= ends:
                break
            seed = randrange(2**32)  # noqa: S311 - no secret
            count, failure = attempt(TARGETS[name], ROUND, seed=seed)
            tried[name] += count
            if failure is None:
                continue
            file = failure.keep()
            # The same fault would come with other inputs again and again.
            failed[name] += 1
            print(f"{file}\n{failure.traceback}", flush=True)
        names = [name for name in names if not failed[name]]
        if not names:
            break
    for name, count in tried.items():
        print(f"{name:12} {count:9,} inputs  {failed[name]} new failures")
    print(f"{sum(tried.values()):,} inputs, {sum(failed.values())} failed")
    return 1 if any(failed.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
