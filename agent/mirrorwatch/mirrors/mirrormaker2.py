"""MirrorMaker 2: its internal topics and what their records say.

Layouts are those of the classes ``OffsetSync``, ``OffsetStorageWriter`` and
``KafkaConfigBackingStore``, unchanged from Kafka 2.4 to 4.3.
"""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from ..domain.positions import Committed, Connector, MirrorFact, Sync
from ..domain.selection import MM2_EXCLUDED, Selection, split_patterns
from ..exceptions import ConfigError
from ..ports import InternalTopic

__all__ = ["MirrorMaker2"]

SOURCE_CONNECTOR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"

DEFAULT_REFRESH = timedelta(minutes=10)
"""``refresh.topics.interval.seconds``."""

CONNECT_IN_FLIGHT = 1
"""Connect's own ``max.in.flight.requests.per.connection`` for the producers
of source tasks (``Worker.baseProducerConfigs``)."""


@dataclass(frozen=True, kw_only=True)
class MirrorMaker2:
    """One flow's MirrorMaker 2.

    Raises
    ------
    ConfigError
        Raised by `internal_topics` if a name cannot be derived.
    """

    source_alias: str
    """``source.cluster.alias``."""

    target_alias: str
    """``target.cluster.alias``."""

    separator: str = "."
    """``replication.policy.separator``."""

    dedicated: bool = True
    """Whether it runs on its own and not on a Connect cluster."""

    connectors: tuple[str, ...] = ()
    """Connectors of this flow; empty for all that read the source alias."""

    syncs_location: Literal["source", "target"] = "source"
    """``offset-syncs.topic.location``."""

    topics: Mapping[str, str | None]
    """Configured names of internal topics, by kind."""

    max_in_flight: int | None = None
    """Overrides what the connector's configuration says."""

    def internal_topics(self) -> tuple[InternalTopic, ...]:
        """Say where the mirror keeps positions and configuration."""
        alias = (
            self.target_alias
            if self.syncs_location == "source"
            else self.source_alias
        )
        parts = ("mm2-offset-syncs", alias, "internal")
        syncs = self.topics.get("syncs") or self.separator.join(parts)
        return (
            InternalTopic(kind="syncs", side=self.syncs_location, name=syncs),
            self._of_connect("offsets", "offset.storage.topic"),
            self._of_connect("configs", "config.storage.topic"),
        )

    def _of_connect(self, kind: str, setting: str) -> InternalTopic:
        name = self.topics.get(kind)
        if name is None and not self.dedicated:
            raise ConfigError(
                f"mirror.topics.{kind} is missing: on a Connect cluster it is "
                f"the worker's {setting}"
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
                    return _decode_sync(key, value, written_at)
                case "offsets":
                    return self._decode_offset(key, value, written_at)
                case _:
                    return self._decode_config(key, value)
        except (struct.error, KeyError, TypeError, AttributeError) as e:
            raise ValueError(f"not a record of {kind}: {e!r}") from e

    def _decode_offset(
        self, key: bytes | None, value: bytes | None, written_at: datetime
    ) -> Committed | None:
        connector, partition = json.loads(key or b"")
        if partition.get("cluster") != self.source_alias:
            return None
        if self.connectors and connector not in self.connectors:
            return None
        # The value is the last offset that was copied (MirrorUtils); a
        # tombstone means that somebody reset it.
        last = None if value is None else json.loads(value)
        return Committed(
            topic=partition["topic"],
            partition=partition["partition"],
            position=None if last is None else last["offset"] + 1,
            written_at=written_at,
        )

    def _decode_config(
        self, key: bytes | None, value: bytes | None
    ) -> Connector | None:
        name = (key or b"").decode()
        if not name.startswith("connector-") or value is None:
            return None
        properties: dict[str, Any] = json.loads(value)["properties"]
        name = name.removeprefix("connector-")
        alias = properties.get("source.cluster.alias")
        if (
            properties.get("connector.class") != SOURCE_CONNECTOR
            or alias != self.source_alias
            or (self.connectors and name not in self.connectors)
        ):
            return None
        exclude = properties.get("topics.exclude")
        refresh = properties.get("refresh.topics.interval.seconds")
        in_flight = _producer_setting(
            properties, "max.in.flight.requests.per.connection"
        )
        request = _producer_setting(properties, "max.request.size")
        return Connector(
            name=name,
            selection=Selection(
                include=split_patterns(properties.get("topics", ".*")),
                exclude=MM2_EXCLUDED
                if exclude is None
                else split_patterns(exclude),
            ),
            refresh=DEFAULT_REFRESH
            if refresh is None
            else timedelta(seconds=int(refresh)),
            max_in_flight=self.max_in_flight
            or int(in_flight or CONNECT_IN_FLIGHT),
            max_request_bytes=None if request is None else int(request),
        )


def _producer_setting(properties: Mapping[str, Any], name: str) -> str | None:
    """Return a setting of the connector's producer.

    The second form is how a dedicated mirror passes its worker's settings on.
    """
    found = properties.get(f"producer.override.{name}")
    return found or properties.get(f"target.producer.{name}")


def _decode_sync(
    key: bytes | None, value: bytes | None, written_at: datetime
) -> Sync | None:
    if key is None or value is None:
        return None
    (length,) = struct.unpack_from(">h", key)
    (partition,) = struct.unpack_from(">i", key, 2 + length)
    upstream, downstream = struct.unpack(">qq", value)
    return Sync(
        topic=key[2 : 2 + length].decode(),
        partition=partition,
        upstream=upstream,
        downstream=downstream,
        written_at=written_at,
    )
