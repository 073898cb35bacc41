"""What an audit found."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .plan import Stated, Unverifiable

__all__ = ["AuditResult", "Finding", "FindingKind", "TopicCount"]

FindingKind = Literal["dropped", "duplicated", "extra", "corrupted"]
"""What is wrong with records."""

OffsetRanges = tuple[tuple[int, int], ...]
"""Pairs of first and last offset, inclusive, in order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One kind of discrepancy on one partition."""

    flow: str
    """Name of the flow."""

    topic: str
    """Source topic (the target's where several feed one)."""

    partition: int
    """Partition."""

    kind: FindingKind
    """What is wrong."""

    count: int
    """Records: missing ones, or surplus copies."""

    source_offsets: OffsetRanges = ()
    """Where they are at the source."""

    target_offsets: OffsetRanges = ()
    """Where they are at the target: `extra`, `duplicated`, `corrupted`."""

    start: datetime | None = None
    """Earliest timestamp of these records; `None` if they have none."""

    end: datetime | None = None
    """Latest timestamp of these records."""

    keys: tuple[str, ...] = ()
    """A sample of their keys, only where that is configured."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicCount:
    """How many records of a topic were compared."""

    flow: str
    """Name of the flow."""

    topic: str
    """Source topic."""

    source_count: int
    """Records at the source."""

    target_count: int
    """Records at the target."""

    source_bytes: int = 0
    """Bytes of keys, values and headers at the source."""

    target_bytes: int = 0
    """The same at the target."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditResult:
    """What one audit found."""

    id: str
    """Name of the run, as in its plan."""

    nightly: bool
    """Whether it moved the audited end."""

    start: datetime
    """Begin of the window; of a nightly run, the earliest timestamp read."""

    end: datetime
    """End of the window; of a nightly run, when its offsets were frozen."""

    began_at: datetime
    """When the audit began."""

    ended_at: datetime
    """When it ended."""

    topics: tuple[TopicCount, ...]
    """Every topic that was compared, clean ones too."""

    findings: tuple[Finding, ...] = ()
    """What is proved to be wrong."""

    stated: tuple[Stated, ...] = ()
    """What differs and is not wrong."""

    unverifiable: tuple[Unverifiable, ...] = ()
    """What could not be judged."""

    more: bool = False
    """Whether it is one piece of a night, and others follow."""

    @property
    def clean(self) -> bool:
        """Whether everything was verified and nothing is wrong."""
        return not self.findings and not self.unverifiable
