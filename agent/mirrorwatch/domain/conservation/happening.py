"""One thing that was found out about one partition."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from ..view import TopicPartition

__all__ = ["Happening", "Kind"]


class Kind(StrEnum):
    """What was found out."""

    SKIPPED = "skipped"
    """Source records were passed over between two that were copied."""

    HEAD = "head"
    """The first records of a partition were never read."""

    TAIL = "tail"
    """The mirror committed past records that it never wrote."""

    REPEATED = "repeated"
    """Source records were written again."""

    UNVERIFIABLE = "unverifiable"
    """Offsets went by of which nobody can tell any more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Happening:
    """One thing that was found out about one partition."""

    kind: Kind
    """What it is."""

    topic: str
    """Source topic."""

    partition: int
    """Source partition."""

    source_id: str
    """Id of the source topic at that time."""

    ranges: tuple[tuple[int, int], ...]
    """Source offsets, inclusive; those of the last ones where there are too
    many to keep."""

    count: int
    """Records."""

    at: datetime
    """When it was found out."""

    @property
    def place(self) -> TopicPartition:
        """Partition at the source."""
        return self.topic, self.partition
