"""What reading the canary topic at the target gives."""

from dataclasses import dataclass
from datetime import datetime

__all__ = ["Arrived", "AtEnd", "Unreadable"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrived:
    """A record of the canary topic."""

    partition: int
    offset: int
    value: bytes | None
    seen_at: datetime
    absent_until: datetime
    """Until when it is known not to have been there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AtEnd:
    """A partition was read to its end."""

    partition: int
    offset: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Unreadable:
    """A partition goes on at another offset; what was there is gone."""

    partition: int
    offset: int
