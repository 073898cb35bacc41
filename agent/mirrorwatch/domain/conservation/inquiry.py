"""Stretches of both logs that the offsets alone do not explain."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..view import TopicPartition

__all__ = ["Inquiry", "Point", "Span", "is_clean", "unite"]


@dataclass(frozen=True, slots=True)
class Point:
    """One record's offsets on both sides."""

    upstream: int
    """Source offset."""

    downstream: int
    """Target offset."""


def is_clean(before: Point, after: Point) -> bool:
    """Tell whether both sides went on by the same number of offsets.

    Then every source offset between them is a record that was copied, once
    and in order: the target has no room for anything else.
    """
    forward = after.upstream - before.upstream
    return forward > 0 and forward == after.downstream - before.downstream


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets of one partition, the end excluded."""

    first: int
    end: int

    def __len__(self) -> int:
        return max(0, self.end - self.first)


def unite(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return the same offsets as few spans in order, without empty ones."""
    found: list[Span] = []
    for span in sorted(
        (s for s in spans if len(s)), key=lambda span: span.first
    ):
        if found and span.first <= found[-1].end:
            last = found.pop()
            span = Span(last.first, max(last.end, span.end))  # noqa: PLW2901
        found.append(span)
    return tuple(found)


@dataclass(frozen=True, kw_only=True, slots=True)
class Inquiry:
    """What must be read on both sides before anything is booked."""

    topic: str
    """Source topic."""

    partition: int
    """Partition, the same on both sides."""

    remote: str
    """Name of the topic at the target."""

    source_id: str
    target_id: str | None
    """Ids of the topics: an answer about others is of no use."""

    start: Point
    """Everything up to here is in the books."""

    points: tuple[Point, ...]
    """Known pairs behind it, in the order of the target; the last one ends
    the stretch. Empty if it ends at `passed` and the target's end."""

    source: tuple[Span, ...]
    """What to read at the source, as the mirror reads it."""

    target: Span
    """What to read at the target."""

    passed: int | None = None
    """Position that the mirror committed, for an inquiry about the tail."""

    only_count: bool = False
    """Whether only the number of source records is asked for."""

    @property
    def place(self) -> TopicPartition:
        """Partition at the source."""
        return self.topic, self.partition

    @property
    def size(self) -> int:
        """Offsets to read."""
        return len(self.target) + sum(len(span) for span in self.source)
