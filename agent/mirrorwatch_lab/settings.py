"""Settings of a lab."""

from dataclasses import dataclass, field
from typing import Literal

from .jmx import JmxDoor
from .process import KAFKA_VERSIONS

__all__ = ["CANARY_TOPIC", "SOURCE", "TARGET", "LabSettings"]


SOURCE = "summit"
"""Alias of the source, ours and MirrorMaker 2's."""

TARGET = "ldf"

CANARY_TOPIC = "mirrorwatch.canary"
"""Topic of the canary, unless a configuration says otherwise."""


@dataclass(frozen=True, kw_only=True)
class LabSettings:
    """Settings of a lab; equal settings make equal labs."""

    kafka: str = KAFKA_VERSIONS[0]
    """Version of the brokers, and of MirrorMaker 2."""

    mirror_kafka: str = ""
    """Version of MirrorMaker 2, where it is not that of the brokers."""

    mirror: Literal["dedicated", "connect", "mirrormaker1", "mirus"] = (
        "dedicated"
    )
    """Kind of mirror: MirrorMaker 2 on its own or on a Connect cluster, which
    it shares with another connector there; or MirrorMaker 1 or Mirus in its
    place."""

    aliases: tuple[str, str] = (SOURCE, TARGET)
    separator: str = "."
    naming: Literal["identity", "default"] = "identity"
    intervals: Literal["default", "fast"] = "default"
    """MirrorMaker 2's own intervals, or a second for each, for tests that
    do not ask how long things take."""

    topics: dict[str, int] = field(default_factory=lambda: {CANARY_TOPIC: 6})
    """Topics made at the source before the mirror starts, and their number
    of partitions."""

    topic_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    """Configuration of these topics, where it is not the broker's."""

    mirror_properties: dict[str, str] = field(default_factory=dict)
    """More properties for MirrorMaker 2, over those of the lab."""

    source_properties: dict[str, str] = field(default_factory=dict)
    target_properties: dict[str, str] = field(default_factory=dict)
    auto_create: bool = False
    broker_heap_mib: int = 256
    mirror_heap_mib: int = 384
    """Memory of MirrorMaker 2: enough for two flows of some hundred
    partitions; ten thousand need a gigabyte."""

    start_mirror: bool = True
    """Start MirrorMaker 2 with the brokers."""

    secured: bool = False
    target_links: bool = False
    registries: bool = False
    jmx: tuple[JmxDoor, ...] = ()
