"""MirrorMaker 2 as its source describes it, in a simulated world.

What is modelled: positions and when they are committed, offset syncs and when
they are written (``MirrorSourceTask.PartitionState``, Kafka 3.5 and later),
restarts and what they read again, tasks of several workers, positions out of
range, topic refresh, truncation and epochs, zombies, transactions of its own,
transforms that drop and alter records, topic configs that are synced,
heartbeats, and what Connect keeps in its internal topics.
"""

import json
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from .cluster import Kind, Log, Record, SimCluster, SimTopic
from .oracle import Oracle

__all__ = ["HEARTBEATS", "MirrorSettings", "Partition", "SimMirror"]

CONNECTOR = "MirrorSourceConnector"
CLASS = "org.apache.kafka.connect.mirror.MirrorSourceConnector"

INTERNAL = re.compile(r"(mm2.*\.internal|.*\.checkpoints\.internal|__.*|\..*)")

OFFSETS = "mm2-offsets.summit.internal"
CONFIGS = "mm2-configs.summit.internal"
STATUS = "mm2-status.summit.internal"
SYNCS = "mm2-offset-syncs.ldf.internal"
COMPACTED = {"cleanup_policy": "compact"}

WORKERS = 3
"""Workers of a mirror with several tasks."""

NOWHERE = -1
"""Worker of a task whose own died."""

HEARTBEATS = "heartbeats"
HEARTBEAT_CONNECTOR = "MirrorHeartbeatConnector"

NOT_SYNCED = {"min.insync.replicas", "message.timestamp.type"}
"""Of ``config.properties.exclude``, what a topic may set here."""


def identity(topic: str) -> str:
    """Name a topic as ``IdentityReplicationPolicy`` does."""
    return f"summit.{topic}" if topic.endswith(HEARTBEATS) else topic


def heartbeat(source: str, target: str, milliseconds: int) -> Record:
    """Return a heartbeat as ``MirrorHeartbeatTask`` writes it."""
    names = (name.encode() for name in (source, target))
    key = b"".join(struct.pack(">h", len(name)) + name for name in names)
    return Record(key, struct.pack(">hq", 0, milliseconds), milliseconds)


@dataclass(kw_only=True)
class MirrorSettings:
    """How one MirrorMaker is configured."""

    include: str = ".*"
    flush: float = 60.0
    """Seconds of ``offset.flush.interval.ms``."""

    tells_flush: bool = True
    """Whether its configuration says so: a Connect worker's does not."""

    refresh: float = 600.0
    """Seconds of ``refresh.topics.interval.seconds``."""

    lag_max: int = 100
    syncs_at_flush: bool = True
    """Whether syncs are written at each flush (KAFKA-15906, 3.7)."""

    emits_syncs: bool = True
    latest: bool = False
    committed: bool = False
    exactly_once: bool = False
    alters: bool = False
    tells_transforms: bool = False
    earliest: bool = False
    keeps_partitions: bool = True
    syncs_configs: bool = True
    heartbeats: float = 0.0
    """Seconds of ``emit.heartbeats.interval.seconds``; 0 for none."""

    tasks: int = 1
    """``tasks.max``."""

    naming: Callable[[str], str] = identity
    batch: int = 500
    poll: float = 1.0


@dataclass
class Partition:
    """Where it is in one partition."""

    position: int | None = None
    """Next offset to read."""

    acked: int | None = None
    """Last source offset that was written at the target."""

    flushed: int | None = None
    upstream: int | None = None
    downstream: int = -1
    last_upstream: int | None = None
    last_downstream: int = -1
    told: tuple[int, int] | None = None
    epoch: int | None = None
    """Epoch of the log that it last read."""

    log: Log | None = None
    orphaned: bool = False
    """Its task's worker died, and no other has the task yet."""

    failed: list[Record] = field(default_factory=list)
    """Records that failed to be written since the last commit."""

    idle: tuple[Log, tuple[object, ...]] | None = None
    """The log when it was last read to its end."""


class SimMirror:
    """One MirrorMaker 2, from `source` to `target`.

    Mirrors that keep their positions otherwise are derived from it, in
    `families`.
    """

    def __init__(
        self,
        source: SimCluster,
        target: SimCluster,
        settings: MirrorSettings,
        oracle: Oracle,
        random: Random,
    ) -> None:
        self.source, self.target = source, target
        self.settings = settings
        self.oracle = oracle
        self.running = False
        self.frozen = False
        self.drops: Callable[[str, int, Record], bool] = lambda *_: False

        self.fails: Callable[[str, int, Record], bool] = lambda *_: False
        """Whether a record fails to be written, which `errors.tolerance` lets
        pass: Connect commits its offset all the same."""

        self.slowness = 1
        """In one of so many polls it copies; one record only, if it is not
        in each."""

        self.may_create = True

        self.may_configure = True

        self.beats = True

        self.beat_at = 0.0
        """When its last heartbeat was written."""

        self.syncs_fail = False
        """Whether syncs fail to be written, which is only logged."""

        self.connector = CONNECTOR
        self.committed: dict[tuple[str, int], int] = {}
        """Last offsets that Connect has stored."""

        self._random = random
        self._schedule = source.schedule
        self._parts: dict[tuple[str, int], Partition] = {}
        self._zombies: list[dict[tuple[str, int], Partition]] = []
        self.life = 0

        self._polls = 0
        oracle.carries = self.carries
        oracle.committed = settings.committed
        source.on_gone = oracle.gone
        self._given: list[dict[str, str]] = []
        self._hosts = [0]
        """Worker of each task."""

        self._workers = WORKERS
        self._generation = 1
        self._create_topics()

    def _create_topics(self) -> None:
        self.target.create(OFFSETS, 1, **COMPACTED)
        self.target.create(CONFIGS, 1, **COMPACTED)
        self.target.create(STATUS, 1, **COMPACTED)
        if self.settings.emits_syncs:
            self.source.create(SYNCS, 1, **COMPACTED)

    def start(self) -> None:
        """Start it: it reads on from what was committed."""
        if self.running:
            return
        self.running, self.frozen = True, False
        self.life += 1
        life = self.life
        self._parts = {}
        self._zombies = []
        self._given = []
        self._workers = WORKERS
        self._store_connector()
        if self.settings.heartbeats:
            self.target.create(HEARTBEATS, 1, **COMPACTED)
            self._store_heartbeats()
        self._refresh()
        self._say("RUNNING")

        def still(work: Callable[[], None]) -> Callable[[], None]:
            def run() -> None:
                if self.running and self.life == life and not self.frozen:
                    work()

            return run

        def again(seconds: float, work: Callable[[], None]) -> None:
            def run() -> None:
                if not self.running or self.life != life:
                    return
                still(work)()
                self._schedule.after(seconds, run)

            self._schedule.after(seconds, run)

        again(self.settings.poll, self._copy)
        again(self.settings.flush, self._flush)
        again(self.settings.refresh, self._refresh)
        if self.settings.heartbeats:
            again(self.settings.heartbeats, self._beat)

    def stop(self) -> None:
        """Stop it cleanly: what was copied is committed, unless it is frozen:
        such a process can only be killed.
        """
        if self.running and not self.frozen:
            self._flush()
            self._say("UNASSIGNED")
        self.running = False

    def kill(self) -> None:
        """Kill it: what was copied since the last commit is read again."""
        self.running = False
        self.expect()

    def expect(self) -> None:
        """Note what it will read again, where it does not run."""
        if self.running:
            return
        for key, last in self.committed.items():
            log = self.source.log(*key)
            if log is not None:
                self.oracle.read_again(log.span(last + 1, log.end))

    def set_offset(self, key: tuple[str, int], to: int) -> None:
        """Set a committed offset, as Connect's API does.

        Records before it are left behind, as far as anybody can know before
        the mirror starts. It refuses while connectors run.
        """
        log, last = self.source.log(*key), self.committed.get(key)
        if self.running or log is None or last is None:
            return
        to = min(max(0, to), max(last, log.end - 1))
        self._commit(key, to)
        self.oracle.leave(key, log, last + 1, to + 1)
        self.expect()

    def rebalance(self) -> None:
        """Give tasks out again; one that was cut off goes on copying."""
        if not self.running or self.frozen:
            return
        self._flush()
        self._zombies.append(self._parts)
        self._parts = {key: Partition() for key in self._parts}

    def lose_worker(self) -> None:
        """Kill the last worker: its tasks copy nothing until they move."""
        self._workers = WORKERS - 1
        for task, host in enumerate(self._hosts):
            if host == self._workers:
                self._hosts[task] = NOWHERE
                self._begin(task, orphaned=True)

    def return_worker(self) -> None:
        """Start it again: its tasks stop in good order, and come back."""
        self._workers = WORKERS
        if self.running and not self.frozen:
            self._flush()
        self.move_tasks()

    def move_tasks(self) -> None:
        """Give each task to a worker that lives, as Connect does after
        ``scheduled.rebalance.max.delay.ms``.
        """
        self._generation += 1
        for task, host in enumerate(self._hosts):
            to = self._host(task)
            if to != host and self.running:
                self._hosts[task] = to
                self._begin(task)
                self._status(f"task-{self.connector}-{task}", "RUNNING", to)

    def _host(self, task: int) -> int:
        host = task % WORKERS
        return host if host < self._workers else task % self._workers

    def _begin(self, task: int, *, orphaned: bool = False) -> None:
        for key in sorted(self._parts)[task :: len(self._hosts)]:
            self._parts[key] = Partition(orphaned=orphaned)

    def fence(self) -> None:
        """End the tasks that were cut off."""
        self._zombies.clear()

    def forget(self, key: tuple[str, int] | None = None) -> None:
        """Delete the committed offsets of one partition, or their topic."""
        if key is None:
            self.committed.clear()
            self.target.delete(OFFSETS)
            self.target.create(OFFSETS, 1, **COMPACTED)
        else:
            self.committed.pop(key, None)
            self._write_offset(key, None)
        for part in self._parts.values():
            part.flushed = None

    def rename(self) -> None:
        """Delete the connector and make it again under another name.

        Connect leaves the configurations of its tasks behind.
        """
        self.stop()
        self.store(CONFIGS, f"connector-{self.connector}", None)
        self.store(STATUS, f"status-connector-{self.connector}", None)
        for task in range(len(self._hosts)):
            self.store(STATUS, f"status-task-{self.connector}-{task}", None)
        kept, self.committed = self.committed, {}
        self.connector += "2"
        # Whoever renames one sets its offsets before it starts.
        for key, offset in kept.items():
            self._commit(key, offset)
        self.start()

    def carries(self, topic: str) -> bool:
        return topic == HEARTBEATS or (
            not INTERNAL.fullmatch(topic)
            and any(
                re.fullmatch(p, topic)
                for p in self.settings.include.split(",")
            )
        )

    def _refresh(self) -> None:
        if not (self.source.up and self.target.up):
            return
        for name, topic in list(self.source.topics.items()):
            if not self.carries(name):
                continue
            remote = self.settings.naming(name)
            configs = {
                k.replace(".", "_"): v for k, v in topic.configs.items()
            }
            if self.may_create:
                copies = self.target.create(remote, len(topic.logs), **configs)
                if len(copies.logs) < len(topic.logs):
                    self.target.grow(remote, len(topic.logs))
            self._sync_configs(topic, self.target.topics.get(remote))
            for partition in range(len(topic.logs)):
                key = (name, partition)
                if key not in self._parts:
                    self._parts[key] = Partition()
        for key in list(self._parts):
            if key[0] not in self.source.topics:
                del self._parts[key]
        self._store_tasks(sorted(self._parts))

    def _sync_configs(self, topic: SimTopic, copies: SimTopic | None) -> None:
        """Give copies what a topic sets, and nothing else (KIP-894)."""
        if (
            copies is None
            or not self.settings.syncs_configs
            or not self.may_configure
        ):
            return
        kept = {k: v for k, v in copies.configs.items() if k in NOT_SYNCED}
        given = {k: v for k, v in topic.configs.items() if k not in NOT_SYNCED}
        copies.configs = given | kept

    def _store_tasks(self, parts: Sequence[tuple[str, int]]) -> None:
        """Deal partitions to tasks in turn, and say so, if that changed."""
        count = max(1, min(self.settings.tasks, len(parts)))
        given = [self._assignment(parts[n::count]) for n in range(count)]
        if given == self._given:
            return
        restarts = count > 1 and bool(self._given)
        self._given = given
        self._hosts = [self._host(task) for task in range(count)]
        for task, each in enumerate(given):
            name = f"task-{self.connector}-{task}"
            self._config(name, self.properties() | each)
        self.store(CONFIGS, f"commit-{self.connector}", {"tasks": count})
        if restarts:
            self._flush()
            self._parts = {key: Partition() for key in parts}
            self._say("RUNNING")

    def _assignment(self, parts: Sequence[tuple[str, int]]) -> dict[str, str]:
        return {
            "task.assigned.partitions": ",".join(f"{t}-{p}" for t, p in parts)
        }

    def properties(self) -> dict[str, str]:
        """Return how its source connector is configured."""
        settings = self.settings
        found = {
            "connector.class": CLASS,
            "source.cluster.alias": "summit",
            "target.cluster.alias": "ldf",
            "topics": settings.include,
            "refresh.topics.interval.seconds": str(int(settings.refresh)),
            "sync.topic.configs.interval.seconds": str(int(settings.refresh)),
        }
        if settings.tells_flush:
            found["target.cluster.offset.flush.interval.ms"] = str(
                int(settings.flush * 1000)
            )
        if settings.latest:
            found["source.consumer.auto.offset.reset"] = "latest"
        if settings.committed:
            found["source.consumer.isolation.level"] = "read_committed"
        if settings.exactly_once:
            found["target.cluster.exactly.once.source.support"] = "enabled"
        if settings.alters:
            found["transforms"] = "alter"
        elif settings.tells_transforms:
            found["transforms"] = "fault"
        if not settings.syncs_configs:
            found["sync.topic.configs.enabled"] = "false"
        if not settings.emits_syncs:
            found["emit.offset-syncs.enabled"] = "false"
        return found

    def _store_connector(self) -> None:
        self._config(f"connector-{self.connector}", self.properties())

    def _config(self, key: str, properties: dict[str, str]) -> None:
        self.store(CONFIGS, key, {"properties": properties})

    def _store_heartbeats(self) -> None:
        every = int(self.settings.heartbeats)
        name = HEARTBEAT_CONNECTOR
        given = {
            "connector.class": CLASS.replace("MirrorSourceConnector", name),
            "source.cluster.alias": "summit",
            "target.cluster.alias": "ldf",
            "emit.heartbeats.interval.seconds": str(every),
        }
        self._config(f"connector-{name}", given)
        self._config(f"task-{name}-0", given)
        self.store(CONFIGS, f"commit-{name}", {"tasks": 1})

    def _beat(self) -> None:
        topic = self.target.topics.get(HEARTBEATS)
        if topic is None or not self.target.up or not self.beats:
            return
        now = self.target.milliseconds()
        topic.logs[0].append(heartbeat("summit", "ldf", now))
        self.beat_at = self._schedule.elapsed

    def _say(self, state: str) -> None:
        for name in self._connectors():
            self._status(f"connector-{name}", state)
            hosts = self._hosts if name == self.connector else [0]
            for task, host in enumerate(hosts):
                self._status(f"task-{name}-{task}", state, host)

    def _status(self, what: str, state: str, host: int = 0) -> None:
        said = {
            "state": state,
            "worker_id": f"127.0.0.1:{8083 + host}/summit->ldf",
            "generation": self._generation,
        }
        self.store(STATUS, f"status-{what}", said)

    def _connectors(self) -> list[str]:
        beats = [HEARTBEAT_CONNECTOR] if self.settings.heartbeats else []
        return [self.connector, *beats]

    def store(self, topic: str, key: str, value: object) -> None:
        """Write to one of its topics, if that is there."""
        if topic in self.target.topics:
            body = None if value is None else json.dumps(value).encode()
            self.target.append(topic, 0, body, key.encode())

    def _copy(self) -> None:
        if not (self.source.up and self.target.up):
            return
        self._polls += 1
        if self._polls % self.slowness:
            return
        for parts in (*self._zombies, self._parts):
            for key in sorted(parts):
                if key[0] not in self.source.denied_to_mirror:
                    self._copy_one(key, parts[key])

    def _copy_one(self, key: tuple[str, int], part: Partition) -> None:
        topic, partition = key
        log = self.source.log(topic, partition)
        if log is None or part.orphaned:
            return
        looks = log, log.state
        if part.idle == looks:
            return
        copies = self.target.log(self.settings.naming(topic), partition)
        if copies is None or log.leader is None or copies.leader is None:
            return
        position = self._position(key, part, log)
        committed = self.settings.committed
        most = self._batch()
        written = False
        for offset, record in log.read(position, most, committed=committed):
            position = offset + 1
            if self.drops(topic, partition, record):
                self.oracle.drop(key, record)
                self._pass(part, offset)
                continue
            if self.fails(topic, partition, record):
                # It may be read again until it is passed or committed.
                part.failed.append(record)
                part.acked = offset
                continue
            value = record.value
            if self.settings.alters and topic != self.unaltered:
                value = b"altered " + (value or b"")
            downstream = self._to_log(topic, copies, record).append(
                Record(
                    record.key,
                    value,
                    record.timestamp,
                    headers=record.headers,
                    origin=(key, record),
                )
            )
            written = True
            self.oracle.copy(key, record)
            self._leave_failed(key, part)
            part.acked = offset
            self._sync(key, part, offset, downstream)
        if not log.read(position, 1, committed=committed):
            # It reads over markers, and knows that it has.
            position = max(position, log.visible_end(committed=committed))
            part.idle = looks
        part.position = position
        if written and self.settings.exactly_once and part.acked is not None:
            copies.append(Record(None, None, 0, Kind.MARKER))
            self._commit_part(key, part, part.acked)

    def _batch(self) -> int:
        """Return how many records it takes at most."""
        most = self._random.randint(1, self.settings.batch)
        return most if self.slowness == 1 else 1

    unaltered = "mirrorwatch.canary"

    def _pass(self, part: Partition, offset: int) -> None:
        """Pass a record that is dropped: Connect commits none of them."""

    def _to_log(self, topic: str, copies: Log, record: Record) -> Log:
        """Return where a copy goes: to the partition of the same number."""
        del topic, record
        return copies

    def _position(
        self, key: tuple[str, int], part: Partition, log: Log
    ) -> int:
        """Return where it reads on, as a consumer does that seeks."""
        position = part.position
        if position is None:
            position = self._first(key, log)
        elif part.epoch is not None and part.epoch < log.epoch:
            # It asks the new leader where their logs part, and goes there.
            position = min(position, log.end_of(part.epoch))
        # In a recreated topic it goes on where it was, too.
        leaves = part.log is not None and part.log is not log
        part.epoch, part.log = log.epoch, log
        if not log.start <= position <= log.end:
            position = log.end if self.resumes_at_end else log.start
            leaves = True
        if leaves:
            self.oracle.leave(key, log, log.start, position)
        return position

    @property
    def resumes_at_end(self) -> bool:
        """Whether a consumer whose position has expired goes on at the end."""
        return self.settings.latest

    def _first(self, key: tuple[str, int], log: Log) -> int:
        last = self.committed.get(key)
        if last is not None:
            self.oracle.leave(key, log, log.start, last + 1)
            return last + 1
        to = log.end if self.settings.latest else log.start
        self.oracle.leave(key, log, log.start, to)
        return to

    def _sync(
        self,
        key: tuple[str, int],
        part: Partition,
        upstream: int,
        downstream: int,
    ) -> None:
        first = part.downstream == -1
        stale = downstream - (part.downstream + 1) >= self.settings.lag_max
        skipped = (
            part.last_upstream is not None
            and upstream - part.last_upstream != 1
        )
        back = downstream < part.last_downstream
        part.last_upstream, part.last_downstream = upstream, downstream
        if first or stale or skipped or back:
            part.upstream, part.downstream = upstream, downstream
            self._emit(key, part, upstream, downstream)

    def synced(self, topic: str, partition: int) -> int:
        """Return the source offset of the last sync, -1 without one."""
        part = self._parts.get((topic, partition))
        return part.told[0] if part is not None and part.told else -1

    def _emit(
        self,
        key: tuple[str, int],
        part: Partition,
        upstream: int,
        downstream: int,
    ) -> None:
        if not self.settings.emits_syncs or SYNCS not in self.source.topics:
            return
        if self.syncs_fail or part.told == (upstream, downstream):
            return
        part.told = (upstream, downstream)
        name = key[0].encode()
        self.source.topics[SYNCS].logs[0].append(
            Record(
                struct.pack(f">h{len(name)}si", len(name), name, key[1]),
                struct.pack(">qq", upstream, downstream),
                self.target.milliseconds(),  # workers are at the target
            )
        )

    def _flush(self) -> None:
        if not (self.source.up and self.target.up):
            return
        for key, part in sorted(self._parts.items()):
            if part.acked is None or part.acked == part.flushed:
                continue
            self._commit_part(key, part, part.acked)
            if self.settings.syncs_at_flush and part.last_upstream is not None:
                self._emit(key, part, part.last_upstream, part.last_downstream)

    def _commit_part(
        self, key: tuple[str, int], part: Partition, acked: int
    ) -> None:
        part.flushed = acked
        self._leave_failed(key, part)
        self._commit(key, acked)

    def _leave_failed(self, key: tuple[str, int], part: Partition) -> None:
        for record in part.failed:
            self.oracle.drop(key, record)
        part.failed = []

    def _commit(self, key: tuple[str, int], offset: int) -> None:
        self.committed[key] = offset
        self._write_offset(key, {"offset": offset})

    def _write_offset(self, key: tuple[str, int], value: object) -> None:
        where = {"cluster": "summit", "partition": key[1], "topic": key[0]}
        self.store(OFFSETS, json.dumps([self.connector, where]), value)
