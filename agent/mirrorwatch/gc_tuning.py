"""How often Python looks for cycles of objects that nobody uses, and from how
many places memory is taken.
"""

import ctypes
import gc

__all__ = ["calm_collector", "share_arenas"]

YOUNG = 10_000
"""New objects after which the youngest are looked through; Python's own
number is 700. A survey of a thousand topics makes tens of thousands of
objects, nearly all of which go when the next one replaces them."""


def calm_collector() -> None:
    """Leave alone what is there by now, and look seldom at the rest.

    To be called once, when everything is wired and nothing runs yet.

    Notes
    -----
    Libraries and configuration stay to the end, and each full collection went
    through all their objects: on a flow of 1,172 topics one with every survey,
    80 ms, a seventh of the agent's processor time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG)


M_ARENA_MAX = -8
"""glibc's number of the option, from its ``malloc.h``."""

ARENAS = 2
"""Places that threads take memory from. By itself glibc makes one for nearly
each of librdkafka's 40 threads, up to eight for each core, and what is freed
in one is of no use to another."""


def share_arenas() -> bool:
    """Let all threads take memory from few places.

    To be called before there are threads: those that have a place keep it.

    Returns
    -------
    bool
        Whether the C library is one that knows of it: others than glibc have
        no such places.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return bool(mallopt(M_ARENA_MAX, ARENAS))
