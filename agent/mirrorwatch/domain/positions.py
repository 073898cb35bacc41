"""What a mirror says of itself in its internal topics."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from .selection import Selection

__all__ = ["Committed", "Connector", "MirrorFact", "Sync"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Committed:
    """A source offset that the mirror committed."""

    topic: str
    """Source topic."""

    partition: int
    """Source partition."""

    position: int | None
    """Next source offset to copy; `None` if the offset was deleted."""

    written_at: datetime
    """When the mirror wrote it, by the earlier of its clock and ours."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sync:
    """One record's offsets on both sides."""

    topic: str
    """Source topic."""

    partition: int
    """Source partition."""

    upstream: int
    """Source offset of the record."""

    downstream: int
    """Target offset of the record."""

    written_at: datetime
    """When the mirror wrote it, by the earlier of its clock and ours."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Connector:
    """How the mirror's source connector is configured."""

    name: str
    """Name of the connector."""

    selection: Selection
    """Topics that it replicates."""

    refresh: timedelta
    """How often it looks for new topics and partitions."""

    max_in_flight: int
    """Requests in flight of its producer; with 1, order holds."""

    max_request_bytes: int | None = None
    """Largest request of its producer, `None` if that is not said."""


MirrorFact = Committed | Sync | Connector
"""Anything read from an internal topic."""
