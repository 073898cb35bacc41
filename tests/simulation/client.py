"""The client library of a simulated world, in place of confluent_kafka's.

The agent's own code is real from `mirrorwatch.kafka` upward. These classes
answer as librdkafka does: time-outs take their time, a position that is out
of range is reset or reported, partition ends are reported once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    TIMESTAMP_CREATE_TIME,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import (
    AclOperation,
    ConfigEntry,
    ConfigSource,
    OffsetSpec,
)

from mirrorwatch.kafka import admin as admin_module
from mirrorwatch.kafka import list_offsets as list_offsets_module
from mirrorwatch.kafka import reader as reader_module
from mirrorwatch.kafka.list_offsets import OffsetLookup
from mirrorwatch.sources import mirror_state
from mirrorwatch.sources.canary.producer import CanaryProducer

from .cluster import DEFAULTS, Log, Record, SimCluster, SimGroup, SimTopic
from .schedule import Schedule, Task

__all__ = ["Network", "installed"]

LOOK = 0.25
"""Seconds between two fetches of a consumer that waits."""

FIRST = 9092
"""Port of the broker that is in every bootstrap list, and may answer with what
was so before; those of the others follow."""

LATENCY = 0.002
"""Seconds that a request takes."""


@dataclass
class Network:
    """Clusters by the address that clients are given."""

    schedule: Schedule
    clusters: Mapping[str, SimCluster]
    random: Random
    coarse: Mapping[str, float] = field(default_factory=dict)
    """How much longer than in reality whoever waits for records waits, by
    the first word of the worker's name."""

    slow: float = 0.0
    """Share of the requests that take up to two seconds."""

    requests: int = 0

    def coarse_of(self, task: Task | None) -> float:
        """Return how much longer than in reality a thread waits."""
        name = "" if task is None else task.name.partition(" ")[0]
        return self.coarse.get(name, 1.0)

    def ask(self, cluster: SimCluster, timeout: float) -> None:
        """Take the time of one request.

        Raises
        ------
        KafkaException
            Raised if the cluster does not answer.
        """
        self.requests += 1
        wait = LATENCY
        if self.slow and self.random.random() < self.slow:
            wait = self.random.uniform(0.1, 2.0)
        self.schedule.sleep(wait)
        if cluster.reachable is None:
            self.schedule.sleep(timeout)
            raise KafkaException(error(KafkaError._TIMED_OUT))  # noqa: SLF001
        if not cluster.reachable:
            raise KafkaException(error(KafkaError._TRANSPORT))  # noqa: SLF001


network: Network | None = None
"""The network of the world that runs. One runs at a time in a process."""


def error(code: int) -> KafkaError:
    return KafkaError(code)


def _network() -> Network:
    assert network is not None, "no world runs"
    return network


def _answer(result: Any) -> "Future[Any]":
    future: Future[Any] = Future()
    if isinstance(result, KafkaError):
        future.set_exception(KafkaException(result))
    else:
        future.set_result(result)
    return future


@dataclass(slots=True)
class SimMessage:
    """A record, or an event, as a consumer is given it."""

    topic_: str
    partition_: int
    offset_: int
    record: Record | None = None
    error_: KafkaError | None = None
    latency_: float = 0.0

    def __len__(self) -> int:
        return len(self.value() or b"")

    def topic(self) -> str:
        return self.topic_

    def partition(self) -> int:
        return self.partition_

    def offset(self) -> int:
        return self.offset_

    def error(self) -> KafkaError | None:
        return self.error_

    def key(self) -> bytes | None:
        return self.record.key if self.record else None

    def value(self) -> bytes | None:
        return self.record.value if self.record else None

    def headers(self) -> list[tuple[str, bytes]] | None:
        return list(self.record.headers) or None if self.record else None

    def latency(self) -> float:
        return self.latency_

    def timestamp(self) -> tuple[int, int]:
        assert self.record is not None
        return TIMESTAMP_CREATE_TIME, self.record.timestamp


class _Client:
    def __init__(self, properties: Mapping[str, Any]) -> None:
        self._network = _network()
        self._schedule = self._network.schedule
        host, _, port = properties["bootstrap.servers"].partition(":")
        self._cluster = self._network.clusters[f"{host}:{FIRST}"]
        self._by_first = int(port) == FIRST

    def _topic(self, name: str) -> SimTopic | KafkaError:
        if name in self._cluster.denied:
            return error(KafkaError.TOPIC_AUTHORIZATION_FAILED)
        found = self._cluster.topics.get(name)
        if found is None:
            return error(KafkaError.UNKNOWN_TOPIC_OR_PART)
        return found

    def _log(self, topic: str, partition: int) -> Log | KafkaError:
        found = self._topic(topic)
        if isinstance(found, KafkaError):
            return found
        if partition >= len(found.logs):
            return error(KafkaError.UNKNOWN_TOPIC_OR_PART)
        return found.logs[partition]

    def _offset(
        self, topic: str, partition: int, time: int, *, committed: bool
    ) -> tuple[int, int] | KafkaError:
        found = self._topic(topic)
        if isinstance(found, KafkaError):
            return found
        if partition >= len(found.logs):
            return error(KafkaError.UNKNOWN_TOPIC_OR_PART)
        log = found.logs[partition]
        if log.leader is None:
            return error(KafkaError.LEADER_NOT_AVAILABLE)
        if time == -1:
            end = log.visible_end(committed=committed)
            if self._by_first:
                end = found.stale_ends.get(partition, end)
            return log.tell(end), -1
        if time == -2:
            return found.stale_starts.get(partition, log.start), -1
        return log.first_since(time) or (-1, -1)

    def _epoch(self, topic: str, partition: int) -> int | None:
        """Return the leader epoch of a partition: a log is truncated by a
        new leader alone.
        """
        log = self._log(topic, partition)
        if isinstance(log, KafkaError):
            return None
        is_old = partition in self._cluster.topics[topic].stale_ends
        return log.epoch + (is_old and not self._by_first)


class _Lister(_Client):
    def list_topics(self, timeout: float) -> Any:
        self._network.ask(self._cluster, timeout)
        return SimpleNamespace(
            cluster_id=self._cluster.id,
            orig_broker_id=-1,  # the one that it was told of
            brokers={
                n: SimpleNamespace(
                    host=self._cluster.alias, port=FIRST + n - 1
                )
                for n in self._cluster.brokers
            },
            topics={
                t.name: SimpleNamespace(
                    error=None,
                    partitions={
                        n: SimpleNamespace(
                            leader=-1 if log.leader is None else log.leader
                        )
                        for n, log in enumerate(t.logs)
                    },
                )
                for t in self._cluster.visible()
            },
        )


class SimAdmin(_Lister):
    """Stands for `confluent_kafka.admin.AdminClient`."""

    def poll(self, _timeout: float) -> int:
        return 0

    def list_consumer_groups(self, *, request_timeout: float) -> "Future[Any]":
        def find(_: str) -> Any:
            listed = [
                SimpleNamespace(group_id=name)
                for name, group in self._cluster.groups.items()
                if group.listed
            ]
            return SimpleNamespace(valid=listed, errors=[])

        return self._futures([""], request_timeout, find)[""]

    def describe_topics(
        self, topics: Any, *, request_timeout: float, **_: object
    ) -> "dict[str, Future[Any]]":
        return self._futures(
            topics.topic_names,
            request_timeout,
            self._describe,
        )

    def list_offsets(
        self,
        wanted: Mapping[TopicPartition, OffsetSpec],
        *,
        isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        request_timeout: float,
    ) -> "dict[TopicPartition, Future[Any]]":
        committed = isolation_level is IsolationLevel.READ_COMMITTED

        def find(asked: TopicPartition) -> Any:
            spec = wanted[asked]
            time = {"LatestSpec": -1, "EarliestSpec": -2}.get(
                type(spec).__name__
            )
            if time is None:
                time = int(vars(spec)["timestamp"])
            found = self._offset(
                asked.topic, asked.partition, time, committed=committed
            )
            if isinstance(found, KafkaError):
                return found
            return SimpleNamespace(
                offset=found[0],
                timestamp=found[1],
                leader_epoch=self._epoch(asked.topic, asked.partition),
            )

        return self._futures(list(wanted), request_timeout, find)

    def describe_configs(
        self, resources: Sequence[Any], *, request_timeout: float
    ) -> "dict[Any, Future[Any]]":
        def find(resource: Any) -> Any:
            found = self._topic(resource.name)
            if isinstance(found, KafkaError):
                return found
            if resource.name in self._cluster.denied_configs:
                return error(KafkaError.TOPIC_AUTHORIZATION_FAILED)
            return {
                name: ConfigEntry(
                    name,
                    found.configs.get(name, value),
                    source=ConfigSource.DYNAMIC_TOPIC_CONFIG
                    if name in found.configs
                    else ConfigSource.DEFAULT_CONFIG,
                )
                for name, value in DEFAULTS.items()
            }

        return self._futures(resources, request_timeout, find)

    def create_topics(
        self, topics: Sequence[Any], *, request_timeout: float
    ) -> "dict[str, Future[Any]]":
        def make(name: str) -> None:
            (new,) = (t for t in topics if t.topic == name)
            self._cluster.create(name, new.num_partitions)

        return self._futures([t.topic for t in topics], request_timeout, make)

    def list_consumer_group_offsets(
        self, wanted: Sequence[Any], *, request_timeout: float
    ) -> "dict[str, Future[Any]]":
        def find(name: str) -> Any:
            offsets = self._cluster.groups.get(name, SimGroup()).offsets
            return SimpleNamespace(
                topic_partitions=[
                    TopicPartition(*key, offset)
                    for key, offset in sorted(offsets.items())
                    if key[0] not in self._cluster.denied
                ]
            )

        names = [w.group_id for w in wanted]
        return self._futures(names, request_timeout, find)

    def describe_consumer_groups(
        self, names: Sequence[str], *, request_timeout: float
    ) -> "dict[str, Future[Any]]":
        def find(name: str) -> Any:
            found = self._cluster.groups.get(name)
            reads = found is not None and found.has_members()
            state = "STABLE" if reads else "EMPTY" if found else "DEAD"
            member = SimpleNamespace(client_id=f"{name}-0", host="/10.0.0.1")
            return SimpleNamespace(
                state=SimpleNamespace(name=state),
                members=[member] if reads else [],
            )

        return self._futures(names, request_timeout, find)

    def _describe(self, name: str) -> Any:
        found = self._topic(name)
        if isinstance(found, KafkaError):
            return found
        return SimpleNamespace(
            topic_id=found.id,
            authorized_operations=[
                AclOperation.DESCRIBE,
                AclOperation.READ,
                AclOperation.WRITE,
            ],
            partitions=[
                SimpleNamespace(
                    id=n,
                    leader=None
                    if log.leader is None
                    else SimpleNamespace(id=log.leader),
                    replicas=list(range(1, self._cluster.size + 1)),
                )
                for n, log in enumerate(found.logs)
            ],
        )

    def _future(
        self, timeout: float, find: Callable[[], Any]
    ) -> "Future[Any]":
        try:
            self._network.ask(self._cluster, timeout)
        except KafkaException as e:
            return _answer(e.args[0])
        return _answer(find())

    def _futures(
        self, keys: Iterable[Any], timeout: float, find: Callable[[Any], Any]
    ) -> "dict[Any, Future[Any]]":
        try:
            self._network.ask(self._cluster, timeout)
        except KafkaException as e:
            return {key: _answer(e.args[0]) for key in keys}
        return {key: _answer(find(key)) for key in keys}


@dataclass(slots=True)
class _Assigned:
    position: int
    ended_at: int | None = None
    """Position at which its end was last reported."""

    failed: bool = False
    idle: tuple[Log, tuple[object, ...]] | None = None
    """The log when it was last read to its end."""


class SimConsumer(_Lister):
    """Stands for `confluent_kafka.Consumer`."""

    def __init__(self, properties: Mapping[str, Any]) -> None:
        super().__init__(properties)
        self._committed = properties["isolation.level"] == "read_committed"
        self._reset = properties["auto.offset.reset"]
        self._assigned: dict[tuple[str, int], _Assigned] = {}
        self._troubled = False

    def poll(self, _timeout: float) -> None:
        """Say nothing of connections."""

    def close(self) -> None:
        self._assigned.clear()

    def unassign(self) -> None:
        self._assigned.clear()

    def incremental_assign(self, partitions: Sequence[TopicPartition]) -> None:
        for p in partitions:
            self._assigned[p.topic, p.partition] = _Assigned(p.offset)

    def incremental_unassign(
        self, partitions: Sequence[TopicPartition]
    ) -> None:
        for p in partitions:
            self._assigned.pop((p.topic, p.partition), None)

    def get_watermark_offsets(
        self, partition: TopicPartition, timeout: float
    ) -> tuple[int, int]:
        self._network.ask(self._cluster, timeout)
        answers = [
            self._offset(
                partition.topic, partition.partition, time, committed=False
            )
            for time in (-2, -1)
        ]
        for found in answers:
            if isinstance(found, KafkaError):
                raise KafkaException(found)
        (start, _), (end, _) = answers  # type: ignore[misc]
        return start, end

    def offsets_for_times(
        self, wanted: Sequence[TopicPartition], timeout: float
    ) -> list[Any]:
        self._network.ask(self._cluster, timeout)
        answers = []
        for asked in wanted:
            found = self._offset(
                asked.topic,
                asked.partition,
                asked.offset,
                committed=self._committed,
            )
            if isinstance(found, KafkaError):
                answers.append(SimpleNamespace(error=found, offset=-1001))
                continue
            answers.append(
                SimpleNamespace(
                    error=None,
                    offset=found[0],
                    leader_epoch=self._epoch(asked.topic, asked.partition),
                )
            )
        return answers

    def consume(self, most: int, seconds: float) -> list[SimMessage]:
        """Wait for records, and return at most so many."""
        coarse = self._network.coarse_of(self._schedule.current)
        deadline = self._schedule.elapsed + seconds * coarse
        while True:
            found = list(self._fetch(most))
            left = deadline - self._schedule.elapsed
            if found or left <= 0:
                return found
            self._schedule.sleep(min(left, LOOK * coarse))

    def _fetch(self, most: int) -> Iterator[SimMessage]:
        if not self._assigned:
            return
        if not self._cluster.reachable:
            if not self._troubled:
                self._troubled = True
                yield SimMessage(
                    None,  # type: ignore[arg-type]
                    None,  # type: ignore[arg-type]
                    None,  # type: ignore[arg-type]
                    error_=error(KafkaError._ALL_BROKERS_DOWN),  # noqa: SLF001
                )
            return
        self._troubled = False
        for (topic, partition), at in list(self._assigned.items()):
            if most <= 0:
                return
            if topic in self._cluster.throttled:
                continue
            for event in self._fetch_one(topic, partition, at, most):
                most -= 1
                yield event

    def _readable(self, topic: str, partition: int) -> Log | KafkaError:
        if topic in self._cluster.unreadable:
            return error(KafkaError.TOPIC_AUTHORIZATION_FAILED)
        return self._log(topic, partition)

    def _fetch_one(
        self, topic: str, partition: int, at: _Assigned, most: int
    ) -> Iterator[SimMessage]:
        found = self._readable(topic, partition)
        if isinstance(found, KafkaError):
            if not at.failed:
                at.failed = True
                yield SimMessage(topic, partition, at.position, error_=found)
            return
        log = found
        if at.idle == (log, log.state):
            return
        at.failed = False
        if log.leader is None:
            return
        at.position = {OFFSET_BEGINNING: log.start, OFFSET_END: log.end}.get(
            at.position, at.position
        )
        if not log.start <= at.position <= log.end:
            if self._reset == "error":
                yield SimMessage(
                    topic,
                    partition,
                    at.position,
                    error_=error(KafkaError._AUTO_OFFSET_RESET),  # noqa: SLF001
                )
                # librdkafka stops fetching it.
                self._assigned.pop((topic, partition), None)
                return
            at.position = log.start
        came = False
        for offset, record in log.read(
            at.position, most, committed=self._committed
        ):
            came = True
            at.position = offset + 1
            yield SimMessage(topic, partition, offset, record)
        if not came:
            end = log.visible_end(committed=self._committed)
            at.position = max(at.position, end)
            at.idle = log, log.state
            if at.ended_at != at.position:
                at.ended_at = at.position
                yield SimMessage(
                    topic,
                    partition,
                    at.position,
                    error_=error(KafkaError._PARTITION_EOF),  # noqa: SLF001
                )


class SimProducer(_Client):
    """Stands for `confluent_kafka.Producer`."""

    def __init__(self, properties: Mapping[str, Any]) -> None:
        super().__init__(properties)
        self._timeout = properties["message.timeout.ms"] / 1000
        self._waiting: list[tuple[float, tuple[Any, ...]]] = []

    def list_topics(self, _topic: str, timeout: float) -> None:
        self._network.ask(self._cluster, timeout)

    def produce(
        self,
        topic: str,
        *,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        headers: object,
        timestamp: int,
        on_delivery: Callable[[KafkaError | None, SimMessage], None],
    ) -> None:
        found = self._topic(topic)
        if isinstance(found, KafkaError) or partition >= len(found.logs):
            code = KafkaError._UNKNOWN_PARTITION  # noqa: SLF001
            raise KafkaException(error(code))
        record = Record(key, value, timestamp)
        entry = (topic, partition, record, on_delivery)
        self._waiting.append((self._schedule.elapsed, entry))

    def poll(self, _timeout: float) -> int:
        """Write what can be written, and report it."""
        self._cluster.take_stalled()
        waiting, self._waiting = self._waiting, []
        for since, entry in waiting:
            topic, partition, record, report = entry
            message = SimMessage(topic, partition, -1, record)
            log = self._cluster.log(topic, partition)
            late = self._schedule.elapsed - since
            if (
                self._cluster.reachable
                and log is not None
                and (log.leader is not None)
            ):
                message.offset_ = log.append(record)
                message.latency_ = late + LATENCY
                report(None, message)
            elif late > self._timeout:
                if self._cluster.reachable is None:
                    self._cluster.stalled.append((topic, partition, record))
                code = KafkaError._MSG_TIMED_OUT  # noqa: SLF001
                report(error(code), message)
            else:
                self._waiting.append((since, entry))
        return len(waiting)

    def flush(self, _timeout: float) -> int:
        return self.poll(0)

    def purge(self, **_: object) -> None:
        self._waiting.clear()


@contextmanager
def installed(of: Network) -> Iterator[None]:
    """Put these clients in the place of the real ones."""
    global network  # noqa: PLW0603 - clients are made by their class alone
    defaults = CanaryProducer.__init__.__kwdefaults__
    lookup = OffsetLookup.__init__.__kwdefaults__
    assert defaults is not None
    assert lookup is not None
    clock = of.schedule.monotonic
    # Whoever waits for longer is not late for that.
    longer = timedelta(
        seconds=mirror_state.POLL * (of.coarse.get("tail", 1.0) - 1)
    )
    with pytest.MonkeyPatch.context() as place:
        place.setattr(admin_module, "AdminClient", SimAdmin)
        for module in (list_offsets_module, reader_module):
            place.setattr(module, "Consumer", SimConsumer)
        place.setitem(defaults, "make_producer", SimProducer)
        place.setitem(defaults, "clock", clock)
        place.setitem(lookup, "clock", clock)
        place.setattr(mirror_state, "PAUSED", mirror_state.PAUSED + longer)
        network = of
        try:
            yield
        finally:
            network = None
