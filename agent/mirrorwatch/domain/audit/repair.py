"""Which records an audit's findings say are to be written again."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from .result import AuditResult

__all__ = [
    "RepairDiary",
    "RepairRange",
    "TargetEnds",
    "WrittenRange",
    "ranges_to_repair",
]


TargetEnds = Mapping[tuple[str, str, int], int]
"""Up to where an audit looked for copies, by cluster, topic and partition of
the target: a copy behind that came after it had found a record dropped."""


MOST_AT_ONCE = 1000
"""Offsets of a range, whose records are held in memory: of the largest ones
that brokers take by default, 1 GB."""

ROUNDED = timedelta(seconds=1)
"""More than what is lost of a timestamp that a finding tells."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RepairRange:
    """Source offsets of records that the target lacks."""

    flow: str
    topic: str
    partition: int
    first: int
    """First offset."""

    last: int
    """Last offset."""

    # What was written before they were noted is the same range.
    start: datetime | None = field(default=None, compare=False)
    """Earliest timestamp of the finding's records; `None` if not known."""

    end: datetime | None = field(default=None, compare=False)

    def __len__(self) -> int:
        return self.last - self.first + 1

    def may_hold(self, written_at: datetime) -> bool:
        """Return whether a record with this timestamp may be one of them: not
        if its topic was recreated since, and has others at these offsets.
        """
        after = self.start is None or written_at >= self.start - ROUNDED
        return after and (self.end is None or written_at <= self.end + ROUNDED)


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenRange:
    """A range that was written, or began to be."""

    offsets: RepairRange
    topic: str
    partition: int
    begun_at: int
    """End of that partition before the first record was written."""

    done: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class RepairDiary:
    """What was written again of one run, so that nothing is twice."""

    written: tuple[WrittenRange, ...] = ()
    """Each range at most once for each topic that it was written to."""


def ranges_to_repair(result: AuditResult) -> Iterator[RepairRange]:
    """Yield what was dropped, in ranges that fit into memory.

    An altered record is not among them: written again, it would stand beside
    the altered one.
    """
    for finding in result.errors:
        if finding.kind == "dropped":
            for first, last in finding.source_offsets:
                for start in range(first, last + 1, MOST_AT_ONCE):
                    yield RepairRange(
                        flow=finding.flow,
                        topic=finding.topic,
                        partition=finding.partition,
                        first=start,
                        last=min(last, start + MOST_AT_ONCE - 1),
                        start=finding.start,
                        end=finding.end,
                    )
