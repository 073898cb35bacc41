"""Kafka clusters of a simulated world: topics, logs, and what is wrong."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from uuid import UUID

from .schedule import Schedule

__all__ = ["Kind", "Log", "Record", "SimCluster", "SimTopic"]


class Kind(IntEnum):
    """What an offset holds."""

    DATA = 0
    ABORTED = 1
    """Data of an aborted transaction."""

    MARKER = 2
    """A control record, which no consumer is given."""

    COMPACTED = 3
    """Nothing any more."""


@dataclass(slots=True)
class Record:
    """What one offset of a log holds."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    kind: Kind = Kind.DATA


class Log:
    """The log of one partition."""

    __slots__ = ("_base", "_records", "leader", "open_from", "start")

    def __init__(self) -> None:
        self.start = 0
        self.leader: int | None = 1
        self.open_from: int | None = None
        """First offset of the oldest open transaction."""
        self._base = 0
        self._records: list[Record] = []

    @property
    def end(self) -> int:
        """The high watermark."""
        return self._base + len(self._records)

    @property
    def stable_end(self) -> int:
        """The last stable offset."""
        return self.end if self.open_from is None else self.open_from

    def visible_end(self, *, committed: bool) -> int:
        return self.stable_end if committed else self.end

    def append(self, record: Record) -> int:
        """Write a record; return its offset."""
        self._records.append(record)
        return self.end - 1

    def at(self, offset: int) -> Record:
        """Return what an offset holds that is not expired."""
        return self._records[offset - self._base]

    def read(
        self, position: int, most: int, *, committed: bool
    ) -> Iterator[tuple[int, Record]]:
        """Yield what a consumer is given from a position on."""
        end = self.visible_end(committed=committed)
        for offset in range(max(position, self.start), end):
            if most <= 0:
                return
            record = self.at(offset)
            if record.kind is Kind.DATA or (
                record.kind is Kind.ABORTED and not committed
            ):
                most -= 1
                yield offset, record

    def expire(self, start: int) -> None:
        """Delete what is below an offset."""
        start = min(max(start, self.start), self.end)
        del self._records[: start - self._base]
        self._base = self.start = start

    def truncate(self, end: int) -> None:
        """Lose what is at and above an offset, as an unclean election does."""
        end = max(end, self.start)
        del self._records[end - self._base :]
        if self.open_from is not None and self.open_from >= end:
            self.open_from = None

    def first_since(self, timestamp: int) -> tuple[int, int] | None:
        """Return offset and timestamp of the first record so young."""
        for offset in range(self.start, self.end):
            record = self.at(offset)
            if record.kind is Kind.DATA and record.timestamp >= timestamp:
                return offset, record.timestamp
        return None

    def compact(self, keep_from: int) -> None:
        """Remove older versions of each key below an offset."""
        newest: dict[bytes | None, int] = {}
        for offset in range(self.start, self.end):
            newest[self.at(offset).key] = offset
        for offset in range(self.start, min(keep_from, self.end)):
            record = self.at(offset)
            if record.kind is Kind.DATA and newest[record.key] != offset:
                record.kind = Kind.COMPACTED


@dataclass
class SimTopic:
    """One topic."""

    name: str
    id: str
    logs: list[Log]
    configs: dict[str, str] = field(default_factory=dict)
    stale_starts: dict[int, int] = field(default_factory=dict)
    """Log starts that a broker that lags answers with, by partition."""

    stale_ends: dict[int, int] = field(default_factory=dict)
    """Ends that a new leader answers with, by partition."""


DEFAULTS: Mapping[str, str] = {
    "max.message.bytes": "1048588",
    "retention.ms": "604800000",
    "retention.bytes": "-1",
    "cleanup.policy": "delete",
    "segment.bytes": "1073741824",
    "segment.ms": "604800000",
    "message.timestamp.type": "CreateTime",
    "min.insync.replicas": "1",
    "compression.type": "producer",
}
"""What a broker says of a topic that sets nothing itself."""


class SimCluster:
    """One cluster, as its brokers see it.

    Attributes
    ----------
    reachable
        Whether the agent reaches it; `None` means that calls hang until
        their time-out.
    up
        Whether the mirror and the producers reach it.
    denied
        Topics of which the agent may know nothing.
    hidden
        Topics that one listing leaves out, as metadata in motion does.
    """

    def __init__(self, alias: str, schedule: Schedule) -> None:
        self.alias = alias
        self.schedule = schedule
        self.id = f"cluster-{alias}"
        self.brokers = [1]
        self.topics: dict[str, SimTopic] = {}
        self.reachable: bool | None = True
        self.up = True
        self.denied: set[str] = set()
        self.hidden: set[str] = set()
        self._ids = 0

    def create(self, name: str, partitions: int, **configs: str) -> SimTopic:
        """Create a topic, or return it."""
        if name not in self.topics:
            self._ids += 1
            of_cluster = int.from_bytes(self.alias.encode(), "big")
            topic_id = str(UUID(int=(of_cluster << 64) + self._ids))
            self.topics[name] = SimTopic(
                name,
                topic_id,
                [Log() for _ in range(partitions)],
                {k.replace("_", "."): v for k, v in configs.items()},
            )
        return self.topics[name]

    def delete(self, name: str) -> None:
        """Delete a topic."""
        self.topics.pop(name, None)

    def grow(self, name: str, partitions: int) -> None:
        """Add partitions."""
        logs = self.topics[name].logs
        logs.extend(Log() for _ in range(partitions - len(logs)))

    def log(self, topic: str, partition: int) -> Log | None:
        """Return a log, if it exists."""
        found = self.topics.get(topic)
        if found is None or partition >= len(found.logs):
            return None
        return found.logs[partition]

    def milliseconds(self) -> int:
        """Return the brokers' time."""
        return int(self.schedule.now().timestamp() * 1000)

    def append(
        self,
        topic: str,
        partition: int,
        value: bytes | None,
        key: bytes | None = None,
    ) -> int:
        """Write a record; return its offset."""
        log = self.topics[topic].logs[partition]
        return log.append(Record(key, value, self.milliseconds()))

    def visible(self) -> Iterable[SimTopic]:
        """Return topics that the agent is shown."""
        return [
            t
            for t in self.topics.values()
            if t.name not in self.denied and t.name not in self.hidden
        ]
