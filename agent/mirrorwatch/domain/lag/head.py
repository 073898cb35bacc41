"""What is read at positions, to tell whether data waits there."""

from dataclasses import dataclass
from datetime import datetime

from ..view import TopicPartition

__all__ = ["Head", "Wanted"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A position at which a record should be read."""

    place: TopicPartition
    """Source topic and partition."""

    position: int
    """Offset to read at."""

    end: int
    """Offset up to which to look."""


@dataclass(frozen=True, slots=True)
class Head:
    """What was found at a position."""

    wanted: Wanted
    """Where it was looked for."""

    offset: int | None
    """Offset of the first data record; `None` if there is none to the end."""

    written_at: datetime | None = None
    """Its timestamp."""
