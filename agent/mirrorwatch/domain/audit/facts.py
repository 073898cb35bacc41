"""What is known of one lane when its ranges are cut, and what is asked."""

from collections.abc import Generator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from ..topic_configs import FOR_EVER
from ..view import TopicPartition
from .plan import Side, Span

__all__ = ["Feed", "FirstSince", "Found", "LaneFacts", "Log", "Question"]
__all__ += ["RecordAt", "Retention", "Talk", "ask"]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Retention:
    """When records of a topic expire."""

    by_time: timedelta | None = None
    """Age before which none does; `None` if that is not known."""

    by_size: bool = True
    """Whether they may expire at any age."""

    @classmethod
    def of(cls, by_time_ms: int | None, by_bytes: int | None) -> "Retention":
        """Return what Kafka's ``retention.ms`` and ``retention.bytes`` say."""
        if by_time_ms is None:
            return cls()
        longest = timedelta.max // timedelta(milliseconds=1)
        never = by_time_ms == FOR_EVER
        return cls(
            by_time=timedelta.max
            if never or by_time_ms >= longest
            else timedelta(milliseconds=by_time_ms),
            by_size=by_bytes != FOR_EVER,
        )

    def kept_since(self, time: datetime, now: datetime) -> bool:
        """Tell whether nothing of this time and after can have expired."""
        if self.by_size or self.by_time is None:
            return False
        return now - time < self.by_time


@dataclass(frozen=True, kw_only=True, slots=True)
class Log:
    """A partition of one side, frozen."""

    side: Side
    """Which cluster of the flow holds it."""

    cluster: str
    """Alias of the cluster."""

    place: TopicPartition
    """Topic and partition."""

    topic_id: str
    """Id of the topic."""

    retained: Span
    """Log start and end: at the source the end is as the mirror's consumer
    sees it, at the target it was read after all positions."""

    retention: Retention = Retention()
    """When its records expire."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Feed:
    """A source partition, and how far it was copied."""

    flow: str
    """Name of the flow that copies it."""

    log: Log
    """The partition."""

    steady: bool
    """Whether the end was the same after the target's end was read: then the
    target's end covers no record above it."""

    position: int | None = None
    """Next offset proved copied or passed, read before the target's end."""

    syncs: tuple[tuple[int, int], ...] = ()
    """Source and target offsets of records, both ascending."""

    read_committed: bool | None = False
    """Whether the mirror leaves out aborted records; `None` if that is not
    known: then `log` ends as for one that does not."""

    decided: int | None = None
    """Where that is not known, the offset before which no transaction is
    open."""

    @property
    def place(self) -> tuple[str, str, int]:
        """Flow, source topic and partition."""
        return (self.flow, *self.log.place)

    @property
    def at_rest(self) -> bool:
        """Whether all that it holds was copied, and nothing since."""
        retained = self.log.retained
        copied = len(retained) == 0 or (self.position or 0) >= retained.end
        return self.steady and copied


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneFacts:
    """One target partition, and all that feeds it."""

    cluster: str
    """Alias of the target cluster."""

    place: TopicPartition
    """Target topic and partition."""

    feeds: tuple[Feed, ...]
    """What feeds it."""

    goal: Log | None
    """What is there; `None` if it does not exist."""

    timestamps: bool = True
    """Whether the target keeps the records' timestamps."""

    compacted: bool = False
    """Whether either side is compacted."""

    starts_at_end: bool | None = False
    """Whether the mirror skips what a partition held when it found it; `None`
    if that is not known."""


@dataclass(frozen=True, slots=True)
class FirstSince:
    """Asks for the first record that is not older than a time."""

    log: Log
    """Where to look."""

    time: datetime
    """The time."""


@dataclass(frozen=True, slots=True)
class RecordAt:
    """Asks for the first data record at or after an offset."""

    log: Log
    """Where to look: at the source."""

    offset: int
    """The offset."""

    read_committed: bool
    """Whether records of aborted transactions are passed over."""


@dataclass(frozen=True, slots=True)
class Found:
    """The record that was asked for."""

    offset: int | None
    """Its offset; `None` if there is none."""

    written_at: datetime | None = None
    """Its timestamp; `None` if it has none."""

    failed: bool = False
    """Whether it could not be looked for."""

    def within(self, span: Span) -> int:
        """Return its offset, or the end of what is looked at."""
        if self.offset is None:
            return span.end
        return min(max(self.offset, span.start), span.end)


Question = FirstSince | RecordAt
"""What only a cluster can tell."""

Talk = Generator[Question, Found, T]
"""Works something out, and asks one question after the other: so that the
questions of all lanes are put at once, and the rules know no Kafka."""


def ask(question: Question) -> Talk[Found]:
    """Ask one question."""
    return (yield question)
