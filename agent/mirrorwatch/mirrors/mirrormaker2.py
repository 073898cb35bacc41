"""MirrorMaker 2: its internal topics and what their records say."""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from ..domain.positions import (
    Assignment,
    Committed,
    Companion,
    Heartbeat,
    MirrorFact,
)
from ..exceptions import ConfigError
from ..ports import InternalTopic
from .mirrormaker2_binary import to_checkpoint, to_heartbeat, to_sync
from .mirrormaker2_connect import (
    to_assignment,
    to_offset,
    to_state,
    to_task_count,
)
from .mirrormaker2_connector import copies_records, to_companion, to_connector

__all__ = ["MirrorMaker2"]

HEARTBEATS = "heartbeats"
"""Name of the topic that heartbeats are written to, at any cluster."""


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

    carried_heartbeats: str | None = None
    """Name at the target of the source's heartbeats topic, where it is not
    prefixed as by MirrorMaker 2's own policies."""

    topics: Mapping[str, str | None]
    """Configured names of internal topics, by kind."""

    max_in_flight: int | None = None
    """Overrides what the connector's configuration says."""

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
            (self.source_alias, HEARTBEATS)
        )
        return (
            *((_optional("status", status),) if status is not None else ()),
            _optional("checkpoints", own),
            _optional("beats", HEARTBEATS, side="source"),
            _optional("heartbeats", HEARTBEATS),
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
        except (struct.error, KeyError, TypeError, AttributeError) as e:
            raise ValueError(f"not a record of {kind}: {e!r}") from e

    def _decode_offset(
        self, key: bytes | None, value: bytes | None, written_at: datetime
    ) -> Committed | None:
        connector, partition, position = to_offset(key, value)
        if partition.get("cluster") != self.source_alias:
            return None
        if self.connectors and connector not in self.connectors:
            return None
        return Committed(
            topic=partition["topic"],
            partition=partition["partition"],
            position=position,
            written_at=written_at,
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
            return self.to_fact(name, json.loads(value)["properties"])
        if kind == "task" and value is not None:
            properties = json.loads(value).get("properties")
            return self.to_assignment(name, properties or {}, written_at)
        if kind == "commit" and value is not None:
            return to_task_count(name, json.loads(value))
        return None

    def to_fact(self, name: str, properties: Mapping[str, Any]) -> MirrorFact:
        """Return what the configuration of a connector says.

        Raises
        ------
        ValueError
            Raised if a setting is not of its kind.
        """
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
            When it was written.
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
