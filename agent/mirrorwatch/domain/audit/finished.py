"""What is kept of an audit that came to its end."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from .plan import Side
from .result import AuditResult

__all__ = ["Crossing", "FinishedAudit", "HourCount", "Hours", "Speed"]

LEAST_SPAN = timedelta(minutes=10)
"""Shortest window whose traffic says something about a day."""

DAY = timedelta(days=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Speed:
    """What an audit cost."""

    records: int
    """Records read, of both sides."""

    bytes: int
    """Bytes of keys, values and headers of these."""

    reading: timedelta
    """How long reading both sides took."""

    total: timedelta
    """How long the whole run took."""

    covered: timedelta
    """Time in which the records that were read had been written."""

    @property
    def records_per_second(self) -> float | None:
        """Records of both sides read in a second, if any time passed."""
        return self.records / self._seconds if self._seconds > 0 else None

    @property
    def bytes_per_second(self) -> float | None:
        """Bytes of both sides read in a second, if any time passed."""
        return self.bytes / self._seconds if self._seconds > 0 else None

    @property
    def forecast(self) -> timedelta | None:
        """How long a day of the same traffic would take; `None` if too little
        time was covered to say.
        """
        if self.covered < LEAST_SPAN:
            return None
        return self.total - self.reading + self.reading * (DAY / self.covered)

    @property
    def _seconds(self) -> float:
        return self.reading / timedelta(seconds=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class HourCount:
    """Records of one topic with timestamps of one hour."""

    flow: str
    """Name of the flow."""

    topic: str
    """Source topic."""

    hour: datetime | None
    """Begin of the hour, in UTC; `None` for records without timestamps, or
    where timestamps are not compared."""

    source_count: int
    """Records at the source."""

    target_count: int
    """Records at the target."""

    differs: bool = False
    """Whether counts or checksums of the hour differ. That is where the audit
    looked closer; it need not be a finding."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Hours:
    """Records by topic and hour: what the map in a report shows."""

    counts: tuple[HourCount, ...] = ()
    """At most one for each flow, topic and hour."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FinishedAudit:
    """An audit's result with what it cost."""

    result: AuditResult
    """What was found."""

    speed: Speed
    """What it cost."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Crossing:
    """What a digest saves on the way to the other site."""

    side: Side
    """Which side was read."""

    records: int
    """Records read."""

    read_bytes: int
    """Bytes of keys, values and headers of these."""

    digest_bytes: int
    """Bytes of the folder that travels."""

    @property
    def percent(self) -> float | None:
        """Bytes that travel for each hundred read, if any were read."""
        if not self.read_bytes:
            return None
        return 100 * self.digest_bytes / self.read_bytes
