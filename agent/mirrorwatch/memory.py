"""What is left alone or let go of once all is wired, how memory is taken from
the system, and when it is given back.
"""

import ctypes
import gc
import linecache
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

__all__ = [
    "FreeMemory",
    "calm_collector",
    "limit_fragmentation",
    "without_packages",
]


@contextmanager
def without_packages(*names: str) -> Iterator[None]:
    """Within it, packages that are not loaded yet seem not to be installed.

    Parameters
    ----------
    names
        Their names. Afterwards they can be imported as ever.
    """
    absent = [name for name in names if name not in sys.modules]
    # Python's own way to say so: such an import fails.
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


YOUNG = 50_000
"""New objects after which the youngest are looked through; Python's own
number is 700. A survey of a thousand topics makes tens of thousands of
objects, nearly all of which go when the next one replaces them. With 10,000
partitions and a limit of 10,000, a look through the youngest found 32 objects
in two minutes, for 0.36 % of a core."""


def calm_collector() -> None:
    """Leave alone what is there by now, and look seldom at the rest.

    To be called once, when everything is wired and nothing runs yet.

    Notes
    -----
    Libraries and configuration stay to the end, and each full collection went
    through all their objects: on a flow of 1,172 topics one with every survey,
    80 ms, a seventh of the agent's processor time.

    attrs and cattrs leave the source of what they generate for tracebacks,
    which have its name and line all the same: 0.4 MiB.
    """
    linecache.clearcache()
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG)


M_MMAP_THRESHOLD = -3
M_ARENA_MAX = -8
"""glibc's numbers of these options, from its ``malloc.h``."""

ARENAS = 2
"""Places that threads take memory from. By itself glibc makes one for nearly
each of librdkafka's 40 threads, up to eight for each core, and what is freed
in one is of no use to another."""


LARGE = 64 * 1024
"""Bytes from which on a block is mapped and unmapped by itself. glibc begins
with 128 KiB, and raises it to the largest block that was ever freed, up to
32 MiB: then the answers of brokers and the text of `/metrics` lie among small
blocks that stay, and the holes that they leave grow."""


def limit_fragmentation() -> bool:
    """Let all threads take memory from few places, and large blocks not from
    among small ones.

    To be called before there are threads: those that have a place keep it.

    Returns
    -------
    bool
        Whether the C library is one that knows of it: others than glibc have
        no such options.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return bool(mallopt(M_ARENA_MAX, ARENAS)) and bool(
        mallopt(M_MMAP_THRESHOLD, LARGE)
    )


TRIM_EVERY = 60.0
"""Seconds. What is given back is taken again with the next survey: a few
milliseconds of processor time."""

GROWN = 1
"""Generation up to which cycles are looked for each time: the objects of the
last minutes, a few milliseconds."""


class FreeMemory:
    """Gives memory back to the system that nobody uses.

    Parameters
    ----------
    clock
        A clock that only goes forward, in seconds.

    Notes
    -----
    By itself glibc gives back only what is at the end of its places. The
    answer to a list of all topics is freed below what came after it: at 1,172
    topics about 10 MiB stayed with the agent.

    Each request to the page leaves cycles, which hold what was served. Python
    itself looks for them after so many new objects (`YOUNG`): seldom on a
    small site.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._given_at = clock()
        self._trim: Callable[[int], int] | None = None
        # Other C libraries have none.
        with suppress(AttributeError, OSError, TypeError):
            self._trim = ctypes.CDLL(None).malloc_trim

    def give_back(self) -> bool:
        """Give it back, if it is time; return whether it was."""
        now = self._clock()
        if now < self._given_at + TRIM_EVERY:
            return False
        self._given_at = now
        gc.collect(GROWN)
        if self._trim is not None:
            self._trim(0)
        return True
