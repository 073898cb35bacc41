"""Clocks that say what a test wants."""

from collections.abc import Callable
from datetime import datetime

from mirrorwatch.clock import Clock

__all__ = ["clock_of"]


def clock_of(now: Callable[[], datetime]) -> Clock:
    """Return a clock both of whose clocks go as a test lets one go."""
    begin = now()

    def monotonic() -> float:
        return (now() - begin).total_seconds()

    return Clock(now, monotonic)
