"""A histogram that is a plain value, so that it can be stored and restored."""

from bisect import bisect_left
from dataclasses import dataclass, field
from datetime import timedelta

__all__ = ["LATENCY_BUCKETS", "Histogram"]

LATENCY_BUCKETS = (
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    300.0,
)
"""Upper bounds in seconds, from a mirror in one room (about 10 ms) over a
long-haul link (about 1 s) to a backlog of minutes."""


@dataclass(slots=True)
class Histogram:
    """Counts of durations by bucket."""

    counts: list[int] = field(
        default_factory=lambda: [0] * (len(LATENCY_BUCKETS) + 1)
    )
    """Observations by bucket, not cumulative; the last is above every bound.
    A negative duration falls into the first."""

    total: timedelta = timedelta()
    """Sum of all observed durations."""

    def observe(self, duration: timedelta) -> None:
        """Count one duration."""
        bound = bisect_left(LATENCY_BUCKETS, duration.total_seconds())
        self.counts[bound] += 1
        self.total += duration

    def copy(self) -> "Histogram":
        """Return a histogram that does not change with this one."""
        return Histogram(list(self.counts), self.total)

    def cumulative(self) -> list[tuple[str, int]]:
        """Return ``(upper bound, count up to it)`` as Prometheus wants it."""
        bounds = [*(str(b) for b in LATENCY_BUCKETS), "+Inf"]
        running = 0
        result = []
        for bound, count in zip(bounds, self.counts, strict=True):
            running += count
            result.append((bound, running))
        return result
