"""Lag of a flow at one time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from types import ModuleType

from ..cluster_view import TopicPartition
from ..finding import Finding, Health, Numbers
from ..mirror_records import FLUSH, REFRESH

__all__ = [
    "SHOWN",
    "STALE",
    "EstimateBounds",
    "FirstLoss",
    "FirstRecord",
    "Headroom",
    "LagObservation",
    "LagStatus",
    "ReadAt",
    "StalledPartition",
    "TopicLag",
    "find_unlisted",
    "first_loss",
]


STALE = timedelta(minutes=2)
"""The survey asks every tick and waits seconds for each answer; older than
this, it hangs."""

SHOWN = 100
"""Findings of one code that are reported, the worst first: enough for a
person, and cheap where thousands of topics have lag."""


class LagStatus(StrEnum):
    """Lag status of a topic, without any threshold (after Burrow)."""

    EVEN = "even"

    MOVING = "moving"

    FALLING_BEHIND = "falling behind"

    STALLED = "stalled"
    """Records wait and are not taken, while other topics go on."""

    STOPPED = "stopped"

    NOT_BEGUN = "not begun"


@dataclass(frozen=True, kw_only=True, slots=True)
class Headroom:
    """Headroom: longest stop of the mirror before records are lost.

    Notes
    -----
    Kafka deletes whole segments, so records live longer than this, never
    shorter.
    """

    remaining: timedelta
    """Time until the oldest record that waits, or else the next one that is
    written, expires at the source."""

    share: float
    """The same as a share of what the topic keeps: 1 is all of it."""

    estimated: bool = False
    """Headroom is estimated from the size of the log and the rate of the last
    minute, because the size is what bounds the topic."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StalledPartition:
    """Partition whose position is stalled while records are pending."""

    partition: int
    position: int
    origin: str
    status: LagStatus
    stuck: timedelta
    """Time for which its position has been stalled."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicLag:
    """Lag of one source topic."""

    topic: str
    topic_class: str
    """Class that the configuration gives it; empty if none."""

    records: int
    """Source offsets not yet copied, of all partitions."""

    seconds: float
    """Age of the oldest record not yet copied; 0 if nothing waits."""

    at_least: bool = False
    """Age is only a lower bound: the record was there before the agent's first
    survey, and could not be read yet."""

    status: LagStatus = LagStatus.EVEN
    partition: int | None = None
    """The partition that is worst, `None` if nothing waits."""

    position: int | None = None
    origin: str = ""
    stuck: timedelta | None = None
    """Time for which a partition has been stalled while records were
    pending."""

    standing: tuple[StalledPartition, ...] = ()
    """All partitions that do not move while their records wait."""

    drain: timedelta | None = None
    """Drain time: until no records are pending, at the rate of the last
    minute; `None` if none are pending, the lag does not shrink, or a partition
    is stalled."""

    headroom: Headroom | None = None
    """Headroom before records are lost; `None` if the source keeps them for
    ever, or if that is not known."""

    scarcer: tuple[Headroom, ...] = ()
    """Headroom that lasts longer, by another limit or in another partition,
    but of which a smaller share is left."""

    just_seen: bool = False
    """Pending records were observed for the first time, so that they may be
    what a mirror that keeps up has not committed yet."""

    unmeasured: bool = False
    """Retention by size deletes its records, and its write rate is not known
    yet."""

    unfilled: bool = False
    """Position is stalled, and records will be lost to retention by size
    alone, of which nothing is known before the first is lost."""

    @property
    def waiting(self) -> Numbers:
        """Records not yet copied, and the age of the oldest."""
        age = "seconds_at_least" if self.at_least else "seconds"
        return {"records": self.records, age: self.seconds}


@dataclass(frozen=True, kw_only=True, slots=True)
class LagObservation:
    """Lag of all topics that one flow carries."""

    flow: str
    at: datetime
    topics: tuple[TopicLag, ...] = ()
    flush: timedelta = FLUSH
    refresh: timedelta = REFRESH
    unknown_partitions: int = 0
    configs_known: bool = False
    configs_refused: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    hidden: str | None = None
    """Which topics that the mirror copies the agent may not see, in a
    sentence: nothing is known of them by any check."""

    @property
    def records(self) -> int:
        """Records of all topics that are not yet copied."""
        return sum(t.records for t in self.topics)

    @property
    def stopped(self) -> timedelta:
        """Duration of the whole flow's stall while records were pending."""
        return max(
            (
                each.stuck
                for topic in self.topics
                for each in topic.standing
                if each.status is LagStatus.STOPPED
            ),
            default=timedelta(),
        )

    @property
    def seconds(self) -> float:
        """Age of the oldest record that is not yet copied."""
        return max((t.seconds for t in self.topics), default=0.0)


ALIKE = timedelta(minutes=1)
ALIKE_SHARE = 100
"""Topics that differ by less than a minute and a hundredth are alike, and the
first by name stands for them: which of a thousand topics has a record on its
way changes with every look, and is no news."""


@dataclass(frozen=True, slots=True)
class FirstLoss:
    """The topic that would lose records first."""

    topic: TopicLag
    headroom: Headroom
    others_alike: int


def first_loss(topics: Sequence[TopicLag]) -> FirstLoss | None:
    """Return the first to lose records, `None` if nothing is ever deleted."""
    found = [(t, t.headroom) for t in topics if t.headroom is not None]
    least = min((left.remaining for _, left in found), default=None)
    if least is None:
        return None
    margin = min(ALIKE, least / ALIKE_SHARE)
    alike = [pair for pair in found if pair[1].remaining <= least + margin]
    topic, left = min(alike, key=lambda pair: pair[0].topic)
    return FirstLoss(topic, left, len(alike) - 1)


@dataclass(frozen=True, slots=True)
class ReadAt:
    """A position at which a record should be read."""

    place: TopicPartition
    position: int
    end: int


@dataclass(frozen=True, slots=True)
class FirstRecord:
    """First record that was found at a position."""

    wanted: ReadAt
    """Position at which the record was looked for."""

    offset: int | None
    """Offset of the first data record; `None` if there is none to the end."""

    written_at: datetime | None = None


@dataclass(slots=True)
class EstimateBounds:
    """Position estimates, checked against the positions proved later.

    Notes
    -----
    The target's end shows at once what was copied. But a foreign writer, or
    the markers of an exactly-once mirror, push it on too. So what an estimate
    claims must be proved within a few flushes; until it is, and if it is
    not, estimates of this partition are not believed.
    """

    offset: int | None = None
    """Oldest claim that is not yet proved."""

    at: datetime | None = None

    def believe(
        self,
        estimate: int,
        proved: int,
        now: datetime,
        patience: timedelta,
    ) -> bool:
        """Return whether an estimate can be believed.

        Parameters
        ----------
        estimate
            Position that it claims.
        proved
            Position that is proved.
        now
            The time.
        patience
            Longest time that a proof may take.
        """
        if estimate <= proved:
            self.offset = self.at = None
            return False
        if self.offset is None or self.at is None or proved >= self.offset:
            self.offset, self.at = estimate, now
        return now - self.at <= patience


def find_unlisted(
    texts: ModuleType, seen: LagObservation, now: datetime
) -> Iterator[Finding]:
    """Yield what keeps `lag` and `retention` from being known: a listing that
    is old, and what was not answered.

    Parameters
    ----------
    texts
        Texts of the check.
    seen
        Lag of a flow.
    now
        The time.
    """
    age = now - seen.at
    if age > STALE:
        yield texts.STALE.found(Health.UNKNOWN, seconds=age.total_seconds())
    for problem in seen.problems:
        code = texts.UNREADABLE
        if problem == seen.hidden:
            code = texts.HIDDEN_TOPICS
        yield code.found(Health.UNKNOWN, problem=problem)
