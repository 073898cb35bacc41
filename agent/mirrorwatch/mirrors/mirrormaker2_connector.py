"""What the configuration of MirrorMaker 2's connectors means."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ..domain.positions import Companion, Connector
from ..domain.selection import MM2_EXCLUDED, Selection, split_patterns

__all__ = ["copies_records", "to_companion", "to_connector"]

Properties = Mapping[str, Any]

PACKAGE = "org.apache.kafka.connect.mirror."

SOURCE = f"{PACKAGE}MirrorSourceConnector"
CHECKPOINTS = f"{PACKAGE}MirrorCheckpointConnector"
HEARTBEATS = f"{PACKAGE}MirrorHeartbeatConnector"

REFRESH = 600
"""Seconds of ``refresh.topics.interval.seconds`` and of
``sync.topic.configs.interval.seconds``."""

EMIT_CHECKPOINTS = 60
"""Seconds of ``emit.checkpoints.interval.seconds``."""

EMIT_HEARTBEATS = 1
"""Seconds of ``emit.heartbeats.interval.seconds``."""

IN_FLIGHT = 1
"""Connect's own ``max.in.flight.requests.per.connection`` for the producers
of source tasks (``Worker.baseProducerConfigs``)."""

EXCLUDED_CONFIGS = (
    r"follower\.replication\.throttled\.replicas",
    r"leader\.replication\.throttled\.replicas",
    r"message\.timestamp\.difference\.max\.ms",
    r"log\.message\.timestamp\.before\.max\.ms",
    r"log\.message\.timestamp\.after\.max\.ms",
    r"message\.timestamp\.type",
    r"unclean\.leader\.election\.enable",
    r"min\.insync\.replicas",
)
"""``config.properties.exclude`` of Kafka 4.3. Those of 3.9 are among them;
what 4.3 adds no topic has under these names."""


UNCOMMITTED = "read_uncommitted"
"""``isolation.level`` of Kafka's own consumers, where it is not said."""

_LEVELS = {UNCOMMITTED: False, "read_committed": True}
"""Whether aborted records are left out. What ``${vault:...}`` stands for only
the worker knows."""


def to_connector(
    name: str, properties: Properties, max_in_flight: int | None
) -> Connector:
    """Return how a source connector is configured.

    Raises
    ------
    ValueError
        Raised if a number is none.
    """
    exclude = _either(properties, "topics.exclude", "topics.blacklist")
    not_copied = _either(
        properties, "config.properties.exclude", "config.properties.blacklist"
    )
    in_flight = _producer(properties, "max.in.flight.requests.per.connection")
    request = _producer(properties, "max.request.size")
    reset = _consumer(properties, "auto.offset.reset")
    isolation = _consumer(properties, "isolation.level") or UNCOMMITTED
    return Connector(
        name=name,
        selection=Selection(
            include=split_patterns(properties.get("topics", ".*")),
            exclude=MM2_EXCLUDED
            if exclude is None
            else split_patterns(exclude),
        ),
        refresh=_seconds(
            properties, "refresh.topics.interval.seconds", REFRESH
        ),
        max_in_flight=max_in_flight or int(in_flight or IN_FLIGHT),
        max_request_bytes=None if request is None else int(request),
        read_committed=_LEVELS.get(isolation.lower()),
        starts_at_end=_is(reset, "latest"),
        tolerates_errors=_is(properties.get("errors.tolerance"), "all"),
        transforms=bool((properties.get("transforms") or "").strip()),
        flush=_flush(properties),
        config_sync=_seconds(
            properties, "sync.topic.configs.interval.seconds", REFRESH
        )
        if _enabled(properties, "sync.topic.configs.enabled")
        else None,
        config_excluded=EXCLUDED_CONFIGS
        if not_copied is None
        else split_patterns(not_copied),
    )


def to_companion(
    name: str, properties: Properties, *, ours: bool
) -> Companion:
    """Return what a connector does that copies no records of this flow."""
    kind = properties.get("connector.class")
    if ours and _is_class(kind, CHECKPOINTS):
        return Companion(
            name=name,
            role="checkpoints",
            interval=_seconds(
                properties,
                "emit.checkpoints.interval.seconds",
                EMIT_CHECKPOINTS,
            )
            if _enabled(properties, "emit.checkpoints.enabled")
            else None,
        )
    if ours and _is_class(kind, HEARTBEATS):
        return Companion(
            name=name,
            role="heartbeats",
            interval=_seconds(
                properties, "emit.heartbeats.interval.seconds", EMIT_HEARTBEATS
            )
            if _enabled(properties, "emit.heartbeats.enabled")
            else None,
        )
    return Companion(name=name, role="neighbour")


def copies_records(properties: Properties) -> bool:
    """Tell whether it is a source connector of MirrorMaker 2."""
    return _is_class(properties.get("connector.class"), SOURCE)


def _is_class(given: Any, wanted: str) -> bool:
    # Connect takes a class by its short name, too.
    return given in (wanted, wanted.removeprefix(PACKAGE))


def _is(given: Any, wanted: str) -> bool:
    return str(given).lower() == wanted


def _enabled(properties: Properties, name: str) -> bool:
    return str(properties.get(name, "true")).lower() == "true"


def _either(properties: Properties, name: str, before: str) -> Any:
    """Return a setting, or what it was called before Kafka 2.7."""
    found = properties.get(name)
    return properties.get(before) if found is None else found


def _seconds(properties: Properties, name: str, default: int) -> timedelta:
    given = properties.get(name)
    return timedelta(seconds=default if given is None else int(given))


def _first(properties: Properties, *names: str) -> str | None:
    found = (properties.get(name) for name in names)
    return next((str(value) for value in found if value is not None), None)


def _producer(properties: Properties, name: str) -> str | None:
    """Return a setting of the connector's producer.

    The second form is how a dedicated mirror passes its worker's settings on.
    """
    return _first(
        properties,
        f"producer.override.{name}",
        f"target.producer.{name}",
    )


def _consumer(properties: Properties, name: str) -> str | None:
    """Return a setting of the consumer that copies.

    The source connector makes it by itself (``sourceConsumerConfig``), so
    Connect's ``consumer.override.`` does not concern it.
    """
    return _first(
        properties,
        f"source.consumer.{name}",
        f"consumer.{name}",
        f"source.cluster.{name}",
    )


def _flush(properties: Properties) -> timedelta | None:
    """Return how often positions are committed.

    It is a setting of the worker. A dedicated mirror hands those of the
    target's worker on to its connectors; a Connect cluster does not.
    """
    found = _first(
        properties,
        "target.cluster.offset.flush.interval.ms",
        "offset.flush.interval.ms",
    )
    return None if found is None else timedelta(milliseconds=int(found))
