"""MirrorMaker 2: its internal topics and what their records say."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from pydantic_core import from_json

from ..domain.mirror_records import (
    BLACKLISTS,
    REFRESH,
    Assignment,
    Checkpoint,
    Committed,
    Companion,
    Connector,
    Heartbeat,
    MirrorFact,
    Sync,
    is_readable,
)
from ..domain.offsets import LARGEST, LARGEST_INT, to_number, to_record_offset
from ..domain.topics import MM2_EXCLUDED, Selection, split_patterns
from ..exceptions import ConfigError
from ..ports import InternalTopic, MirrorSettings
from .connect import (
    LEVELS,
    UNCOMMITTED,
    Properties,
    compresses,
    first_of,
    is_class,
    is_word,
    to_count,
    to_in_flight,
    to_interval,
    to_state,
    to_task_count,
    to_text,
)

__all__ = ["MirrorMaker2"]


# Records that MirrorMaker 2 writes by itself: binary, big-endian.
#
# Layouts are those of ``OffsetSync``, ``Checkpoint`` and ``Heartbeat``,
# unchanged from Kafka 2.4 to 4.3.


def to_sync(
    key: bytes | None, value: bytes | None, written_at: datetime
) -> Sync | None:
    """Read an offset sync; `None` if it was deleted."""
    if key is None or value is None:
        return None
    topic, at = _string(key, 0)
    (partition,) = struct.unpack_from(">i", key, at)
    upstream, downstream = struct.unpack(">qq", value)
    return Sync(
        topic=topic,
        partition=to_number(partition),
        upstream=to_record_offset(upstream),
        downstream=to_record_offset(downstream),
        written_at=written_at,
    )


def to_checkpoint(
    key: bytes | None, value: bytes | None, written_at: datetime
) -> Checkpoint | None:
    """Read a checkpoint of a consumer group; `None` if it was deleted."""
    if key is None or value is None:
        return None
    group, at = _string(key, 0)
    topic, at = _string(key, at)
    (partition,) = struct.unpack_from(">i", key, at)
    version, upstream, downstream = struct.unpack_from(">hqq", value)
    _check(version)
    return Checkpoint(
        group=group,
        topic=topic,
        partition=to_number(partition),
        upstream=to_record_offset(upstream),
        downstream=to_record_offset(downstream),
        written_at=written_at,
    )


def to_heartbeat(
    key: bytes | None,
    value: bytes | None,
    written_at: datetime,
    place: Literal["source", "carried", "target"],
) -> Heartbeat | None:
    """Read a heartbeat; `None` if it was deleted."""
    if key is None or value is None:
        return None
    source, at = _string(key, 0)
    target, _ = _string(key, at)
    version, milliseconds = struct.unpack(">hq", value)
    _check(version)
    return Heartbeat(
        source=source,
        target=target,
        place=place,
        beat_at=datetime.fromtimestamp(milliseconds / 1000, UTC),
        written_at=written_at,
    )


def _string(data: bytes, at: int) -> tuple[str, int]:
    """Return a string of Kafka's protocol, and where it ends."""
    (length,) = struct.unpack_from(">h", data, at)
    end = at + 2 + length
    if length < 0 or end > len(data):
        raise ValueError(f"a string of {length} bytes in {len(data)}")
    return data[at + 2 : end].decode(), end


def _check(version: int) -> None:
    if version != 0:
        raise ValueError(f"version {version} of the layout is unknown")


# Records that Kafka Connect writes for MirrorMaker 2: JSON.
#
# Layouts are those of ``OffsetStorageWriter``, ``KafkaStatusBackingStore`` and
# ``KafkaConfigBackingStore``, unchanged from Kafka 2.4 to 4.3.

ASSIGNED = "task.assigned.partitions"


def to_position(value: bytes | None) -> int | None:
    """Read the next offset to copy of a committed one.

    The value is the last offset that was copied (``MirrorUtils``); a
    tombstone means that somebody reset it.
    """
    last = None if value is None else from_json(value)
    return None if last is None else to_record_offset(last["offset"]) + 1


def to_assignment(
    name: str, properties: Mapping[str, Any], written_at: datetime
) -> Assignment | None:
    """Read what a task was given; `None` if it copies no records.

    Parameters
    ----------
    name
        Connector and number, with a dash between them.
    properties
        The task's configuration.
    written_at
        Time when it was written.
    """
    connector, _, task = name.rpartition("-")
    assigned = properties.get(ASSIGNED)
    if assigned is None:
        return None
    return Assignment(
        connector=connector,
        task=to_number(task, LARGEST_INT),
        partitions=to_partitions(assigned),
        written_at=written_at,
    )


def to_partitions(assigned: str) -> frozenset[tuple[str, int]]:
    """Read ``a.b-0,a.b-1``: names of topics may hold dashes, no commas."""
    return frozenset(
        (topic, to_number(number, LARGEST_INT))
        for topic, _, number in (
            name.strip().rpartition("-")
            for name in assigned.split(",")
            if name.strip()
        )
    )


PACKAGE = "org.apache.kafka.connect.mirror."

SOURCE = f"{PACKAGE}MirrorSourceConnector"
CHECKPOINTS = f"{PACKAGE}MirrorCheckpointConnector"
HEARTBEATS = f"{PACKAGE}MirrorHeartbeatConnector"

EMIT_CHECKPOINTS = 60
"""Seconds of ``emit.checkpoints.interval.seconds``."""

EMIT_HEARTBEATS = 1
"""Seconds of ``emit.heartbeats.interval.seconds``."""

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


EXCLUDED_GROUPS = (r"console-consumer-.*", r"connect-.*", r"__.*")
"""``groups.exclude`` of MirrorMaker 2 (``DefaultGroupFilter``)."""


def to_connector(
    name: str, properties: Properties, max_in_flight: int | None
) -> Connector:
    """Return how a source connector is configured."""
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
        filter_unknown=_hides_filter(properties, "Topic"),
        refresh=_seconds(
            properties, "refresh.topics.interval.seconds", REFRESH.seconds
        ),
        refreshes=_enabled(properties, "refresh.topics.enabled"),
        max_in_flight=max_in_flight or to_in_flight(in_flight),
        max_request_bytes=to_count(request, None),
        compresses=compresses(_producer(properties, "compression.type")),
        read_committed=LEVELS.get(isolation.lower()),
        starts_at_end=is_word(reset, "latest"),
        tolerates_errors=is_word(properties.get("errors.tolerance"), "all"),
        transforms=bool((properties.get("transforms") or "").strip()),
        flush=_flush(properties),
        exactly_once=_writes_in_transactions(properties),
        emits_syncs=_enabled(properties, "emit.offset-syncs.enabled"),
        heartbeats_after=_heartbeats_after(properties),
        config_sync=_seconds(
            properties, "sync.topic.configs.interval.seconds", REFRESH.seconds
        )
        if _enabled(properties, "sync.topic.configs.enabled")
        else None,
        config_excluded=EXCLUDED_CONFIGS
        if not_copied is None
        else split_patterns(not_copied),
    )


def _heartbeats_after(properties: Properties) -> str | None:
    """Return what stands before ``heartbeats`` in topics that are always
    replicated; `None` if none are, which Kafka 4.0 can be told.

    Notes
    -----
    Those that ``ReplicationPolicy.isHeartbeatsTopic`` names: its
    ``originalTopic``, without any alias before it, is ``heartbeats``. What
    another policy takes for an alias is not known.
    """
    if not _enabled(properties, "heartbeats.replication.enabled"):
        return None
    policy = properties.get("replication.policy.class")
    if policy is not None and not str(policy).startswith(PACKAGE):
        return ""
    return str(properties.get("replication.policy.separator", "."))


def to_companion(
    name: str, properties: Properties, *, ours: bool
) -> Companion:
    """Return what a connector does that copies no records of this flow."""
    kind = properties.get("connector.class")
    if ours and is_class(kind, CHECKPOINTS):
        return Companion(
            name=name,
            role="checkpoints",
            interval=_seconds(
                properties,
                "emit.checkpoints.interval.seconds",
                EMIT_CHECKPOINTS,
            )
            if _enabled(properties, "enabled")
            and _enabled(properties, "emit.checkpoints.enabled")
            else None,
            groups=_groups(properties),
        )
    if ours and is_class(kind, HEARTBEATS):
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


def _groups(properties: Properties) -> Selection | None:
    """Return the groups of which checkpoints are emitted, if that shows."""
    if _hides_filter(properties, "Group"):
        return None
    exclude = _either(properties, "groups.exclude", "groups.blacklist")
    found = Selection(
        include=split_patterns(properties.get("groups", ".*")),
        exclude=EXCLUDED_GROUPS
        if exclude is None
        else split_patterns(exclude),
    )
    return found if is_readable(found) else None


def _hides_filter(properties: Properties, what: str) -> bool:
    """Return whether the patterns of topics or groups say nothing: a class of
    the site's own need not read them, and what a placeholder stands for only
    the worker knows.
    """
    name = what.lower()
    given = properties.get(f"{name}.filter.class")
    default = f"{PACKAGE}Default{what}Filter"
    if given is not None and not is_class(str(given).strip(), default):
        return True
    patterns = (
        properties.get(f"{name}s"),
        _either(properties, f"{name}s.exclude", f"{name}s.blacklist"),
    )
    return any("${" in str(each) for each in patterns)


def copies_records(properties: Properties) -> bool:
    """Return whether it is a source connector of MirrorMaker 2."""
    return is_class(properties.get("connector.class"), SOURCE)


def accompanies(properties: Properties) -> bool:
    """Return whether it writes checkpoints or heartbeats of a mirror."""
    kind = properties.get("connector.class")
    return is_class(kind, CHECKPOINTS) or is_class(kind, HEARTBEATS)


def _enabled(properties: Properties, name: str) -> bool:
    return str(properties.get(name, "true")).lower() == "true"


def _either(properties: Properties, name: str, before: str) -> Any:
    """Return a setting, or what it was called before Kafka 2.7."""
    found = properties.get(name)
    return properties.get(before) if found is None else found


def _seconds(properties: Properties, name: str, default: int) -> timedelta:
    return to_interval(properties.get(name), default, 1000)


def _producer(properties: Properties, name: str) -> str | None:
    """Return a setting of the connector's producer.

    The second form is how a dedicated mirror passes its worker's settings on.
    """
    return first_of(
        properties,
        f"producer.override.{name}",
        f"target.producer.{name}",
    )


def _consumer(properties: Properties, name: str) -> str | None:
    """Return a setting of the consumer that copies.

    The source connector makes it by itself (``sourceConsumerConfig``), so
    Connect's ``consumer.override.`` does not concern it. Of the settings of
    ``source.cluster.`` it takes those of the connection only.
    """
    return first_of(properties, f"source.consumer.{name}", f"consumer.{name}")


def _flush(properties: Properties) -> timedelta | None:
    """Return how often positions are committed.

    It is a setting of the worker. A dedicated mirror hands those of the
    target's worker on to its connectors; a Connect cluster does not. As a
    setting of the connector it has no effect.
    """
    found = properties.get("target.cluster.offset.flush.interval.ms")
    if to_count(found, None, LARGEST) is None:
        return None
    return to_interval(found, 0, 1)


def _writes_in_transactions(properties: Properties) -> bool:
    """Return whether records are written in transactions.

    It is a setting of the worker, handed on as that of `_flush`. A connector
    may require it, and fails where the worker does not have it.
    """
    support = properties.get("target.cluster.exactly.once.source.support")
    return is_word(support, "enabled") or is_word(
        properties.get("exactly.once.support"), "required"
    )


HEARTBEATS_TOPIC = "heartbeats"
"""Name of the topic that heartbeats are written to, at any cluster."""


@dataclass(frozen=True, kw_only=True)
class MirrorMaker2:
    """MirrorMaker 2 of one flow.

    Raises
    ------
    ConfigError
        Raised by `internal_topics` if a name cannot be derived.
    """

    source_alias: str
    target_alias: str
    separator: str = "."
    dedicated: bool = True
    """The mirror runs in dedicated mode, and not on a Connect cluster."""

    connectors: tuple[str, ...] = ()
    syncs_location: Literal["source", "target"] = "source"
    carried_heartbeats: str | None = None
    """Name at the target of the source's heartbeats topic, where it is not
    prefixed as by MirrorMaker 2's own policies."""

    topics: Mapping[str, str | None]
    max_in_flight: int | None = None

    @classmethod
    def of(cls, settings: MirrorSettings) -> "MirrorMaker2":
        """Return the mirror that is configured so."""
        return cls(
            source_alias=settings.source_alias,
            target_alias=settings.target_alias,
            separator=settings.separator,
            dedicated=settings.dedicated,
            connectors=settings.connectors,
            syncs_location=settings.syncs_location,
            carried_heartbeats=settings.naming.remote(HEARTBEATS_TOPIC),
            topics=settings.topics,
            max_in_flight=settings.max_in_flight,
        )

    @property
    def group(self) -> None:
        """None: its positions are in Connect's offsets topic."""
        return None

    def internal_topics(self) -> tuple[InternalTopic, ...]:
        """Say where the mirror keeps what it knows."""
        alias = (
            self.target_alias
            if self.syncs_location == "source"
            else self.source_alias
        )
        syncs = self._own("syncs", "mm2-offset-syncs", alias, "internal")
        return (
            InternalTopic(kind="syncs", side=self.syncs_location, name=syncs),
            self._of_connect("offsets", "offset.storage.topic"),
            self._of_connect("configs", "config.storage.topic"),
            *self._optional_topics(),
        )

    def _optional_topics(self) -> tuple[InternalTopic, ...]:
        status = self.topics.get("status")
        if status is None and self.dedicated:
            status = f"mm2-status.{self.source_alias}.internal"
        own = self._own(
            "checkpoints", self.source_alias, "checkpoints", "internal"
        )
        carried = self.carried_heartbeats or self.separator.join(
            (self.source_alias, HEARTBEATS_TOPIC)
        )
        return (
            *((_optional("status", status),) if status is not None else ()),
            _optional("checkpoints", own),
            _optional("beats", HEARTBEATS_TOPIC, side="source"),
            _optional("heartbeats", HEARTBEATS_TOPIC),
            _optional("carried", carried),
        )

    def _own(self, kind: str, *parts: str) -> str:
        return self.topics.get(kind) or self.separator.join(parts)

    def _of_connect(self, kind: str, setting: str) -> InternalTopic:
        name = self.topics.get(kind)
        if name is None and not self.dedicated:
            raise ConfigError(
                f"mirror.topics.{kind} is missing: on a Connect cluster it is "
                f"the worker's {setting}, with Strimzi by default "
                f"mirrormaker2-cluster-{kind}"
            )
        name = name or f"mm2-{kind}.{self.source_alias}.internal"
        return InternalTopic(kind=kind, side="target", name=name)

    def decode(
        self,
        kind: str,
        key: bytes | None,
        value: bytes | None,
        written_at: datetime,
    ) -> MirrorFact | None:
        """Read one record of an internal topic.

        Returns
        -------
        MirrorFact or None
            `None` if the record is of no concern to this flow.

        Raises
        ------
        ValueError
            Raised if the record is not of the known layout.
        """
        try:
            match kind:
                case "syncs":
                    return to_sync(key, value, written_at)
                case "offsets":
                    return self._decode_offset(key, value, written_at)
                case "status":
                    return to_state(key, value, written_at)
                case "checkpoints":
                    return to_checkpoint(key, value, written_at)
                case "beats" | "heartbeats" | "carried":
                    return self._decode_beat(kind, key, value, written_at)
                case _:
                    return self._decode_config(key, value, written_at)
        except (
            *(struct.error, KeyError, TypeError, AttributeError),
            OverflowError,
        ) as e:
            raise ValueError(f"not a record of {kind}: {e!r}") from e

    def _decode_offset(
        self, key: bytes | None, value: bytes | None, written_at: datetime
    ) -> Committed | None:
        connector, partition = from_json(key or b"")
        if not isinstance(partition, dict):
            raise TypeError("a source partition is an object")
        if partition.get("cluster") != self.source_alias:
            # Values of other kinds of connectors are of other layouts.
            return None
        if self.connectors and connector not in self.connectors:
            return None
        return Committed(
            topic=to_text(partition["topic"]),
            partition=to_number(partition["partition"], LARGEST_INT),
            position=to_position(value),
            written_at=written_at,
            connector=to_text(connector),
        )

    def _decode_beat(
        self,
        kind: str,
        key: bytes | None,
        value: bytes | None,
        written_at: datetime,
    ) -> Heartbeat | None:
        place: Literal["source", "carried", "target"]
        place = "source" if kind == "beats" else "carried"
        found = to_heartbeat(key, value, written_at, place)
        if found is None or kind == "beats":
            return found
        # With an empty alias and separator, both kinds are in one topic.
        own = (found.source, found.target)
        if own == (self.source_alias, self.target_alias):
            return to_heartbeat(key, value, written_at, "target")
        return found if kind == "carried" else None

    def _decode_config(
        self, key: bytes | None, value: bytes | None, written_at: datetime
    ) -> MirrorFact | None:
        kind, _, name = (key or b"").decode().partition("-")
        if kind == "connector":
            if value is None:
                return Companion(name=name, role="removed")
            return self.to_fact(name, from_json(value)["properties"])
        if kind == "task" and value is not None:
            properties = from_json(value).get("properties")
            return self.to_assignment(name, properties or {}, written_at)
        if kind == "commit" and value is not None:
            return to_task_count(name, from_json(value))
        return None

    def to_fact(self, name: str, properties: Mapping[str, Any]) -> MirrorFact:
        """Return what the configuration of a connector says.

        Raises
        ------
        ValueError
            Raised if a setting is not of its kind.
        """
        fact = self._to_fact(name, properties)
        if BLACKLISTS.keys().isdisjoint(properties):
            return fact
        kept = {k: v for k, v in properties.items() if k not in BLACKLISTS}
        since: Any = self._to_fact(name, kept)  # of the kind of the fact
        return fact if since == fact else replace(fact, since_kafka_4=since)

    def _to_fact(
        self, name: str, properties: Mapping[str, Any]
    ) -> Connector | Companion:
        ours = self._is_ours(name, properties)
        if ours and copies_records(properties):
            return to_connector(name, properties, self.max_in_flight)
        return to_companion(name, properties, ours=ours)

    def to_assignment(
        self, name: str, properties: Mapping[str, Any], written_at: datetime
    ) -> Assignment | None:
        """Return what a task was given, if it copies records of this flow.

        Parameters
        ----------
        name
            Connector and number, with a dash between them.
        properties
            The task's configuration.
        written_at
            Time when it was written.
        """
        if not self._is_ours(name.rpartition("-")[0], properties):
            return None
        return to_assignment(name, properties, written_at)

    def _is_ours(self, name: str, properties: Mapping[str, Any]) -> bool:
        target = properties.get("target.cluster.alias", self.target_alias)
        return (
            properties.get("source.cluster.alias") == self.source_alias
            and target == self.target_alias
            and (not self.connectors or name in self.connectors)
        )


def _optional(
    kind: str, name: str, side: Literal["source", "target"] = "target"
) -> InternalTopic:
    return InternalTopic(kind=kind, side=side, name=name, optional=True)
