"""Log facts for planning an audit, and the lookups it asks of Kafka."""

from collections.abc import (
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import reduce
from typing import TypeVar

from ..cluster_view import FOR_EVER, TopicFacts, TopicPartition
from ..mirror_records import Connector, Sync
from ..report import Flow
from ..topics import ReplicatedTopics
from .plan import (
    AS_THEY_ARE,
    NOTHING,
    AuditSpan,
    CopyProfile,
    Side,
    Unverifiable,
)

__all__ = [
    "AuditFound",
    "FirstSince",
    "FlowTopics",
    "IsolationHistory",
    "Log",
    "Lookup",
    "PairedLogs",
    "Question",
    "RecordAt",
    "Retention",
    "SourceLog",
    "SyncHistory",
    "newest_sync",
    "oldest_sync",
    "pair_partitions",
    "plan_batched",
]


P = TypeVar("P")
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Retention:
    """Retention of a topic, by time and by size."""

    by_time: timedelta | None = None
    """Age before which none does; `None` if that is not known."""

    by_size: bool = True

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
        """Return whether nothing of this time and after can have expired."""
        if self.by_size or self.by_time is None:
            return False
        return now - time < self.by_time


@dataclass(frozen=True, kw_only=True, slots=True)
class Log:
    """A partition of one side, frozen."""

    side: Side
    cluster: str
    topic_partition: TopicPartition
    topic_id: str
    retained: AuditSpan = NOTHING
    """Log start and end, once they were read: at the source the end is as the
    mirror's consumer sees it, at the target it was read after all positions.
    """

    retention: Retention = Retention()


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceLog:
    """A source partition that feeds a target partition, and how far it was
    copied, once that was read.
    """

    flow: str
    log: Log
    steady: bool = False
    """Log end was unchanged after the target's end was read: then the target's
    end covers no record above it."""

    position: int | None = None
    """Next offset proved copied or passed, read before the target's end."""

    syncs: tuple[tuple[int, int], ...] = ()
    read_committed: bool = False
    """Isolation level of the mirror is `read_committed`."""

    later_end: int = 0
    """End read after the target's, or 0: no copy below the target's end is of
    a record above it."""

    @property
    def key(self) -> tuple[str, str, int]:
        """Flow, source topic and partition."""
        return (self.flow, *self.log.topic_partition)

    @property
    def at_rest(self) -> bool:
        """Log is idle: all its records were copied, and none added since."""
        retained = self.log.retained
        copied = len(retained) == 0 or (self.position or 0) >= retained.end
        return self.steady and copied


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedLogs:
    """Target partition with the source logs that feed it."""

    flow: str
    """Name of the first flow that writes the target topic."""

    topic: str
    cluster: str
    topic_partition: TopicPartition
    sources: tuple[SourceLog, ...]
    """Source logs; empty if the partition exists at the target only."""

    target: Log | None
    """Target log; `None` if the partition does not exist there."""

    timestamps: bool = True
    compacted: bool = False
    starts_at_end: bool | None = False
    """Mirror skips records that a partition held before it was discovered;
    `None` if that is not known."""

    copies: CopyProfile = AS_THEY_ARE
    absent: tuple[tuple[str, str], ...] = ()
    """Other flows that are to write the target topic, and their source
    topics, which do not exist."""


@dataclass(frozen=True, slots=True)
class FirstSince:
    """Asks for the first record that is not older than a time."""

    log: Log
    time: datetime


@dataclass(frozen=True, slots=True)
class RecordAt:
    """Asks for the first data record at or after an offset."""

    log: Log
    """Source log to search."""

    offset: int
    read_committed: bool


@dataclass(frozen=True, slots=True)
class AuditFound:
    """The record that was asked for."""

    offset: int | None
    """Its offset; `None` if there is none."""

    written_at: datetime | None = None
    """Its timestamp; `None` if it has none."""

    failed: bool = False
    """Lookup failed, rather than found no record."""

    def within(self, span: AuditSpan) -> int:
        """Return its offset, or the end of what is looked at."""
        if self.offset is None:
            return span.end
        return min(max(self.offset, span.start), span.end)


Question = FirstSince | RecordAt
"""Lookup that only a cluster can answer."""

Lookup = Callable[[Question], AuditFound]
"""Returns the answer to a question."""


FOREIGN = (
    "merged with topics of other flows that are not configured here: their "
    "records cannot be distinguished from errors"
)


@dataclass(frozen=True, kw_only=True)
class FlowTopics:
    """Which topics one flow carries."""

    flow: Flow
    replicated: ReplicatedTopics
    merged: Callable[[str], bool]
    copies: CopyProfile = AS_THEY_ARE


def pair_partitions(
    flows: Sequence[FlowTopics],
    topics: Mapping[str, Mapping[str, TopicFacts]],
    wants: Callable[[str, str], bool],
) -> tuple[list[PairedLogs], list[Unverifiable]]:
    """Find out which target partitions are fed by which source partitions.

    Parameters
    ----------
    flows
        All flows that may share a target topic.
    topics
        Topics by name, by alias of their cluster.
    wants
        Returns whether a source topic of a flow is asked for. What shares its
        target topic comes along.

    Returns
    -------
    tuple of lists
        Pairs whose offsets are yet to be read, and topics that cannot be
        audited.
    """
    fed: dict[tuple[str, str], list[tuple[FlowTopics, str]]] = {}
    for one in flows:
        names = one.replicated.names(topics[one.flow.source])
        for topic, remote in sorted(names.items()):
            fed.setdefault((one.flow.target, remote), []).append((one, topic))
    pairs: list[PairedLogs] = []
    unverifiable: list[Unverifiable] = []
    for (cluster, remote), feeders in sorted(fed.items(), key=lambda x: x[0]):
        if not any(wants(one.flow.name, topic) for one, topic in feeders):
            continue
        merged = any(one.merged(topic) for one, topic in feeders)
        writers = list(_writers(cluster, remote, flows)) if merged else []
        # Others write to it that are not configured here.
        if merged and len(writers) < 2:
            one, topic = feeders[0]
            unverifiable.append(
                Unverifiable(
                    flow=one.flow.name,
                    topic=topic,
                    partition=None,
                    reason=FOREIGN,
                )
            )
        else:
            absent = tuple(
                (one.flow.name, topic)
                for one, topic in writers
                if topic not in topics[one.flow.source]
            )
            found = _pairs_of_topic(cluster, remote, feeders, topics)
            pairs += (replace(pair, absent=absent) for pair in found)
    return pairs, unverifiable


def _pairs_of_topic(
    cluster: str,
    remote: str,
    feeders: Sequence[tuple[FlowTopics, str]],
    topics: Mapping[str, Mapping[str, TopicFacts]],
) -> Iterator[PairedLogs]:
    there = topics[cluster].get(remote)
    facts = [topics[one.flow.source][topic] for one, topic in feeders]
    existing = 0 if there is None else there.partitions
    first, topic = feeders[0]
    copies = reduce(CopyProfile.joined, [one.copies for one, _ in feeders])
    for partition in range(max(existing, *(f.partitions for f in facts))):
        target = None
        if there is not None and partition < existing:
            target = Log(
                side="target",
                cluster=cluster,
                topic_partition=(remote, partition),
                topic_id=there.id,
            )
        yield PairedLogs(
            flow=first.flow.name,
            topic=topic,
            cluster=cluster,
            topic_partition=(remote, partition),
            sources=tuple(
                SourceLog(
                    flow=one.flow.name,
                    log=Log(
                        side="source",
                        cluster=one.flow.source,
                        topic_partition=(name, partition),
                        topic_id=here.id,
                    ),
                )
                for (one, name), here in zip(feeders, facts, strict=True)
                if partition < here.partitions
            ),
            target=target,
            copies=copies,
        )


def _writers(
    cluster: str, remote: str, flows: Sequence[FlowTopics]
) -> Iterator[tuple[FlowTopics, str]]:
    """Yield which flows write to a topic at the target, with their source
    topics, whether these exist or not.
    """
    for one in flows:
        if one.flow.target == cluster:
            topic = one.replicated.naming.origin(remote)
            if topic is not None and one.replicated.carries(topic):
                yield one, topic


class IsolationHistory:
    """Collects how the connectors of one flow read their source.

    Notes
    -----
    The records that an audit compares may have been copied before the last
    configuration was written. So all count that their topic still holds, of
    all connectors, also of those that were deleted. One that cannot be read
    makes it unknown, as none at all does.
    """

    def __init__(self) -> None:
        self._levels: set[bool | None] = set()

    def take(self, connector: Connector) -> None:
        """Add a configuration."""
        self._levels.add(connector.read_committed)

    @property
    def read_committed(self) -> bool | None:
        """Isolation level is `read_committed`: aborted records are left out;
        `None` if that is not known, or was not always so.
        """
        return next(iter(self._levels)) if len(self._levels) == 1 else None


MOST = 128
"""Pairs that are kept of one partition: when there are more, every other one
goes. Those of a day are then 23 minutes apart at most, which a cut loses to
the next night, and those of ten thousand busy partitions take 150 MB."""

SyncPair = tuple[int, int]
"""Source offset and target offset of one record."""


@dataclass(slots=True)
class _SyncTrack:
    """Every so many pairs of one partition, and the newest one."""

    highest: SyncPair = (-1, -1)
    pairs: list[SyncPair] = field(default_factory=list)
    newest: SyncPair | None = None
    seen: int = 0
    every: int = 1

    def add(self, pair: SyncPair) -> None:
        self.newest = pair
        if self.seen % self.every == 0:
            self.pairs.append(pair)
            if len(self.pairs) == MOST:
                del self.pairs[1::2]
                self.every *= 2
        self.seen += 1

    def clear(self) -> None:
        self.pairs.clear()
        self.newest, self.seen, self.every = None, 0, 1


class SyncHistory:
    """Collects the syncs of one flow, in the order of their topic.

    Parameters
    ----------
    floors
        By source partition: offsets below are of no concern.

    Notes
    -----
    A pair can be cut at only if everything below it at the source was copied
    below it at the target. While a mirror copies again what it had copied, its
    pairs are below earlier ones at the source: they are left out until it is
    past them. Where pairs go back at the target, the topic was recreated
    there, and what was known of the old one goes.
    """

    def __init__(self, floors: Mapping[TopicPartition, int]) -> None:
        self._floors = floors
        self._tracks: dict[TopicPartition, _SyncTrack] = {}

    def take(self, sync: Sync) -> None:
        """Add a sync."""
        partition = (sync.topic, sync.partition)
        if partition not in self._floors:
            return
        track = self._tracks.setdefault(partition, _SyncTrack())
        upstream, downstream = track.highest
        if sync.downstream < downstream:
            track.clear()
        elif sync.upstream <= upstream:
            track.highest = (upstream, sync.downstream)
            return
        pair = track.highest = (sync.upstream, sync.downstream)
        if sync.upstream >= self._floors[partition]:
            track.add(pair)

    def of(self, partition: TopicPartition) -> tuple[SyncPair, ...]:
        """Return pairs of a source partition, ascending on both sides."""
        track = self._tracks.get(partition)
        if track is None or track.newest is None:
            return ()
        if track.pairs[-1] == track.newest:
            return tuple(track.pairs)
        return (*track.pairs, track.newest)


def newest_sync(
    pairs: Sequence[SyncPair], above: SyncPair, most: SyncPair
) -> SyncPair | None:
    """Return the last pair between two others, on both sides."""
    return next(
        (p for p in reversed(pairs) if _below(above, p) and _below(p, most)),
        None,
    )


def oldest_sync(pairs: Sequence[SyncPair], least: SyncPair) -> SyncPair | None:
    """Return the first pair at or above another, on both sides."""
    return next((p for p in pairs if _below(least, p)), None)


def _below(one: SyncPair, other: SyncPair) -> bool:
    return one[0] <= other[0] and one[1] <= other[1]


class _UnreadError(Exception):
    """Raised with a question that was not answered yet."""

    def __init__(self, question: Question) -> None:
        self.question = question


def plan_batched(
    things: Sequence[P],
    plan: Callable[[Lookup, P], T],
    answer: Callable[[Collection[Question]], Mapping[Question, AuditFound]],
) -> list[T]:
    """Plan all pairs side by side.

    Parameters
    ----------
    things
        Items to plan, such as pairs.
    plan
        Plans one. It is called anew whenever an answer was missing.
    answer
        Answers all questions that are open at the same time. So what is asked
        of a cluster grows with the rounds, not with the pairs.

    Returns
    -------
    list
        Result of `plan` for each item, in the order of the items.
    """
    known: dict[Question, AuditFound] = {}

    def look(question: Question) -> AuditFound:
        if question not in known:
            raise _UnreadError(question)
        return known[question]

    results: dict[int, T] = {}
    open_ = dict(enumerate(things))
    while open_:
        asked: set[Question] = set()
        for number, thing in list(open_.items()):
            try:
                results[number] = plan(look, thing)
            except _UnreadError as e:
                asked.add(e.question)
            else:
                del open_[number]
        known |= answer(asked) if asked else {}
    return [results[number] for number in range(len(things))]
