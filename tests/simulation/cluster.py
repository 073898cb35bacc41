"""Kafka clusters of a simulated world: topics, logs, and what is wrong."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from uuid import UUID

from .schedule import Schedule

__all__ = ["Kind", "Log", "Record", "SimCluster", "SimGroup", "SimTopic"]


class Kind(IntEnum):
    """What an offset holds."""

    DATA = 0
    ABORTED = 1

    MARKER = 2

    COMPACTED = 3


@dataclass(slots=True)
class Record:
    """What one offset of a log holds."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    kind: Kind = Kind.DATA
    copied: int = 0
    """How many copies of it the mirror wrote that are not lost again."""

    left: bool = False
    cut: bool = False
    unseen: bool = False
    """Whether it was deleted before the agent read its offset."""

    headers: tuple[tuple[str, bytes], ...] = ()

    origin: "tuple[tuple[str, int], Record] | None" = None
    """What it is a copy of, and where that is at the source."""

    offset: int = -1
    in_transaction: bool = False


Numbered = tuple[int, Record]


class Log:
    """The log of one partition.

    Parameters
    ----------
    on_gone
        Is given what leaves the log without being superseded.
    clock
        Gives the seconds of the world.
    """

    __slots__ = (
        "_base",
        "_clock",
        "_cut_at",
        "_on_gone",
        "_plain",
        "_records",
        "_told_at",
        "end",
        "epoch",
        "epochs",
        "leader",
        "open_from",
        "outgrown",
        "preferred",
        "seen",
        "segment",
        "start",
        "watermark",
    )

    def __init__(
        self,
        on_gone: Callable[[Iterable[Numbered]], None] = lambda _: None,
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.start = 0
        self.end = 0
        self.leader: int | None = 1
        self.preferred = 1
        self.segment = 1
        """Records of one segment: retention deletes whole ones."""
        self.open_from: int | None = None
        """First offset of the oldest open transaction."""
        self.epoch = 0
        self.epochs = {0: 0}
        """First offsets by leader epoch."""
        self.watermark: int | None = None
        """High watermark of a new leader, while it is below the end."""
        self.seen = 0
        """The last end that the agent read."""
        self.outgrown = False
        """Whether it was truncated and had grown beyond what the agent knew
        before the agent read its end again, or could ask a broker."""
        self._cut_at: int | None = None
        self._told_at: float | None = None
        self._base = 0
        self._records: list[Record] = []
        self._plain = True
        self._on_gone = on_gone
        self._clock = clock

    @property
    def stable_end(self) -> int:
        """The last stable offset."""
        return self.end if self.open_from is None else self.open_from

    @property
    def state(self) -> tuple[object, ...]:
        """All on which depends what a consumer is given."""
        return self.start, self.end, self.open_from, self.watermark

    def visible_end(self, *, committed: bool) -> int:
        end = self.stable_end if committed else self.end
        if self.watermark is None:
            return end
        return max(self.start, min(end, self.watermark))

    def end_of(self, epoch: int) -> int:
        """Return where an epoch ends, as OffsetForLeaderEpoch answers."""
        later = [first for e, first in self.epochs.items() if e > epoch]
        return max(self.start, min(later, default=self.end))

    def elect(self, leader: int, behind: int = 0) -> None:
        """Elect a leader, whose high watermark may be behind."""
        self.leader = leader
        self.epoch += 1
        self.epochs[self.epoch] = self.end
        self.watermark = self.end - behind if behind else None

    def append(self, record: Record) -> int:
        """Write a record; return its offset."""
        self._records.append(record)
        record.offset = self.end
        if record.kind is not Kind.DATA:
            self._plain = False
        self.end += 1
        if self._told_at is not None and self._cut_at is not None:
            self._outgrow(self._told_at, self._cut_at)
        return self.end - 1

    def _outgrow(self, told_at: float, cut_at: int) -> None:
        """Note whether it is as long again before the agent could ask."""
        if self._clock() - told_at > ASKED_AFTER:
            self._told_at = self._cut_at = None
        elif self.end >= cut_at:
            self.outgrown = True

    def tell(self, end: int) -> int:
        """Tell the agent an end."""
        if self._cut_at is not None and self._told_at is None:
            self.outgrown |= end >= self._cut_at
            self._told_at = self._clock()
        self.seen = end
        return end

    def at(self, offset: int) -> Record:
        """Return what an offset holds that is not expired."""
        return self._records[offset - self._base]

    def span(self, first: int, end: int) -> Sequence[Numbered]:
        """Return what is there between two offsets."""
        first, end = max(first, self.start), min(end, self.end)
        if first >= end:
            return ()
        found = self._records[first - self._base : end - self._base]
        return list(zip(range(first, end), found, strict=True))

    def read(
        self, position: int, most: int, *, committed: bool
    ) -> Sequence[Numbered]:
        """Return what a consumer is given from a position on."""
        end = self.visible_end(committed=committed)
        if self._plain:
            return self.span(position, min(end, max(position, 0) + most))
        found: list[Numbered] = []
        for offset, record in self.span(position, end):
            if len(found) >= most:
                break
            if record.kind is Kind.DATA or (
                record.kind is Kind.ABORTED and not committed
            ):
                found.append((offset, record))
        return found

    def expire(self, start: int) -> None:
        """Delete the segments below an offset."""
        if start < self.end:
            start -= start % self.segment
        start = min(max(start, self.start), self.end)
        gone = self.span(self.start, start)
        del self._records[: start - self._base]
        self._base = self.start = start
        self._on_gone(gone)

    def truncate(self, end: int) -> Sequence[Numbered]:
        """Lose what is at and above an offset, as an unclean election does.

        What was not copied yet is lost to both sides alike.

        Returns
        -------
        sequence of tuple
            What is lost.
        """
        end = max(end, self.start)
        if end >= self.end:
            return ()
        lost = self.span(end, self.end)
        for _, record in lost:
            record.cut = True
        del self._records[end - self._base :]
        self._cut_at, self._told_at = self.seen, None
        self.end = end
        self.epoch += 1
        self.epochs[self.epoch] = end
        if self.open_from is not None and self.open_from >= end:
            self.open_from = None
        return lost

    def delete(self) -> None:
        """Lose everything, as the topic is deleted."""
        for _, record in self.span(self.seen, self.end):
            record.unseen = True
        self._on_gone(self.span(self.start, self.end))

    def end_transaction(self, timestamp: int, *, aborts: bool) -> None:
        """End the open transaction, if there is one, by a marker."""
        if self.open_from is None:
            return
        for _, record in self.span(self.open_from, self.end):
            if aborts and record.in_transaction:
                record.kind = Kind.ABORTED
        self.append(Record(None, None, timestamp, Kind.MARKER))
        self.open_from = None

    def first_since(self, timestamp: int) -> tuple[int, int] | None:
        """Return offset and timestamp of the first record so young."""
        for offset in range(self.start, self.end):
            record = self.at(offset)
            if record.kind is Kind.DATA and record.timestamp >= timestamp:
                return offset, record.timestamp
        return None

    def compact(self, keep_from: int) -> int:
        """Remove older versions of each key below an offset.

        Returns
        -------
        int
            How many offsets hold nothing any more.
        """
        newest: dict[bytes | None, int] = {}
        for offset, record in self.span(self.start, self.stable_end):
            if record.kind is Kind.DATA:
                newest[record.key] = offset
        removed = 0
        for offset, record in self.span(self.start, keep_from):
            if (
                record.kind is Kind.DATA
                and record.key is not None
                and newest.get(record.key, offset) != offset
            ):
                record.kind = Kind.COMPACTED
                self._plain = False
                removed += 1
        return removed


ASKED_AFTER = 15.0
"""Seconds within which an agent has asked whether a log was truncated: it
looks more seldom here than in reality."""

ELECTED_AFTER, CAUGHT_UP_AFTER = 6.0, 10.0
"""Seconds until a lost leader is replaced, and until the high watermark of the
new one has caught up."""


@dataclass
class SimGroup:
    """One consumer group."""

    offsets: dict[tuple[str, int], int] = field(default_factory=dict)
    """Next offset to read that it committed, by partition."""

    has_members: Callable[[], bool] = lambda: False
    listed: bool = False
    """Whether the agent is shown it: a mirror's own is not, as nobody asks
    how it reads."""


@dataclass
class SimTopic:
    """One topic."""

    name: str
    id: str
    logs: list[Log]
    configs: dict[str, str] = field(default_factory=dict)
    stale_starts: dict[int, int] = field(default_factory=dict)
    stale_ends: dict[int, int] = field(default_factory=dict)

    def effective(self, key: str) -> str:
        """Return the value of a config that is in effect."""
        return self.configs.get(key, DEFAULTS[key])


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
    denied_configs
        Topics of which the agent may not know the configurations.
    unreadable
        Topics that the agent may describe, and not read.
    denied_to_mirror
        Topics that the mirror may not read.
    hidden
        Topics that one listing leaves out, as metadata in motion does.
    throttled
        Topics of which no consumer is given records for now.
    brokers
        Ids of those that are up, of `size`.
    ahead
        Seconds by which their clocks are ahead.
    segment
        Records of one segment of a log.
    stalled
        What producers gave up while calls hung: it is on its way, and is
        written once they do no longer.
    """

    def __init__(
        self,
        alias: str,
        schedule: Schedule,
        *,
        brokers: int = 1,
        segment: int = 1,
        ahead: float = 0.0,
    ) -> None:
        self.alias = alias
        self.schedule = schedule
        self.id = f"cluster-{alias}"
        self.size = brokers
        self.brokers = list(range(1, brokers + 1))
        self.ahead = ahead
        self.segment = segment
        self.topics: dict[str, SimTopic] = {}
        self.groups: dict[str, SimGroup] = {}
        self.reachable: bool | None = True
        self.stalled: list[tuple[str, int, Record]] = []
        self.up = True
        self.denied: set[str] = set()
        self.denied_configs: set[str] = set()
        self.unreadable: set[str] = set()
        self.denied_to_mirror: set[str] = set()
        self.hidden: set[str] = set()
        self.throttled: set[str] = set()
        self.on_gone: Callable[[tuple[str, int], Iterable[Numbered]], None] = (
            lambda *_: None
        )

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
                [self._log(name, n) for n in range(partitions)],
                {k.replace("_", "."): v for k, v in configs.items()},
            )
        return self.topics[name]

    def delete(self, name: str) -> None:
        """Delete a topic, and what groups committed of it."""
        for group in self.groups.values():
            for key in [key for key in group.offsets if key[0] == name]:
                del group.offsets[key]
        topic = self.topics.pop(name, None)
        for log in topic.logs if topic else ():
            log.delete()

    def grow(self, name: str, partitions: int) -> None:
        """Add partitions."""
        logs = self.topics[name].logs
        logs.extend([self._log(name, n) for n in range(len(logs), partitions)])

    def configure(self, name: str, key: str, value: str | None) -> None:
        """Set a config of a topic; `None` deletes it."""
        topic = self.topics.get(name)
        if topic is None:
            return
        if value is None:
            topic.configs.pop(key, None)
        else:
            topic.configs[key] = value

    def expire_old(self) -> None:
        """Delete what is older than the topic's own ``retention.ms``."""
        now = self.milliseconds()
        for topic in self.topics.values():
            kept = int(topic.configs.get("retention.ms", "-1"))
            if kept < 0 or "delete" not in topic.effective("cleanup.policy"):
                continue
            for log in topic.logs:
                start = log.start
                while start < log.end and (
                    log.at(start).timestamp + kept < now
                ):
                    start += 1
                log.expire(start)

    def log(self, topic: str, partition: int) -> Log | None:
        """Return a log, if it exists."""
        found = self.topics.get(topic)
        if found is None or partition >= len(found.logs):
            return None
        return found.logs[partition]

    def _log(self, name: str, partition: int) -> Log:
        def gone(records: Iterable[Numbered]) -> None:
            self.on_gone((name, partition), records)

        log = Log(gone, lambda: self.schedule.elapsed)
        log.segment = self.segment
        led = (self._ids + partition) % len(self.brokers)
        log.leader = log.preferred = self.brokers[led]
        return log

    def lose_broker(self, behind: int) -> None:
        """Lose the last broker; others lead its partitions soon.

        Parameters
        ----------
        behind
            Records by which their high watermarks are behind at first.
        """
        if len(self.brokers) < 2:
            return
        lost = self.brokers.pop()
        for log in self._logs():
            if log.leader == lost:
                log.leader = None
        self.schedule.after(ELECTED_AFTER, lambda: self._elect(behind))

    def return_broker(self, behind: int) -> None:
        """Get it back, as the leader that it was."""
        if len(self.brokers) < self.size:
            self.brokers.append(len(self.brokers) + 1)
            self._elect(behind)

    def _elect(self, behind: int) -> None:
        for log in self._logs():
            leads = log.preferred in self.brokers
            leader = log.preferred if leads else self.brokers[0]
            if log.leader != leader:
                log.elect(leader, behind)
        self.schedule.after(CAUGHT_UP_AFTER, self._catch_up)

    def _catch_up(self) -> None:
        for log in self._logs():
            log.watermark = None

    def _logs(self) -> Iterable[Log]:
        return [log for t in self.topics.values() for log in t.logs]

    def milliseconds(self) -> int:
        """Return the brokers' time."""
        return int((self.schedule.now().timestamp() + self.ahead) * 1000)

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

    def take_stalled(self) -> None:
        """Write what was on its way while calls hung."""
        if not self.reachable:
            return
        stalled, self.stalled = self.stalled, []
        for topic, partition, record in stalled:
            log = self.log(topic, partition)
            if log is not None:
                log.append(record)

    def visible(self) -> Iterable[SimTopic]:
        """Return topics that the agent is shown."""
        return [
            t
            for t in self.topics.values()
            if t.name not in self.denied and t.name not in self.hidden
        ]
