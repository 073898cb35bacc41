"""Mirus: Salesforce's mirror, on a Kafka Connect of its own.

Names and defaults are those of its ``SourceConfigDefinition`` and
``TaskConfigDefinition``, in 0.6.9 as in 0.6.18.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from ..domain.mirror_records import Connector
from ..domain.offsets import LARGEST, LARGEST_INT, to_number
from ..domain.topics import TOPIC_PLACEHOLDER, Selection, split_patterns
from .connect import (
    IN_FLIGHT,
    ConnectMirror,
    Properties,
    has_transforms,
    is_word,
    to_interval,
    to_text,
)

__all__ = ["Mirus"]


MONITOR_POLL = 60_000
"""Milliseconds of ``monitor.poll.wait.ms``."""

LATEST = "latest"
"""``auto.offset.reset`` of Kafka's consumers, where it is not said."""


@dataclass(frozen=True)
class Mirus(ConnectMirror):
    """Mirus of one flow."""

    source_class = "com.salesforce.mirus.MirusSourceConnector"
    isolation_key = "consumer.isolation.level"

    def to_connector(self, name: str, properties: Properties) -> Connector:
        reset = properties.get("consumer.auto.offset.reset")
        return Connector(
            name=name,
            selection=_to_selection(properties),
            refresh=to_interval(
                properties.get("monitor.poll.wait.ms"), MONITOR_POLL, 1
            ),
            max_in_flight=IN_FLIGHT,
            # A partition without a position is read from its start, unless
            # that is set; an expired one is left to the consumer.
            starts_at_end=is_word(reset, LATEST),
            resumes_at_end=is_word(reset or LATEST, LATEST),
            keeps_partitions=is_word(
                properties.get("enable.partition.matching"), "true"
            ),
            renames=_to_format(properties),
        )

    def to_position(self, value: Mapping[str, Any]) -> int | None:
        # The next offset, and not the last one as MirrorMaker 2's: see
        # ``MirusSourceTask.toSourceRecord``. Its offset tool writes null.
        found = value["offset"]
        return None if found is None else to_number(found, LARGEST)

    def to_partitions(
        self, properties: Properties
    ) -> frozenset[tuple[str, int]] | None:
        # A JSON text within the JSON.
        given = properties.get("partitions")
        if given is None:
            return None
        return frozenset(
            (
                to_text(each["topic"]),
                to_number(each["partition"], LARGEST_INT),
            )
            for each in from_json(given)
        )


def _to_selection(properties: Properties) -> Selection:
    named = split_patterns(properties.get("topics.whitelist") or "")
    regex = properties.get("topics.regex")
    return Selection(
        include=(
            *(name.replace(".", "[.]") for name in named),
            *((str(regex),) if regex else ()),
            *split_patterns(properties.get("topics.regex.list") or ""),
        )
    )


def _to_format(properties: Properties) -> str | None:
    """Return how it renames topics; `None` where a transform may do so."""
    if has_transforms(properties):
        return None
    prefix = properties.get("destination.topic.name.prefix") or ""
    suffix = properties.get("destination.topic.name.suffix") or ""
    return f"{prefix}{TOPIC_PLACEHOLDER}{suffix}"
