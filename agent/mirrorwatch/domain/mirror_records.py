"""Facts that a mirror writes to its internal topics."""

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Literal, TypeVar

from .topics import (
    HEARTBEATS,
    PatternError,
    Selection,
    TopicPattern,
    compile_pattern,
)

__all__ = [
    "BLACKLISTS",
    "FLUSH",
    "KAFKA_4",
    "LONGEST_FLUSH",
    "REFRESH",
    "TARGET_ALIAS",
    "Assignment",
    "Checkpoint",
    "CommitCadence",
    "Committed",
    "Companion",
    "Connector",
    "ConnectorSettings",
    "Heartbeat",
    "MirrorFact",
    "Sync",
    "TaskCount",
    "TaskState",
    "as_read_by",
    "is_readable",
    "may_resume_at_end",
]

KAFKA_4 = (4, 0)

BLACKLISTS = {
    "topics.blacklist": "topics.exclude",
    "groups.blacklist": "groups.exclude",
    "config.properties.blacklist": "config.properties.exclude",
}
"""Settings of MirrorMaker 2 that Kafka 4.0 and newer ignore, and what they are
called since 2.7 (KIP-629)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Committed:
    """A source offset that the mirror committed."""

    topic: str
    partition: int
    position: int | None
    """Next source offset to copy; `None` if the offset was deleted."""

    written_at: datetime
    connector: str = ""

    @property
    def key(self) -> tuple[str, int]:
        """Source topic and partition."""
        return self.topic, self.partition


@dataclass(frozen=True, kw_only=True, slots=True)
class Sync:
    """Offset sync: the offsets of one record on both sides."""

    topic: str
    partition: int
    upstream: int
    downstream: int
    written_at: datetime

    @property
    def key(self) -> tuple[str, int]:
        """Source topic and partition."""
        return self.topic, self.partition

    @property
    def position(self) -> int:
        """Next source offset to copy: this record was copied."""
        return self.upstream + 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Connector:
    """Configuration of the mirror's source connector."""

    name: str
    selection: Selection
    filter_unknown: bool = False
    """Patterns do not define the replicated topics: a class of the site's own
    chooses topics, or only the worker knows the patterns."""

    refresh: timedelta
    refreshes: bool = True
    """Topics are refreshed while the connector runs, and not at its start
    alone."""

    max_in_flight: int
    """Requests in flight of its producer; with 1, order holds."""

    max_request_bytes: int | None = None
    """Largest request of its producer, `None` if that is not said."""

    compresses: bool = False
    """Producer is configured to compress: then a record larger than a broker
    takes may be small enough."""

    read_committed: bool | None = False
    """Aborted records of transactions are skipped; MirrorMaker 2's own default
    is to copy them. `None` if it cannot be derived from that."""

    starts_at_end: bool = False
    """Partitions without a position are read from their log end
    (``auto.offset.reset`` is ``latest``): what they held is skipped."""

    resumes_at_end: bool = False
    """Partition whose position has expired is read from its log end: what it
    still held is skipped."""

    keeps_partitions: bool | None = None
    """Records keep the number of their partition; `None` if that is not
    known."""

    renames: str | None = None
    """Name of a topic at the target, with a placeholder for its source name;
    `None` if that is not known."""

    obeys_group: str | None = None
    """Consumer group at the source whose offsets it starts from, where it has
    others, too; `None` if it does not."""

    tolerates_errors: bool = False
    transforms: bool = True
    """Connector has transforms, which may drop records that were read; true
    where that is not known."""

    flush: timedelta | None = None
    """Commit interval of its positions; `None` if that is not known."""

    exactly_once: bool = False
    """Records are written in transactions; false where that is not known."""

    emits_syncs: bool = True
    heartbeats_after: str | None = None
    """Separator of names: topics whose last part is ``heartbeats`` are
    replicated whatever the selection says. Empty if what stands before it is
    of no matter; `None` if no topic is taken so."""

    config_sync: timedelta | None = None
    """Interval at which it copies topic configs; `None` if it does not."""

    config_excluded: tuple[str, ...] = ()
    """Properties of topics that it does not copy, as patterns."""

    since_kafka_4: "Connector | None" = None
    """Settings of the connector where Kafka 4.0 or newer runs it, which
    ignores `BLACKLISTS`; `None` if they are the same."""


def may_resume_at_end(connectors: Collection[Connector]) -> bool:
    """Return whether one of them resumes at the end of a log that was
    truncated below its position, or nothing says that none does.
    """
    return not connectors or any(
        c.resumes_at_end or c.starts_at_end for c in connectors
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Companion:
    """A connector that does not copy records of this flow."""

    name: str
    role: Literal["checkpoints", "heartbeats", "neighbour", "removed"]
    interval: timedelta | None = None
    """Interval at which it emits; `None` if it does not, or not for this
    flow."""

    groups: Selection | None = None
    """Consumer groups of which it emits checkpoints; `None` if that is not
    known, or its patterns are none that Python reads as Java does."""

    since_kafka_4: "Companion | None" = None


Configured = TypeVar("Configured", Connector, Companion)


def as_read_by(
    version: tuple[int, ...] | None, connector: Configured
) -> Configured:
    """Return a connector as a version of Kafka reads its configuration.

    Parameters
    ----------
    version
        The version; where it is `None`, it is taken for one before 4.0.
    connector
        The connector.
    """
    if version is None or version < KAFKA_4:
        return connector
    return connector.since_kafka_4 or connector


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskCount:
    """Task count of a connector: tasks beyond it are left over."""

    connector: str
    tasks: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Assignment:
    """The partitions that one task of a connector was given."""

    connector: str
    task: int
    partitions: frozenset[tuple[str, int]]
    written_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskState:
    """State of a connector, or of one of its tasks, as reported by Connect."""

    connector: str
    task: int | None
    """Number of the task; `None` for the connector itself."""

    state: str | None
    """``RUNNING``, ``FAILED``, ``PAUSED``, ``STOPPED``, ``RESTARTING`` or
    ``UNASSIGNED``; `None` if it was removed."""

    worker: str
    trace: str
    """Stack trace of what failed; empty if nothing did."""

    generation: int
    written_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Heartbeat:
    """A sign of life that the mirror carries."""

    source: str
    target: str
    place: Literal["source", "carried", "target"]
    """Place where it was read: the source, the topic to which the mirror
    copied it, or the target, where a worker of the mirror wrote it without
    copying."""

    beat_at: datetime
    written_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """Position at which a consumer group would resume at the target."""

    group: str
    topic: str
    partition: int
    upstream: int
    downstream: int
    written_at: datetime


MirrorFact = (
    Committed | Sync | Connector | Companion | TaskCount | Assignment
) | (TaskState | Heartbeat | Checkpoint)


REFRESH = timedelta(minutes=10)
"""MirrorMaker 2's default of ``refresh.topics.interval.seconds``, and of its
``sync.topic.configs.interval.seconds``."""

FLUSH = timedelta(minutes=1)

TARGET_ALIAS = "target"
"""``target.cluster.alias`` of MirrorMaker 2's connectors where it is not set
(``MirrorConnectorConfig``, the same in Kafka 3.9 and 4.3). That of the source
has no default: Connect refuses a connector without."""


@dataclass(frozen=True, kw_only=True)
class ConnectorSettings:
    """Settings of all source connectors of a flow; MirrorMaker 2's defaults
    where they are not known.
    """

    refresh: timedelta = REFRESH
    refreshes: bool = True
    config_sync: timedelta | None = REFRESH
    """Interval at which the slowest copies topic configs; `None` if none
    does."""

    excluded: tuple[str, ...] = ()
    """Properties of topics that are not copied, as patterns."""

    selections: tuple[Selection, ...] = ()
    """Topics that each replicates; none if that is not known."""

    heartbeats_after: tuple[str, ...] = ()
    """Separators before ``heartbeats`` in names of topics that are replicated
    whatever the selections say."""

    known: bool = False

    @classmethod
    def of(cls, connectors: Iterable[Connector]) -> "ConnectorSettings":
        """Return the habits of a flow's connectors."""
        connectors = tuple(connectors)
        if not connectors:
            return cls()
        syncs = [c.config_sync for c in connectors if c.config_sync]
        return cls(
            refresh=max(c.refresh for c in connectors),
            refreshes=all(c.refreshes for c in connectors),
            config_sync=max(syncs, default=None),
            excluded=tuple(
                dict.fromkeys(p for c in connectors for p in c.config_excluded)
            ),
            selections=tuple(c.selection for c in connectors)
            if all(
                is_readable(c.selection) and not c.filter_unknown
                for c in connectors
            )
            else (),
            heartbeats_after=tuple(
                c.heartbeats_after
                for c in connectors
                if c.heartbeats_after is not None
            ),
            known=True,
        )

    def wants(self, topic: str) -> bool:
        """Return whether a connector takes a topic; yes if not known."""
        if not self.selections:
            return True
        known = self._wanted.get(topic)
        if known is None:
            known = self._wanted[topic] = self._is_heartbeats(topic) or any(
                selection.matches(topic) for selection in self.selections
            )
        return known

    def _is_heartbeats(self, topic: str) -> bool:
        before = topic.removesuffix(HEARTBEATS)
        return before != topic and any(
            not before or before.endswith(separator)
            for separator in self.heartbeats_after
        )

    def excludes(self, name: str) -> bool:
        """Return whether a property of topics is not copied."""
        return any(pattern.fullmatch(name) for pattern in self._excluded)

    @cached_property
    def _wanted(self) -> dict[str, bool]:
        return {}

    @cached_property
    def _excluded(self) -> tuple[TopicPattern, ...]:
        return tuple(compile_pattern(p) for p in self.excluded if _compiles(p))


def is_readable(selection: Selection) -> bool:
    """Return whether Python reads a mirror's patterns as Java does."""
    return all(map(_compiles, (*selection.include, *selection.exclude)))


def _compiles(pattern: str) -> bool:
    try:
        compile_pattern(pattern)
    except PatternError:
        return False
    return True


LONGEST_FLUSH = timedelta(minutes=10)
"""Longest interval that is learned: of a site where records come more seldom,
commits show when they came and not how often they are written."""

BUSY = 5
"""Records between two commits of a partition from which these come as often
as they can."""

GAPS = 3
"""Last gaps of a partition, of which the middle one counts: one that is too
long had an outage in it, one that is too short a restart."""


class CommitCadence:
    """Learns ``offset.flush.interval.ms`` where no configuration says it: a
    Connect worker does not tell.
    """

    def __init__(self) -> None:
        self._gaps: dict[tuple[str, int], deque[timedelta]] = {}
        self._found: dict[tuple[str, int], timedelta] = {}
        self._followed: set[tuple[str, int]] = set()
        """Partitions whose next gap is known: all commits were read."""

    def interrupt(self) -> None:
        """Leave out gaps in which commits could not be read."""
        self._followed.clear()

    def see(self, before: Committed | None, now: Committed) -> None:
        """Take a commit, and the one before it of the same partition."""
        is_followed = now.key in self._followed
        self._followed.add(now.key)
        if (
            not is_followed
            or before is None
            or before.position is None
            or now.position is None
            or now.position - before.position < BUSY
        ):
            return
        gaps = self._gaps.setdefault(now.key, deque(maxlen=GAPS))
        gaps.append(now.written_at - before.written_at)
        self._found[now.key] = sorted(gaps)[(len(gaps) - 1) // 2]

    def interval(self) -> timedelta | None:
        """Return how often positions are committed; `None` if that is not
        known yet. Never less than Connect's default.
        """
        found = min(self._found.values(), default=None)
        return None if found is None else min(max(found, FLUSH), LONGEST_FLUSH)
