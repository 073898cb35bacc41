"""When to try again."""

import random
import time
from collections.abc import Callable
from datetime import timedelta

__all__ = [
    "FIRST_PAUSE_SECONDS",
    "LONGEST_ASKED",
    "LONGEST_PAUSE_SECONDS",
    "Backoff",
]

FIRST_PAUSE_SECONDS = 1.0
"""Pause after the first failure; doubled after each further one."""

LONGEST_PAUSE_SECONDS = 30.0
"""So that data flows again within half a minute of the server's return."""

LONGEST_ASKED = timedelta(minutes=15)
"""Longest pause that a server is granted. A proxy may name a whole day for
its maintenance; one request in a quarter of an hour burdens nobody."""


class Backoff:
    """Pauses that grow with each failure, and end with the first success.

    Parameters
    ----------
    clock
        Monotonic seconds.
    jitter
        A random number in [0, 1). A pause lasts between half of its length
        and all of it, so that many agents do not return all at once.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock
        self._jitter = jitter
        self._length = 0.0
        self._until = 0.0

    @property
    def remaining_seconds(self) -> float:
        """How long not to try; zero when there is no pause."""
        if not self._length:
            return 0.0
        return max(0.0, self._until - self._clock())

    def fail(self, asked: timedelta | None = None) -> None:
        """Begin a pause, longer than the one before.

        Parameters
        ----------
        asked
            How long the server asks to be left alone (``Retry-After``), if
            it does. The pause is not shorter than that.
        """
        doubled = self._length * 2 or FIRST_PAUSE_SECONDS
        self._length = min(doubled, LONGEST_PAUSE_SECONDS)
        pause = self._length * (0.5 + self._jitter() / 2)
        granted = min(asked or timedelta(), LONGEST_ASKED).total_seconds()
        if granted > pause:
            # Whoever was told the same time shall not return together.
            pause = granted + FIRST_PAUSE_SECONDS * self._jitter()
        self._until = self._clock() + pause

    def succeed(self) -> None:
        """Begin again with the shortest pause."""
        self._length = 0.0
