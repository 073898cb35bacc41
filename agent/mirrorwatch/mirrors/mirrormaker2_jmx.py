"""MirrorMaker 2's MBeans -> what the mirror of one flow says of itself."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

from ..domain.bottleneck.model import (
    ClassMetrics,
    ConsumerMetrics,
    IoMetrics,
    MBean,
    MBeanQuery,
    MirrorMetrics,
    ProducerMetrics,
    Rebalances,
    TaskErrors,
    TaskMetrics,
    WorkerTask,
)
from ..domain.topics import Naming, Selection, TopicPattern
from ..ports import MirrorSettings

__all__ = [
    "CHECKPOINTS",
    "CLASS",
    "CONSUMER",
    "CONSUMER_ROLE",
    "IO",
    "OLD_CONSUMER",
    "OTHER",
    "PRODUCER",
    "TASK",
    "WANTED",
    "MirrorMaker2Jmx",
    "Ownership",
    "Rule",
    "combine",
    "highest",
    "lowest",
    "mean",
    "total",
]


_How = Callable[[Sequence[tuple[float, float | None]]], float]
"""Makes one value of several, each with its weight if that is known."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Aggregation rule: attribute of a metric, and how several values become
    one.
    """

    attribute: str
    how: _How
    weight: str | None = None
    scale: float = 1


def total(attribute: str) -> Rule:
    """Add up: rates and numbers of things."""
    return Rule(attribute, lambda found: sum(value for value, _ in found))


def highest(attribute: str, scale: float = 1) -> Rule:
    """Take the highest: the highest of highest ones is one of them."""
    return Rule(attribute, _highest, scale=scale)


def lowest(attribute: str, scale: float = 1) -> Rule:
    """Take the lowest."""
    return Rule(attribute, lambda found: min(v for v, _ in found), scale=scale)


def mean(attribute: str, weight: str, scale: float = 1) -> Rule:
    """Take the mean, weighted by a rate.

    Where rates are not exported or all zero, it is the highest of the means:
    what is slow must not be hidden by what idles.
    """
    return Rule(attribute, _mean, weight, scale)


def combine(
    rules: Mapping[str, Rule], mbeans: Iterable[MBean]
) -> dict[str, float]:
    """Make one value by each rule; without any value there is none."""
    given = [mbean.attributes for mbean in mbeans]
    made = {}
    for name, rule in rules.items():
        found = [
            (value * rule.scale, _number(attributes.get(rule.weight or "")))
            for attributes in given
            if isinstance(value := attributes.get(rule.attribute), float)
        ]
        if found:
            made[name] = rule.how(found)
    return made


def _number(value: object) -> float | None:
    return value if isinstance(value, float) else None


def _highest(found: Sequence[tuple[float, float | None]]) -> float:
    return max(value for value, _ in found)


def _mean(found: Sequence[tuple[float, float | None]]) -> float:
    whole = sum(weight or 0 for _, weight in found)
    if whole <= 0:
        return _highest(found)
    return sum(value * (weight or 0) for value, weight in found) / whole


# Which MBeans of MirrorMaker 2 are read, and which of their attributes.
#
# Plain values (``record-age-ms``) keep the last value for ever; only those of
# a window (``-min``, ``-avg``, ``-max``) are read where both exist.

CONSUMER_ROLE = "replication-consumer"
"""Ends the client id of the consumers that copy, since Kafka 3.5."""

OLD_CONSUMER = "consumer-null-"
"""Begins their client id before; it says nothing of the flow."""

_SOURCE = {"source": "*"}
_RECORDS = {"target": "*", "topic": "*", "partition": "*"}
_GROUPS = {**_RECORDS, "group": "*"}
_PLUGIN = {"connector": "*", "task": "*"}
_TASK = {"connector": "*", "task": "*"}

_CONSUMERS = (f'"*|{CONSUMER_ROLE}"', f"{OLD_CONSUMER}*")
_PRODUCERS = ("connector-producer-*", '"connector-producer-*"')

_COPIED = (
    "record-rate",
    "byte-rate",
    "record-count",
    "byte-count",
    *(f"record-age-ms-{of}" for of in ("min", "avg", "max")),
    *(f"replication-latency-ms-{of}" for of in ("min", "avg", "max")),
)
_CHECKPOINTS = tuple(
    f"checkpoint-latency-ms-{of}" for of in ("min", "avg", "max")
)
_FETCHES = (
    "fetch-size-avg",
    "fetch-size-max",
    "fetch-rate",
    "fetch-total",
    "fetch-latency-avg",
    "fetch-latency-max",
    "fetch-throttle-time-avg",
    "fetch-throttle-time-max",
    "records-lag-max",
    "records-lead-min",
    "bytes-consumed-rate",
    "bytes-consumed-total",
    "records-consumed-rate",
    "records-consumed-total",
)
_IO = ("io-ratio", "io-wait-ratio", "connection-count")
_SENDS = (
    *_IO,
    "batch-size-avg",
    "batch-size-max",
    "requests-in-flight",
    "record-retry-rate",
    "record-error-rate",
    "record-send-rate",
    "record-send-total",
    "request-rate",
    "request-latency-avg",
    "request-latency-max",
    "record-queue-time-avg",
    "record-queue-time-max",
    "produce-throttle-time-avg",
    "produce-throttle-time-max",
    "compression-rate-avg",
    "batch-split-rate",
    "buffer-available-bytes",
)
_COMMITS = (
    "offset-commit-success-percentage",
    "offset-commit-failure-percentage",
    "offset-commit-avg-time-ms",
    "offset-commit-max-time-ms",
)
_ERROR_ATTRIBUTES = (
    "total-record-failures",
    "total-records-skipped",
    "total-record-errors",
    "total-retries",
    "last-error-timestamp",
)
_REBALANCES = (
    "completed-rebalances-total",
    "time-since-last-rebalance-ms",
    "rebalance-max-time-ms",
)


def _connect(kind: str, numbers: tuple[str, ...], *texts: str) -> MBeanQuery:
    return MBeanQuery(
        domain="kafka.connect",
        type=kind,
        keys=_TASK,
        numbers=numbers,
        texts=texts,
    )


def _of_mirror() -> Iterator[MBeanQuery]:
    for kind, keys, numbers in (
        ("MirrorSourceConnector", _RECORDS, _COPIED),
        ("MirrorCheckpointConnector", _GROUPS, _CHECKPOINTS),
    ):
        # Until Kafka 4.0 the source is named only if that is asked for.
        for more in ({}, _SOURCE):
            yield MBeanQuery(
                domain="kafka.connect.mirror",
                type=kind,
                keys={**more, **keys},
                numbers=numbers,
            )
        # The new format of Kafka 4.3.
        yield MBeanQuery(
            domain="kafka.connect",
            type="plugins",
            keys={**_PLUGIN, **_SOURCE, **keys},
            numbers=numbers,
        )


def _of_clients() -> Iterator[MBeanQuery]:
    for client in _CONSUMERS:
        fetches = "consumer-fetch-manager-metrics"
        yield MBeanQuery(
            domain="kafka.consumer",
            type=fetches,
            keys={"client-id": client},
            numbers=_FETCHES,
        )
        yield MBeanQuery(
            domain="kafka.consumer",
            type=fetches,
            keys={"client-id": client, "topic": "*", "partition": "*"},
            numbers=("records-lag",),
        )
        yield MBeanQuery(
            domain="kafka.consumer",
            type="consumer-metrics",
            keys={"client-id": client},
            numbers=_IO,
        )
    for client in _PRODUCERS:
        yield MBeanQuery(
            domain="kafka.producer",
            type="producer-metrics",
            keys={"client-id": client},
            numbers=_SENDS,
        )


WANTED = (
    *_of_mirror(),
    *_of_clients(),
    _connect("connector-task-metrics", _COMMITS, "status"),
    _connect("task-error-metrics", _ERROR_ATTRIBUTES),
    _connect("source-task-metrics", ("source-record-active-count",)),
    MBeanQuery(
        domain="kafka.connect",
        type="connector-metrics",
        keys={"connector": "*"},
        texts=("status",),
    ),
    MBeanQuery(
        domain="kafka.connect",
        type="connect-worker-rebalance-metrics",
        numbers=_REBALANCES,
    ),
)
"""Everything that is read, with one bulk request where the way allows it."""


_DEDICATED = tuple(
    f"Mirror{kind}Connector" for kind in ("Source", "Checkpoint", "Heartbeat")
)
"""Names of the connectors of every flow of a dedicated MirrorMaker 2."""

_NO_COPIES = re.compile("checkpoint|heartbeat", re.IGNORECASE)
"""In the usual names of the connectors that copy no records."""

_OF_MIRROR = re.compile(r"Mirror\w+Connector|plugins")


@dataclass(frozen=True, kw_only=True)
class Ownership:
    """Ownership rules that select the MBeans of one flow."""

    source_alias: str
    target_alias: str
    naming: Naming
    selection: Selection
    connectors: tuple[str, ...] = ()
    """The flow's connectors, where they are configured."""

    dedicated: bool = True

    def of_mirror(self, mbeans: Iterable[MBean]) -> Iterator[MBean]:
        """Yield the mirror's own MBeans of this flow."""
        for mbean in mbeans:
            if _OF_MIRROR.fullmatch(mbean.type) and self._is_own(mbean):
                yield mbean

    def origin(self, mbean: MBean) -> str | None:
        """Return the source topic of one of the mirror's own MBeans."""
        topic = self.naming.origin(mbean.properties.get("topic", ""))
        return topic if topic and self.selection.matches(topic) else None

    def consumers(self, mbeans: Iterable[MBean]) -> tuple[MBean, ...]:
        """Return MBeans of the flow's consumers."""
        mbeans = list(mbeans)
        clients = [m for m in mbeans if m.domain == "kafka.consumer"]
        # Before Kafka 3.5 their names say nothing: they are this flow's if
        # the worker has no other flow.
        old = all(_client(m).startswith(OLD_CONSUMER) for m in clients) and (
            all(
                self._is_own(m) for m in mbeans if _OF_MIRROR.fullmatch(m.type)
            )
        )
        return tuple(m for m in clients if old or self._task(m) is not None)

    def fetching(
        self, clients: Iterable[MBean], states: Iterable[WorkerTask]
    ) -> list[MBean]:
        """Return those of the flow's consumers whose tasks are not paused:
        these ask for nothing, and get no answer.
        """
        tasks = {
            (s.connector, s.task, s.state == "paused")
            for s in states
            if s.task is not None and not _NO_COPIES.search(s.connector)
        }
        going = {
            (name, number) for name, number, paused in tasks if not paused
        }
        paused = {(name, number) for name, number, _ in tasks} - going
        return [
            mbean
            for mbean in clients
            # Those before Kafka 3.5 do not say whose they are.
            if (task := self._task(mbean)) not in paused
            and (task is not None or going or not paused)
        ]

    def producers(
        self, mbeans: Iterable[MBean], copying: Iterable[str]
    ) -> tuple[MBean, ...]:
        """Return MBeans of the producers of these connectors."""
        names = "|".join(map(re.escape, copying))
        own = re.compile(rf"connector-producer-({names})-\d+")
        return tuple(
            mbean
            for mbean in mbeans
            if mbean.domain == "kafka.producer"
            and own.fullmatch(_client(mbean))
        )

    def copying(self, mbeans: Iterable[MBean]) -> set[str]:
        """Return the names of the connectors that copy this flow."""
        named = {
            task[0]
            for mbean in mbeans
            if mbean.domain == "kafka.consumer"
            and (task := self._task(mbean)) is not None
        }
        known = self.connectors or (_DEDICATED if self.dedicated else ())
        return named or {n for n in known if not _NO_COPIES.search(n)}

    def tasks(
        self, mbeans: Iterable[MBean], copying: Iterable[str]
    ) -> Iterator[MBean]:
        """Yield MBeans of the flow's connectors and tasks in Connect."""
        known = {*copying, *self.connectors}
        if self.dedicated and not self.connectors:
            known |= set(_DEDICATED)
        # As Strimzi calls them.
        prefix = f"{self.source_alias}->{self.target_alias}."
        for mbean in mbeans:
            name = mbean.properties.get("connector")
            if (
                name is not None
                and mbean.type != "plugins"
                and (name in known or self._may_be(name, prefix))
            ):
                yield mbean

    def _may_be(self, name: str, prefix: str) -> bool:
        return not self.connectors and name.startswith(prefix)

    def _is_own(self, mbean: MBean) -> bool:
        has = mbean.properties
        if has.get("target") != self.target_alias:
            return False
        if has.get("source", self.source_alias) != self.source_alias:
            return False
        name = has.get("connector")
        listed = not self.connectors or name is None
        return (listed or name in self.connectors) and (
            self.origin(mbean) is not None
        )

    def _task(self, mbean: MBean) -> tuple[str, int] | None:
        match = self._client_id.fullmatch(_client(mbean))
        if match is None:
            return None
        if self.connectors and match[1] not in self.connectors:
            return None
        return match[1], int(match[2])

    @cached_property
    def _client_id(self) -> re.Pattern[str]:
        flow = re.escape(f"{self.source_alias}->{self.target_alias}")
        # A client id that a user configured comes before it.
        return re.compile(rf"(?:.*\|)?{flow}\|(.+)-(\d+)\|{CONSUMER_ROLE}")


def _client(mbean: MBean) -> str:
    return mbean.properties.get("client-id", "")


_MS = 0.001
"""Milliseconds in seconds."""

CONSUMER = {
    "fetch_size_average_bytes": mean("fetch-size-avg", "fetch-rate"),
    "fetch_size_max_bytes": highest("fetch-size-max"),
    "fetches_per_second": total("fetch-rate"),
    "fetch_latency_average_seconds": mean(
        "fetch-latency-avg", "fetch-rate", _MS
    ),
    "fetch_latency_max_seconds": highest("fetch-latency-max", _MS),
    "fetch_throttle_average_seconds": mean(
        "fetch-throttle-time-avg", "fetch-rate", _MS
    ),
    "fetch_throttle_max_seconds": highest("fetch-throttle-time-max", _MS),
    "consumer_lag_max_records": highest("records-lag-max"),
    "consumer_lead_min_records": lowest("records-lead-min"),
    "consumed_bytes_per_second": total("bytes-consumed-rate"),
    "consumed_records_per_second": total("records-consumed-rate"),
}

PRODUCER = {
    "batch_size_average_bytes": mean("batch-size-avg", "request-rate"),
    "batch_size_max_bytes": highest("batch-size-max"),
    "requests_in_flight": total("requests-in-flight"),
    "retries_per_second": total("record-retry-rate"),
    "errors_per_second": total("record-error-rate"),
    "sends_per_second": total("record-send-rate"),
    "request_latency_average_seconds": mean(
        "request-latency-avg", "request-rate", _MS
    ),
    "request_latency_max_seconds": highest("request-latency-max", _MS),
    "record_queue_average_seconds": mean(
        "record-queue-time-avg", "request-rate", _MS
    ),
    "record_queue_max_seconds": highest("record-queue-time-max", _MS),
    "produce_throttle_average_seconds": mean(
        "produce-throttle-time-avg", "request-rate", _MS
    ),
    "produce_throttle_max_seconds": highest("produce-throttle-time-max", _MS),
    "compression_ratio": mean("compression-rate-avg", "request-rate"),
    "batch_splits_per_second": total("batch-split-rate"),
    "buffer_available_bytes": lowest("buffer-available-bytes"),
}

IO = {
    # Of the busiest client: one that has no time left holds up its task.
    "io_ratio": highest("io-ratio"),
    "io_wait_ratio": lowest("io-wait-ratio"),
}

CONNECTIONS = {"connections": total("connection-count")}

CLASS = {
    "record_age_min_seconds": lowest("record-age-ms-min", _MS),
    "record_age_average_seconds": mean(
        "record-age-ms-avg", "record-rate", _MS
    ),
    "record_age_max_seconds": highest("record-age-ms-max", _MS),
    "replication_latency_min_seconds": lowest(
        "replication-latency-ms-min", _MS
    ),
    "replication_latency_average_seconds": mean(
        "replication-latency-ms-avg", "record-rate", _MS
    ),
    "replication_latency_max_seconds": highest(
        "replication-latency-ms-max", _MS
    ),
    "records_per_second": total("record-rate"),
    "bytes_per_second": total("byte-rate"),
}

CHECKPOINTS = {
    "checkpoint_latency_min_seconds": lowest("checkpoint-latency-ms-min", _MS),
    # Its rate is not exported, so it is that of the slowest.
    "checkpoint_latency_average_seconds": highest(
        "checkpoint-latency-ms-avg", _MS
    ),
    "checkpoint_latency_max_seconds": highest(
        "checkpoint-latency-ms-max", _MS
    ),
}

TASK = {
    "offset_commit_success_ratio": lowest("offset-commit-success-percentage"),
    "offset_commit_failure_ratio": highest("offset-commit-failure-percentage"),
    "offset_commit_average_seconds": highest("offset-commit-avg-time-ms", _MS),
    "offset_commit_max_seconds": highest("offset-commit-max-time-ms", _MS),
    "active_records": total("source-record-active-count"),
}


OTHER = "other"

_ERRORS = {
    "record_failures": "total-record-failures",
    "records_skipped": "total-records-skipped",
    "record_errors": "total-record-errors",
    "retries": "total-retries",
}

_SUCCESS, _FAILURE = (
    f"offset-commit-{outcome}-percentage" for outcome in ("success", "failure")
)


@dataclass(frozen=True, kw_only=True)
class MirrorMaker2Jmx:
    """Reads the metrics of one flow out of MBeans."""

    own: Ownership
    classes: Mapping[str, TopicPattern]
    """Pattern of the source topics in each class; the first one counts."""

    @classmethod
    def of(cls, settings: MirrorSettings) -> "MirrorMaker2Jmx":
        """Return what reads the mirror that is configured so."""
        own = Ownership(
            source_alias=settings.source_alias,
            target_alias=settings.target_alias,
            naming=settings.naming,
            selection=settings.selection,
            connectors=settings.connectors,
            dedicated=settings.dedicated,
        )
        return cls(own=own, classes=settings.classes)

    @property
    def wanted(self) -> tuple[MBeanQuery, ...]:
        """MBeans that every process of the mirror is asked for."""
        return WANTED

    def metrics(self, read: Mapping[str, Sequence[MBean]]) -> MirrorMetrics:
        """Take together what all processes of the mirror say.

        Parameters
        ----------
        read
            MBeans by the address of the process.

        Notes
        -----
        Rates and numbers of things are added up. Of highest and lowest
        values, the highest and lowest is taken. Means are weighted by the
        rate of what they are means of. Ratios are those of the worst.
        """
        everything = [mbean for mbeans in read.values() for mbean in mbeans]
        copying = self.own.copying(everything)
        consumers = [
            mbean
            for mbeans in read.values()
            for mbean in self.own.consumers(mbeans)
        ]
        producers = self.own.producers(everything, copying)
        tasks = list(self.own.tasks(everything, copying))
        clients = [m for m in consumers if "topic" not in m.properties]
        states = _states(tasks)
        fetching = {
            url: self.own.fetching(self.own.consumers(mbeans), states)
            for url, mbeans in read.items()
        }
        asking = [
            mbean
            for of in fetching.values()
            for mbean in of
            if "topic" not in mbean.properties
        ]
        io = {"consumer": clients, "producer": producers}
        return MirrorMetrics(
            consumer=ConsumerMetrics(**combine(CONSUMER, clients)),
            producer=ProducerMetrics(**combine(PRODUCER, producers)),
            io={
                role: IoMetrics(**busy)
                for role, of in io.items()
                if (busy := combine(IO, of))
            },
            connections={
                role: open_["connections"]
                for role, of in {**io, "consumer": asking}.items()
                if (open_ := combine(CONNECTIONS, of))
            },
            fetches={
                f"{url} {_client(mbean)}": fetches
                for url, of in fetching.items()
                for mbean in of
                if (fetches := _number(mbean.attributes.get("fetch-total")))
                is not None
            },
            classes=self._classes(read),
            tasks=TaskMetrics(
                **combine(TASK, map(_committed, tasks)),
                **combine(CHECKPOINTS, self.own.of_mirror(everything)),
            ),
            lags=_lags(consumers),
            silent=_silent(asking),
            errors=dict(
                counted
                for url, mbeans in read.items()
                for counted in _errors(url, self.own.tasks(mbeans, copying))
            ),
            last_errors=dict(
                found
                for url, mbeans in read.items()
                for found in _last_errors(url, self.own.tasks(mbeans, copying))
            ),
            states=states,
            rebalances={
                url: found
                for url, mbeans in read.items()
                if (found := _rebalances(mbeans)) is not None
            },
        )

    def _classes(
        self, read: Mapping[str, Sequence[MBean]]
    ) -> dict[str, ClassMetrics]:
        found: dict[str, list[MBean]] = {}
        for mbeans in read.values():
            copied: dict[tuple[str, str], MBean] = {}
            for mbean in self.own.of_mirror(mbeans):
                if "group" not in mbean.properties:
                    has = mbean.properties
                    # Kafka 4.3 can give one partition in both formats.
                    copied.setdefault((has["topic"], has["partition"]), mbean)
            for mbean in copied.values():
                name = self._class_of(self.own.origin(mbean) or "")
                found.setdefault(name, []).append(mbean)
        return {
            name: ClassMetrics(**combine(CLASS, mbeans))
            for name, mbeans in sorted(found.items())
        }

    def _class_of(self, topic: str) -> str:
        for name, pattern in self.classes.items():
            if pattern.fullmatch(topic):
                return name
        return OTHER


def _committed(task: MBean) -> MBean:
    """Leave out the outcome of commits where none was tried."""
    given = task.attributes
    if given.get(_SUCCESS) or given.get(_FAILURE):
        return task
    return MBean(
        domain=task.domain,
        properties=task.properties,
        attributes={
            name: value
            for name, value in given.items()
            if name not in {_SUCCESS, _FAILURE}
        },
    )


def _lags(consumers: Iterable[MBean]) -> dict[tuple[str, int], float]:
    lags: dict[tuple[str, int], float] = {}
    for mbean in consumers:
        lag = mbean.attributes.get("records-lag")
        if isinstance(lag, float):
            has = mbean.properties
            key = (has["topic"], int(has["partition"]))
            lags[key] = max(lag, lags.get(key, lag))
    # Since Kafka 4.1 each topic is there twice, under its name and under the
    # one with underscores that it had before.
    twins = {topic.replace(".", "_") for topic, _ in lags if "." in topic}
    return {key: lag for key, lag in lags.items() if key[0] not in twins}


def _silent(clients: Iterable[MBean]) -> tuple[str, ...]:
    """Return the clients whose last fetch was answered before the window.

    One that has just started has no answer either, and none before.
    """
    return tuple(
        sorted(
            mbean.properties["client-id"]
            for mbean in clients
            if mbean.attributes.get("fetch-rate") == 0
            and mbean.attributes.get("fetch-total", 0) != 0
        )
    )


def _errors(
    url: str, tasks: Iterable[MBean]
) -> Iterator[tuple[tuple[str, str, int], TaskErrors]]:
    for mbean in tasks:
        if mbean.type == "task-error-metrics" and mbean.attributes:
            has, given = mbean.properties, mbean.attributes
            yield (
                (url, has["connector"], int(has["task"])),
                TaskErrors(
                    **{
                        name: int(given.get(attribute, 0))
                        for name, attribute in _ERRORS.items()
                    }
                ),
            )


LATEST_MS = datetime.max.replace(tzinfo=UTC).timestamp() * 1000
"""The last time that Python knows."""


def _last_errors(
    url: str, tasks: Iterable[MBean]
) -> Iterator[tuple[tuple[str, str, int], datetime | None]]:
    for mbean in tasks:
        said = mbean.attributes.get("last-error-timestamp")
        # What no calendar has is no time of an error, and 0 is none yet.
        if isinstance(said, float) and 0 <= said < LATEST_MS:
            has = mbean.properties
            at = datetime.fromtimestamp(said / 1000, UTC) if said else None
            yield (url, has["connector"], int(has["task"])), at


def _states(tasks: Iterable[MBean]) -> tuple[WorkerTask, ...]:
    states = set()
    for mbean in tasks:
        state = mbean.attributes.get("status")
        if isinstance(state, str):
            task = mbean.properties.get("task")
            states.add(
                WorkerTask(
                    connector=mbean.properties["connector"],
                    task=None if task is None else int(task),
                    state=state.lower(),
                )
            )
    return tuple(
        sorted(
            states,
            key=lambda s: (s.connector, -1 if s.task is None else s.task),
        )
    )


def _rebalances(mbeans: Iterable[MBean]) -> Rebalances | None:
    for mbean in mbeans:
        if mbean.type == "connect-worker-rebalance-metrics":
            given = mbean.attributes
            completed = given.get("completed-rebalances-total")
            return Rebalances(
                completed=None if completed is None else int(completed),
                last=_milliseconds(given.get("time-since-last-rebalance-ms")),
                longest=_milliseconds(given.get("rebalance-max-time-ms")),
            )
    return None


def _milliseconds(value: float | str | None) -> timedelta | None:
    # What never was is a number without sense: no interval is that long.
    if not isinstance(value, float) or not 0 <= value < LATEST_MS:
        return None
    return timedelta(milliseconds=value)
