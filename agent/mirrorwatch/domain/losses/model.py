"""Counts of lost records, and the observation of one flow."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from datetime import datetime, timedelta

__all__ = ["CRITICAL_FOR", "LossesLimits", "LossesObservation"]
__all__ += ["LostRecords", "TopicLosses"]

CRITICAL_FOR = timedelta(hours=1)
"""Long enough to be noticed, short enough that a repaired flow is ok again
within a shift."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LossesLimits:
    """Limits of proved losses, of probes and of records."""

    critical: timedelta = field(
        default=CRITICAL_FOR,
        metadata={"title": "Critical after a loss for", "gt": timedelta()},
    )
    """Time a flow stays critical after a proved loss, unless `mirrorwatch ack`
    ends it. Totals of lost records never shrink."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LostRecords:
    """Number of lost records, by how they were lost."""

    dropped: int = 0
    """Proved: passed over by the mirror, or lost with the end of a log at the
    target."""

    expired: int = 0
    """Proved: deleted at the source before they were copied."""

    at_most: int = 0
    """Upper bound of further ones: they may have been copied, or may have been
    transaction markers."""

    recovered: int = 0
    """Dropped ones that were copied later."""

    @property
    def records(self) -> int:
        """Records proved to be lost, those copied later among them."""
        return self.dropped + self.expired

    @property
    def missing(self) -> int:
        """Records proved to be lost and not copied since."""
        # What a filter drops on purpose may have been copied later, too.
        return max(self.records - self.recovered, self.expired)

    def __bool__(self) -> bool:
        return any(astuple(self))

    def __add__(self, other: "LostRecords") -> "LostRecords":
        return LostRecords(
            dropped=self.dropped + other.dropped,
            expired=self.expired + other.expired,
            at_most=self.at_most + other.at_most,
            recovered=self.recovered + other.recovered,
        )

    def __sub__(self, other: "LostRecords") -> "LostRecords":
        return LostRecords(
            dropped=self.dropped - other.dropped,
            expired=self.expired - other.expired,
            at_most=self.at_most - other.at_most,
            recovered=self.recovered - other.recovered,
        )

    def __or__(self, other: "LostRecords") -> "LostRecords":
        """Return the larger of each number."""
        return LostRecords(
            dropped=max(self.dropped, other.dropped),
            expired=max(self.expired, other.expired),
            at_most=max(self.at_most, other.at_most),
            recovered=max(self.recovered, other.recovered),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicLosses:
    """Losses of one topic."""

    topic: str
    """Source topic; empty for the rest, where too many lost records."""

    at: datetime
    """Time of the newest loss."""

    lost: LostRecords


@dataclass(frozen=True, kw_only=True, slots=True)
class LossesObservation:
    """Records of one flow that are lost for good."""

    flow: str
    at: datetime
    since: datetime
    """Time from which losses are counted: the installation."""

    hour: LostRecords
    day: LostRecords
    total: LostRecords
    topics: tuple[TopicLosses, ...] = ()
    """Topics with losses within a day, the newest first."""

    counters: Mapping[str, LostRecords] = field(default_factory=dict)
    """Losses since then, by topic. Of what expires, once the mirror has gone
    on."""
