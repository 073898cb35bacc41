"""Whether a topic drains, or falls behind."""

from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise

__all__ = ["Trend"]

RATES_OVER = 60.0
"""Seconds over which rates are taken: longer than one burst of a mirror."""

DRAIN_OVER = 10.0
"""Seconds that a mirror must have gone on before its rate is believed: less
is one batch of it."""

BUCKET = 120.0
"""Seconds of one stretch whose smallest lag counts: bursts come and go within
it, so its minimum grows only if the mirror never catches up."""

BUCKETS = 5
"""Stretches in a row, each worse than the one before, that make a trend."""

LEAST = 30.0
"""Seconds of lag below which nothing falls behind: jitter grows too."""


@dataclass(slots=True)
class Trend:
    """How one topic did in the last minutes."""

    rates: deque[tuple[float, int, int]] = field(default_factory=deque)
    """Time, sum of positions, sum of ends."""

    least: deque[tuple[int, float]] = field(
        default_factory=lambda: deque(maxlen=BUCKETS + 1)
    )
    """Stretch by its number, and the smallest lag in it, in seconds."""

    def see(
        self, now: float, positions: int, ends: int, seconds: float
    ) -> None:
        """Take the state of a topic at one time."""
        self.rates.append((now, positions, ends))
        while now - self.rates[0][0] > RATES_OVER and len(self.rates) > 2:
            self.rates.popleft()
        stretch = int(now // BUCKET)
        if self.least and self.least[-1][0] == stretch:
            seconds = min(seconds, self.least.pop()[1])
        self.least.append((stretch, seconds))

    def stand(self, now: float) -> None:
        """Take that at one time all was as before, and nothing waited."""
        _, positions, ends = self.rates[-1]
        self.see(now, positions, ends, 0.0)

    def stands(self) -> bool:
        """Tell whether nothing moved for as long as rates are taken."""
        return self.rates[0][1:] == self.rates[-1][1:]

    def drain(self, records: int) -> timedelta | None:
        """Return how long until nothing waits, if it gets less.

        As fast as since the mirror went on: how long it stood before says
        nothing about what it will take.
        """
        stood = self.rates[0]
        for state in self.rates:
            if state[1] != stood[1]:
                break
            stood = state
        (then, positions, ends), (now, position, end) = stood, self.rates[-1]
        passed = now - then
        if not records or passed < DRAIN_OVER:
            return None
        gained = ((position - positions) - (end - ends)) / passed
        return timedelta(seconds=records / gained) if gained > 0 else None

    def end_rate(self) -> float:
        """Return the records a second that are written at the source."""
        (then, _, ends), (now, _, end) = self.rates[0], self.rates[-1]
        return (end - ends) / (now - then) if now > then else 0.0

    def falls_behind(self) -> bool:
        """Tell whether the smallest lag grew from stretch to stretch."""
        *whole, last = self.least or [(0, 0.0)]
        if len(whole) < BUCKETS or whole[-1][1] < LEAST:
            return False
        if last[1] < whole[-1][1]:
            return False  # it still goes on, and has caught up already
        return all(
            later[0] == earlier[0] + 1 and later[1] > earlier[1]
            for earlier, later in pairwise(whole)
        )
