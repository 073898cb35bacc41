"""Consumer groups of a simulated world, and MirrorMaker's checkpoints of them.

Modelled as the source of Kafka 3.5 and later has it: which offset-syncs the
checkpoint task remembers (``OffsetSyncStore``), how it translates by them,
which checkpoints it emits (``MirrorCheckpointTask``), and what it commits at
the target (``sync.group.offsets.enabled``).
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .cluster import Kind, Log, SimCluster, SimGroup
from .mirrormaker import CONFIGS, STATUS, SYNCS, SimMirror
from .world import World

__all__ = ["CHECKPOINTS", "Checkpoint", "CheckpointSettings", "Groups"]
__all__ += ["Place", "SimCheckpoints", "SimReader", "read_syncs"]

CHECKPOINTS = "summit.checkpoints.internal"
CONNECTOR = "MirrorCheckpointConnector"

Place = tuple[str, str, int]

KEPT = 64
"""Offset-syncs that the task remembers of a partition."""

Sync = tuple[int, int]
"""Offset of a record at the source, and of its copy."""


class SimReader:
    """One consumer group that reads topics of a cluster, and commits.

    Parameters
    ----------
    cluster
        Where it reads.
    name
        Its name.
    topics
        What it reads.
    every
        Seconds between two commits.
    most
        Records of a partition that it reads in this time.
    """

    def __init__(
        self,
        cluster: SimCluster,
        name: str,
        topics: Sequence[str],
        *,
        every: float = 5.0,
        most: int = 500,
    ) -> None:
        self.cluster, self.name, self.topics = cluster, name, topics
        self.most = most
        self._reads_since: float | None = cluster.schedule.elapsed

        self.read_at: dict[tuple[str, int], float] = {}
        """When its position moved last, by partition."""

        self._epochs: dict[tuple[str, int], tuple[Log, int]] = {}
        cluster.schedule.every(lambda: every, self.read)

    @property
    def reads(self) -> bool:
        """Return whether its consumers run."""
        return self._reads_since is not None

    @property
    def reads_for(self) -> float:
        """Return for how many seconds they have run."""
        since = self._reads_since
        return 0.0 if since is None else self.cluster.schedule.elapsed - since

    def stop(self) -> None:
        """Stop its consumers."""
        self._reads_since = None

    def start(self) -> None:
        """Start them."""
        if not self.reads:
            self._reads_since = self.cluster.schedule.elapsed

    @property
    def offsets(self) -> dict[tuple[str, int], int]:
        """Return what it has committed."""
        found = self.cluster.groups.get(self.name)
        return {} if found is None else found.offsets

    def read(self) -> None:
        """Read on in every partition, and commit."""
        if not (self.reads and self.cluster.up):
            return
        for name in self.topics:
            topic = self.cluster.topics.get(name)
            for partition, log in enumerate(topic.logs if topic else ()):
                if log.leader is not None:
                    self._read(name, partition, log)

    def _read(self, topic: str, partition: int, log: Log) -> None:
        key = topic, partition
        at = self.offsets.get(key, log.start)
        before, epoch = self._epochs.get(key, (log, log.epoch))
        if before is log and epoch < log.epoch:
            at = min(at, log.end_of(epoch))
        self._epochs[key] = log, log.epoch
        if not log.start <= at <= log.end:
            at = log.start  # auto.offset.reset=earliest
        to = min(log.end, at + self.most)
        if self.offsets.get(key) != to:
            self.commit(key, to)

    def commit(self, key: tuple[str, int], offset: int) -> None:
        """Commit an offset: the first one creates the group."""
        group = self.cluster.groups.setdefault(self.name, SimGroup())
        group.listed, group.has_members = True, lambda: self.reads
        group.offsets[key] = offset
        self.read_at[key] = self.cluster.schedule.elapsed

    def reset(self, by: int) -> None:
        """Set its offsets back or forward, as an operator does: Kafka
        refuses while consumers run.
        """
        if self.reads:
            return
        for (topic, partition), at in list(self.offsets.items()):
            log = self.cluster.log(topic, partition)
            if log is not None:
                to = min(max(log.start, at + by), log.end)
                self.commit((topic, partition), to)

    def delete(self) -> None:
        """Delete it, or let its offsets expire: neither while it reads."""
        if not self.reads:
            self.cluster.groups.pop(self.name, None)


class SyncStore:
    """The offset-syncs that the checkpoint task remembers of a partition."""

    def __init__(self, first: Sync) -> None:
        self._syncs = [first] * KEPT

    def translate(self, upstream: int) -> int | None:
        """Return the target offset of an offset at the source, `None` if it
        is before all that is remembered.
        """
        for known, downstream in self._syncs:
            if known <= upstream:
                return downstream + (upstream != known)
        return None

    def update(self, new: Sync, *, alone: bool) -> None:
        """Take another sync, alone or beside those before it.

        Line by line as ``OffsetSyncStore.updateSyncArray``.
        """
        if alone or new[0] < self._syncs[0][0]:
            self._syncs = [new] * KEPT
            return
        original, syncs = list(self._syncs), self._syncs
        replacement, at = new, 0
        syncs[0] = new
        for current in range(1, KEPT):
            previous = current - 1
            while True:
                old = original[at]
                is_apart = _is_apart(syncs[previous], old, previous)
                promotes = (
                    _is_recent(syncs[previous], old, previous, current)
                    and is_apart
                    and (
                        current + 1 >= KEPT
                        or _is_apart(old, syncs[current + 1], current)
                    )
                )
                if promotes:
                    replacement = old
                is_double = at + 1 < KEPT and old is original[at + 1]
                skips = is_double or not is_apart
                at += promotes or skips
                if at >= current or not skips:
                    break
            if _is_recent(syncs[previous], syncs[current], previous, current):
                break
            syncs[current] = replacement


def _is_recent(one: Sync, other: Sync, i: int, j: int) -> bool:
    return one is other or one[0] <= other[0] + (1 << j) - (1 << i)


def _is_apart(one: Sync, other: Sync, i: int) -> bool:
    return one is other or one[0] >= other[0] + (1 << max(i - 2, 0))


def read_syncs(log: Log, since: int) -> Iterator[tuple[tuple[str, int], Sync]]:
    """Yield the offset-syncs of a log, with topic and partition."""
    for _, record in log.span(since, log.end):
        if record.kind is not Kind.DATA:
            continue
        assert record.key is not None
        assert record.value is not None
        (length,) = struct.unpack_from(">h", record.key)
        topic = record.key[2 : 2 + length].decode()
        (partition,) = struct.unpack_from(">i", record.key, 2 + length)
        upstream, downstream = struct.unpack(">qq", record.value)
        yield (topic, partition), (upstream, downstream)


@dataclass(frozen=True)
class Checkpoint:
    """What the task said of a group in one partition."""

    upstream: int
    downstream: int


@dataclass(kw_only=True)
class CheckpointSettings:
    """How the checkpoint connector is configured."""

    interval: float = 60.0
    """Seconds of ``emit.checkpoints.interval.seconds``."""

    refresh: float = 600.0
    """Seconds of ``refresh.groups.interval.seconds``."""

    reloads: bool = True
    """Whether it reads checkpoints and all syncs as it starts (KAFKA-15905,
    3.8); else it translates by syncs from then on alone."""

    syncs_groups: bool = False


class SimCheckpoints:
    """MirrorMaker's checkpoint connector, with one task.

    It runs in the process of the mirror.
    """

    LOOK = 5.0

    def __init__(
        self, mirror: SimMirror, settings: CheckpointSettings
    ) -> None:
        self.mirror, self.settings = mirror, settings
        self.source, self.target = mirror.source, mirror.target
        self.schedule = mirror.source.schedule
        self.failed = False

        self.newest: dict[Place, Checkpoint] = {}
        """Newest checkpoints that are in the topic, by topic at the
        target."""

        self.stood_until = 0.0
        """When it last could not emit."""

        self.started_at = 0.0
        """When its task was started last."""

        self._life: int | None = None
        self._due = self._refresh_due = self._sync_due = 0.0
        self._groups: set[str] = set()
        self._emitted: dict[Place, Checkpoint] = {}
        self._stores: dict[tuple[str, int], SyncStore] = {}
        self._read_to = 0
        self.target.create(CHECKPOINTS, 1, cleanup_policy="compact")
        self._configure()
        self.schedule.every(lambda: self.LOOK, self._look)

    def fail(self) -> None:
        """Let its task fail."""
        self.failed = True
        self._say("FAILED")

    def restart(self) -> None:
        """Restart its task."""
        self.failed, self._life = False, None

    @property
    def works(self) -> bool:
        """Whether it can emit now."""
        return (
            self.mirror.running
            and not self.mirror.frozen
            and not self.failed
            and self.source.up
            and self.target.up
        )

    def _look(self) -> None:
        if not self.works:
            self.stood_until = self.schedule.elapsed
        if not self.mirror.running or self.failed:
            self._life = None
            return
        if self.mirror.frozen or not (self.source.up and self.target.up):
            return
        now, settings = self.schedule.elapsed, self.settings
        if self._life != self.mirror.life:
            self._start()
        if now >= self._refresh_due:
            self._refresh_due = now + settings.refresh
            if self._find_groups() != self._groups:
                self._start()
        self._read_syncs(alone=False)
        if now >= self._due:
            self._due = now + settings.interval
            self._emit()
        if settings.syncs_groups and now >= self._sync_due:
            self._sync_due = now + 60.0
            self._sync_groups()

    def _start(self) -> None:
        """Start the task: it learns what was said before."""
        now = self.started_at = self.schedule.elapsed
        if self._life != self.mirror.life:
            self._refresh_due = now + self.settings.refresh
        self._life = self.mirror.life
        self._say("RUNNING")
        self._due = now + self.settings.interval
        self._sync_due = now + 60.0
        self._groups = self._find_groups()
        self._emitted = {
            place: found
            for place, found in self.newest.items()
            if self.settings.reloads and place[0] in self._groups
        }
        self._stores, self._read_to = {}, 0
        self._read_syncs(alone=not self.settings.reloads)

    def _find_groups(self) -> set[str]:
        return {
            name
            for name, group in self.source.groups.items()
            if any(self.mirror.carries(topic) for topic, _ in group.offsets)
        }

    def _read_syncs(self, *, alone: bool) -> None:
        log = self.source.log(SYNCS, 0)
        if log is None:
            return
        for key, new in read_syncs(log, self._read_to):
            store = self._stores.get(key)
            if store is None:
                self._stores[key] = SyncStore(new)
            else:
                store.update(new, alone=alone)
        self._read_to = log.end

    def _emit(self) -> None:
        for name in sorted(self._groups):
            group = self.source.groups.get(name, SimGroup())
            for key, upstream in sorted(group.offsets.items()):
                store = self._stores.get(key)
                if store is None or not self.mirror.carries(key[0]):
                    continue
                downstream = store.translate(upstream)
                if downstream is None:
                    continue
                remote = self.mirror.settings.naming(key[0])
                place = name, remote, key[1]
                last = self._emitted.get(place)
                if (
                    last is None
                    or upstream < last.upstream
                    or downstream > last.downstream
                ):
                    found = Checkpoint(upstream, downstream)
                    self._emitted[place] = found
                    self._write(place, found)

    def _write(self, place: Place, found: Checkpoint) -> None:
        group, topic, partition = place
        names = b"".join(
            struct.pack(">h", len(name)) + name.encode()
            for name in (group, topic)
        )
        value = struct.pack(">hqq", 0, found.upstream, found.downstream)
        self.target.append(
            CHECKPOINTS,
            0,
            value + struct.pack(">h", 0),
            names + struct.pack(">i", partition),
        )
        self.newest[place] = found

    def _sync_groups(self) -> None:
        """Commit at the target what it translated, where nobody reads."""
        for (name, topic, partition), found in self._emitted.items():
            group = self.target.groups.get(name)
            if group is not None and group.has_members():
                continue
            if group is None:
                group = self.target.groups[name] = SimGroup(listed=True)
            before = group.offsets.get((topic, partition), -1)
            if found.downstream > before:
                group.offsets[topic, partition] = found.downstream

    def _configure(self) -> None:
        self.mirror.store(
            CONFIGS,
            f"connector-{CONNECTOR}",
            {
                "properties": {
                    "connector.class": "org.apache.kafka.connect.mirror."
                    f"{CONNECTOR}",
                    "source.cluster.alias": "summit",
                    "target.cluster.alias": "ldf",
                    "emit.checkpoints.interval.seconds": str(
                        int(self.settings.interval)
                    ),
                }
            },
        )

    def _say(self, state: str) -> None:
        said = {"state": state, "worker_id": "summit->ldf", "generation": 1}
        whole = {**said, "state": "RUNNING"}
        self.mirror.store(STATUS, f"status-connector-{CONNECTOR}", whole)
        self.mirror.store(STATUS, f"status-task-{CONNECTOR}-0", said)


@dataclass
class Groups:
    """The groups of a world, and the checkpoints of those at the source."""

    world: World
    checkpoints: SimCheckpoints | None = None
    """`None` if the mirror has no such connector."""

    readers: dict[str, SimReader] = field(default_factory=dict)
    sinks: dict[str, SimReader] = field(default_factory=dict)

    def emit(self, settings: CheckpointSettings | None = None) -> None:
        """Let the mirror have a checkpoint connector."""
        self.checkpoints = SimCheckpoints(
            self.world.mirror, settings or CheckpointSettings()
        )

    def read(self, name: str, topics: Iterable[str], **how: Any) -> None:
        """Let a group read at the source."""
        self.readers[name] = SimReader(
            self.world.source, name, list(topics), **how
        )

    def sink(self, name: str, topics: Iterable[str], **how: Any) -> None:
        """Let a group read at the target."""
        remote = [self.world.remote(topic) for topic in topics]
        self.sinks[name] = SimReader(self.world.target, name, remote, **how)

    def all(self) -> Iterator[SimReader]:
        """Return the groups of both sides."""
        yield from self.readers.values()
        yield from self.sinks.values()
