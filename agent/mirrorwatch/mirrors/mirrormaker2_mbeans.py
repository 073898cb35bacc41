"""Which MBeans of MirrorMaker 2 are read, and which of their attributes.

Plain values (``record-age-ms``) keep the last figure for ever; only those of
a window (``-min``, ``-avg``, ``-max``) are read where both exist.
"""

from collections.abc import Iterator

from ..domain.mbeans import Wanted

__all__ = ["CONSUMER_ROLE", "OLD_CONSUMER", "WANTED"]

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
_IO = ("io-ratio", "io-wait-ratio")
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
_ERRORS = (
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


def _connect(kind: str, numbers: tuple[str, ...], *texts: str) -> Wanted:
    return Wanted(
        domain="kafka.connect",
        type=kind,
        keys=_TASK,
        numbers=numbers,
        texts=texts,
    )


def _of_mirror() -> Iterator[Wanted]:
    for kind, keys, numbers in (
        ("MirrorSourceConnector", _RECORDS, _COPIED),
        ("MirrorCheckpointConnector", _GROUPS, _CHECKPOINTS),
    ):
        # Until Kafka 4.0 the source is named only if that is asked for.
        for more in ({}, _SOURCE):
            yield Wanted(
                domain="kafka.connect.mirror",
                type=kind,
                keys={**more, **keys},
                numbers=numbers,
            )
        # The new format of Kafka 4.3.
        yield Wanted(
            domain="kafka.connect",
            type="plugins",
            keys={**_PLUGIN, **_SOURCE, **keys},
            numbers=numbers,
        )


def _of_clients() -> Iterator[Wanted]:
    for client in _CONSUMERS:
        fetches = "consumer-fetch-manager-metrics"
        yield Wanted(
            domain="kafka.consumer",
            type=fetches,
            keys={"client-id": client},
            numbers=_FETCHES,
        )
        yield Wanted(
            domain="kafka.consumer",
            type=fetches,
            keys={"client-id": client, "topic": "*", "partition": "*"},
            numbers=("records-lag",),
        )
        yield Wanted(
            domain="kafka.consumer",
            type="consumer-metrics",
            keys={"client-id": client},
            numbers=_IO,
        )
    for client in _PRODUCERS:
        yield Wanted(
            domain="kafka.producer",
            type="producer-metrics",
            keys={"client-id": client},
            numbers=_SENDS,
        )


WANTED = (
    *_of_mirror(),
    *_of_clients(),
    _connect("connector-task-metrics", _COMMITS, "status"),
    _connect("task-error-metrics", _ERRORS),
    _connect("source-task-metrics", ("source-record-active-count",)),
    Wanted(
        domain="kafka.connect",
        type="connector-metrics",
        keys={"connector": "*"},
        texts=("status",),
    ),
    Wanted(
        domain="kafka.connect",
        type="connect-worker-rebalance-metrics",
        numbers=_REBALANCES,
    ),
)
"""Everything that is read, with one bulk request where the way allows it."""
