"""What happens on a partition beside the fate of single probes."""

from dataclasses import dataclass
from datetime import datetime

__all__ = ["Gap", "Incidents"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Gap:
    """Source offsets that somebody else wrote, or a send in doubt did."""

    partition: int
    """Partition number."""

    first: int
    """First offset."""

    last: int
    """Last offset."""

    newest_acked: int
    """Highest sequence acknowledged below: a probe up to this one that is
    found in the gap is a copy, because sends keep their order."""


@dataclass(slots=True)
class Incidents:
    """When each kind of trouble last happened on the partition."""

    late: datetime | None = None
    """A probe arrived after its deadline."""

    duplicate: datetime | None = None
    """A probe arrived again."""

    failed: datetime | None = None
    """A probe was not written at the source."""
