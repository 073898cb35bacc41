"""Confluent Replicator: a connector on any Kafka Connect.

By its documentation and by records that users show; its artifacts are not
public. Unlike MirrorMaker 2's, its positions name no cluster.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..domain.mirror_records import Connector
from ..domain.offsets import to_record_offset
from ..domain.topics import TOPIC_PLACEHOLDER, Selection, split_patterns
from .connect import (
    IN_FLIGHT,
    ConnectMirror,
    Properties,
    has_transforms,
    is_word,
    to_interval,
)

__all__ = ["Replicator"]


TOPIC_POLL = 120_000
"""Milliseconds of ``topic.poll.interval.ms``."""


@dataclass(frozen=True)
class Replicator(ConnectMirror):
    """Replicator of one flow.

    Notes
    -----
    It keeps its positions twice, and obeys one of them after a restart
    (``offset.start``): Connect's offsets, or the offsets of a consumer group
    at the source (``src.consumer.group.id``). The configured group says which
    of them is read.
    """

    source_class = "io.confluent.connect.replicator.ReplicatorSourceConnector"
    isolation_key = "src.consumer.isolation.level"

    @property
    def group(self) -> str | None:
        return self.settings.group

    def to_connector(self, name: str, properties: Properties) -> Connector:
        obeys_group = is_word(properties.get("offset.start"), "consumer")
        return Connector(
            name=name,
            selection=_to_selection(properties),
            refresh=to_interval(
                properties.get("topic.poll.interval.ms"), TOPIC_POLL, 1
            ),
            max_in_flight=IN_FLIGHT,
            keeps_partitions=not is_word(
                properties.get("topic.preserve.partitions"), "false"
            ),
            # Transforms may rename topics, too.
            renames=None
            if has_transforms(properties)
            else str(
                properties.get("topic.rename.format") or TOPIC_PLACEHOLDER
            ),
            obeys_group=(
                str(properties.get("src.consumer.group.id") or name)
                if obeys_group
                else None
            ),
        )

    def to_position(self, value: Mapping[str, Any]) -> int | None:
        # The last offset that was copied, as MirrorMaker 2's.
        return to_record_offset(value["offset"]) + 1

    def to_partitions(
        self, properties: Properties
    ) -> frozenset[tuple[str, int]] | None:
        # Binary, in base64 (``partition.assignment``), and not documented.
        del properties
        return None


def _to_selection(properties: Properties) -> Selection:
    named = split_patterns(properties.get("topic.whitelist") or "")
    regex = properties.get("topic.regex")
    excluded = split_patterns(properties.get("topic.blacklist") or "")
    return Selection(
        include=(
            *(name.replace(".", "[.]") for name in named),
            *((str(regex),) if regex else ()),
        ),
        exclude=tuple(name.replace(".", "[.]") for name in excluded),
    )
