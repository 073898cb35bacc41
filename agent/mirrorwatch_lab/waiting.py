"""Waiting for something to become true, with an end to it."""

import time
from collections.abc import Callable
from datetime import timedelta

from .exceptions import LabError

__all__ = ["wait_until"]


_PAUSE_SECONDS = 0.1
"""Between two looks: short against anything that a lab waits for."""


def wait_until(
    ready: Callable[[], bool],
    *,
    limit: timedelta,
    what: Callable[[], str] | str,
    pause: timedelta = timedelta(seconds=_PAUSE_SECONDS),
) -> None:
    """Wait until a condition holds.

    Parameters
    ----------
    ready
        The condition; it may raise to give up at once.
    limit
        Timeout.
    what
        Condition that did not hold, for the error.
    pause
        Time between two looks.

    Raises
    ------
    LabError
        Raised if it does not hold within the limit.
    """
    deadline = time.monotonic() + limit.total_seconds()
    while not ready():
        if time.monotonic() > deadline:
            reason = what if isinstance(what, str) else what()
            raise LabError(f"After {limit.total_seconds():g} s: {reason}")
        time.sleep(pause.total_seconds())
