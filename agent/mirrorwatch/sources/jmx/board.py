"""What each process of a mirror last said, and what kept others from it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Lock

from ...domain.mbeans import MBean

__all__ = ["JmxBoard", "Reading"]

_TOO_MANY = 2
"""Failures in a row after which what was said before holds no more: a single
one can be a pause of Java's garbage collector."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """The last of one process."""

    mbeans: Sequence[MBean] = ()
    """What it last said."""

    at: datetime | None = None
    """When it said that; `None` if it never did."""

    lasts: timedelta = timedelta()
    """How long that counts as fresh."""

    trouble: str | None = None
    """What kept it from being read since."""

    failures: int = 0
    """How often that was so in a row."""

    def is_fresh(self, now: datetime) -> bool:
        """Tell whether what it last said still holds."""
        return (
            self.at is not None
            and now - self.at <= self.lasts
            and self.failures < _TOO_MANY
        )


class JmxBoard:
    """Keeps readings by address; the workers write it, the tick reads it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._readings: dict[str, Reading] = {}

    def put(
        self,
        url: str,
        mbeans: Sequence[MBean],
        at: datetime,
        lasts: timedelta,
    ) -> None:
        """Keep what a process said."""
        with self._lock:
            self._readings[url] = Reading(mbeans=mbeans, at=at, lasts=lasts)

    def fail(self, url: str, trouble: str) -> None:
        """Keep why a process could not be read, beside what it last said."""
        with self._lock:
            before = self._readings.get(url, Reading())
            self._readings[url] = replace(
                before, trouble=trouble, failures=before.failures + 1
            )

    def get(self, url: str) -> Reading:
        """Return the last of a process."""
        with self._lock:
            return self._readings.get(url, Reading())
