"""Mirrors on Kafka Connect: records that Connect writes for them, as JSON.

Layouts are those of ``OffsetStorageWriter``, ``KafkaStatusBackingStore`` and
``KafkaConfigBackingStore``, unchanged from Kafka 2.4 to 4.3.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar, TypeVar

from pydantic_core import from_json

from ..domain.mirror_records import (
    Assignment,
    Committed,
    Companion,
    Connector,
    MirrorFact,
    TaskCount,
    TaskState,
)
from ..domain.offsets import LARGEST, LARGEST_INT, to_number
from ..exceptions import ConfigError
from ..ports import InternalTopic, MirrorSettings

__all__ = [
    "ConnectMirror",
    "Properties",
    "compresses",
    "first_of",
    "has_transforms",
    "is_class",
    "is_word",
    "to_count",
    "to_in_flight",
    "to_interval",
    "to_state",
    "to_task_count",
    "to_text",
]

Properties = Mapping[str, Any]

T = TypeVar("T")


def to_state(
    key: bytes | None, value: bytes | None, written_at: datetime
) -> TaskState | None:
    """Read the state of a connector or a task; `None` if it is neither."""
    name = (key or b"").decode()
    if name.startswith("status-connector-"):
        connector, task = name.removeprefix("status-connector-"), None
    elif found := re.fullmatch(r"status-task-(.+)-(\d+)", name, re.DOTALL):
        connector, task = found[1], to_number(found[2], LARGEST_INT)
    else:
        # Topics that connectors use, and what later versions may add.
        return None
    said = from_json(value) if value else {}
    return TaskState(
        connector=connector,
        task=task,
        state=to_text(said["state"]) if value else None,
        worker=to_text(said.get("worker_id") or ""),
        trace=to_text(said.get("trace") or ""),
        generation=to_number(said.get("generation") or 0, LARGEST_INT),
        written_at=written_at,
    )


def to_task_count(connector: str, value: Mapping[str, Any]) -> TaskCount:
    """Read how many tasks a connector was given."""
    return TaskCount(
        connector=connector, tasks=to_number(value["tasks"], LARGEST_INT)
    )


def to_text(value: Any) -> str:
    """Return what must be a text.

    Raises
    ------
    TypeError
        Raised if it is none.
    """
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} where a text belongs")
    return value


UNCOMMITTED = "read_uncommitted"
"""``isolation.level`` of Kafka's own consumers, where it is not said."""

LEVELS = {UNCOMMITTED: False, "read_committed": True}
"""Read-committed flag by ``isolation.level``. The value of ``${vault:...}`` is
known to the worker only."""

IN_FLIGHT = 1
"""Connect's own ``max.in.flight.requests.per.connection`` for the producers
of source tasks (``Worker.baseProducerConfigs``)."""

MANY_IN_FLIGHT = LARGEST_INT
"""In-flight limit assumed for a value that cannot be read: then order proves
nothing."""

LONGEST = timedelta(days=36500)
"""Longest interval: as good as never, and short enough to be multiplied and
added to a time."""


def to_interval(given: Any, default: int, milliseconds: int) -> timedelta:
    """Return a setting that is an interval of so many units."""
    unit = timedelta(milliseconds=milliseconds)
    return min(to_count(given, default, LARGEST), LONGEST // unit) * unit


def to_count(given: Any, default: T, most: int = LARGEST_INT) -> int | T:
    """Return a setting that is a number; the default where it is not set, or
    none that can be read: a placeholder stands for what the worker knows.
    """
    try:
        found = int(given)
    except (TypeError, ValueError, OverflowError):
        return default
    return found if 0 <= found <= most else default


def to_in_flight(given: str | None) -> int:
    """Return how many requests a producer has in flight."""
    return IN_FLIGHT if given is None else to_count(given, MANY_IN_FLIGHT)


def compresses(compression: str | None) -> bool:
    """Return whether a producer of this ``compression.type`` may compress."""
    return compression is not None and not is_word(compression, "none")


def first_of(properties: Properties, *names: str) -> str | None:
    """Return the first of some settings that is there, as a text."""
    found = (properties.get(name) for name in names)
    return next((str(value) for value in found if value is not None), None)


def has_transforms(properties: Properties) -> bool:
    """Return whether records, or names of topics, may be changed."""
    return bool(str(properties.get("transforms") or "").strip())


def is_class(given: Any, wanted: str) -> bool:
    """Return whether a connector is of a class: Connect takes its short name,
    too, also without ``Connector`` (``PluginUtils``).
    """
    short = wanted.rpartition(".")[2]
    return given in (wanted, short, short.removesuffix("Connector"))


def is_word(given: Any, wanted: str) -> bool:
    """Return whether a setting is a word, in whatever case."""
    return str(given).lower() == wanted


@dataclass(frozen=True)
class ConnectMirror(ABC):
    """Mirror of one flow whose positions are records of Connect's offsets
    topic, and which writes nothing else about them.

    Notes
    -----
    Its positions name no cluster: only the connector tells what they belong
    to.
    """

    source_class: ClassVar[str]
    isolation_key: ClassVar[str]
    settings: MirrorSettings

    @property
    def group(self) -> str | None:
        """Consumer group at the source whose offsets are its positions."""
        return None

    @property
    def source_alias(self) -> str:
        """The mirror's alias of the source."""
        return self.settings.source_alias

    def internal_topics(self) -> tuple[InternalTopic, ...]:
        """Say where the worker keeps what it knows.

        Raises
        ------
        ConfigError
            Raised if a name is missing.
        """
        kinds = ("configs",) if self.group else ("offsets", "configs")
        needed = tuple(
            InternalTopic(kind=kind, side="target", name=self._name(kind))
            for kind in kinds
        )
        status = self.settings.topics.get("status")
        if status is None:
            return needed
        return (
            *needed,
            InternalTopic(
                kind="status", side="target", name=status, optional=True
            ),
        )

    def _name(self, kind: str) -> str:
        found = self.settings.topics.get(kind)
        if found is None:
            setting = kind.removesuffix("s")
            raise ConfigError(
                f"mirror.topics.{kind} is missing: it is the worker's "
                f"{setting}.storage.topic"
            )
        return found

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
                case "offsets":
                    return self._decode_offset(key, value, written_at)
                case "status":
                    return to_state(key, value, written_at)
                case _:
                    return self._decode_config(key, value, written_at)
        except (KeyError, TypeError, AttributeError, OverflowError) as e:
            raise ValueError(f"not a record of {kind}: {e!r}") from e

    def to_fact(self, name: str, properties: Properties) -> MirrorFact:
        """Return what the configuration of a connector says.

        Raises
        ------
        ValueError
            Raised if a setting is not of its kind.
        """
        given = properties.get("connector.class")
        if not self._is_ours(name) or not is_class(given, self.source_class):
            return Companion(name=name, role="neighbour")
        in_flight = first_of(
            properties,
            "producer.override.max.in.flight.requests.per.connection",
        )
        request = first_of(properties, "producer.override.max.request.size")
        compression = first_of(
            properties, "producer.override.compression.type"
        )
        isolation = properties.get(self.isolation_key) or UNCOMMITTED
        return replace(
            self.to_connector(name, properties),
            max_in_flight=self.settings.max_in_flight
            or to_in_flight(in_flight),
            max_request_bytes=to_count(request, None),
            compresses=compresses(compression),
            read_committed=LEVELS.get(str(isolation).lower()),
            tolerates_errors=is_word(
                properties.get("errors.tolerance"), "all"
            ),
            transforms=has_transforms(properties),
            emits_syncs=False,
        )

    def to_assignment(
        self, name: str, properties: Properties, written_at: datetime
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
        connector, _, task = name.rpartition("-")
        if not self._is_ours(connector):
            return None
        partitions = self.to_partitions(properties)
        if partitions is None:
            return None
        return Assignment(
            connector=connector,
            task=to_number(task, LARGEST_INT),
            partitions=partitions,
            written_at=written_at,
        )

    @abstractmethod
    def to_connector(self, name: str, properties: Properties) -> Connector:
        """Return how one of its connectors is configured, but for what all
        connectors of a worker have.
        """

    @abstractmethod
    def to_position(self, value: Mapping[str, Any]) -> int | None:
        """Return the next offset to copy that a record of the offsets topic
        says; `None` if it was reset.
        """

    @abstractmethod
    def to_partitions(
        self, properties: Properties
    ) -> frozenset[tuple[str, int]] | None:
        """Return the partitions that a task was given; `None` if it does not
        say.
        """

    def _decode_offset(
        self, key: bytes | None, value: bytes | None, written_at: datetime
    ) -> Committed | None:
        connector, partition = from_json(key or b"")
        if not isinstance(partition, dict):
            raise TypeError("a source partition is an object")
        if not self._is_ours(to_text(connector)):
            return None
        return Committed(
            topic=to_text(partition["topic"]),
            partition=to_number(partition["partition"], LARGEST_INT),
            position=None
            if value is None
            else self.to_position(from_json(value)),
            written_at=written_at,
            connector=connector,
        )

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
        # Among others `session-key`, whose value is a secret.
        return None

    def _is_ours(self, connector: str) -> bool:
        return connector in self.settings.connectors
