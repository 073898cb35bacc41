"""How much of a spool is sent at once. Pure."""

from datetime import timedelta

__all__ = ["LEAST_POINTS", "MOST_POINTS", "QUICK", "Pace"]

LEAST_POINTS = 100
"""A server that is just back is busy enough with itself."""

MOST_POINTS = 5000
"""Half of what InfluxDB recommends at most: more is hardly faster, and fresh
points wait for the request under way."""

QUICK = timedelta(milliseconds=500)
"""Longest that a request should take: a tenth of a usual tick, so that the
points of a tick never wait for those of the past."""


class Pace:
    """Grows while the server is quick, and shrinks when it is not."""

    def __init__(self) -> None:
        self._points = LEAST_POINTS

    @property
    def points(self) -> int:
        """How many points to send at once."""
        return self._points

    def went(self, points: int, took: timedelta) -> None:
        """Learn of a request that was answered.

        Parameters
        ----------
        points
            How many points it had; one with few proves nothing for many.
        took
            How long it took.
        """
        if took > QUICK:
            self._points = max(LEAST_POINTS, self._points // 2)
        elif points >= self._points // 2:
            self._points = min(MOST_POINTS, self._points * 2)

    def fail(self) -> None:
        """Begin again with little."""
        self._points = LEAST_POINTS
