"""What kind of lab is wanted."""

from dataclasses import dataclass, field
from typing import Literal

from .jmx import JmxDoor
from .process import KAFKA_VERSIONS

__all__ = ["CANARY_TOPIC", "SOURCE", "TARGET", "LabSettings"]


SOURCE = "summit"
"""Alias of the source, ours and MirrorMaker 2's."""

TARGET = "ldf"
"""Alias of the target."""

CANARY_TOPIC = "mirrorwatch.canary"
"""Topic of the canary, unless a configuration says otherwise."""


@dataclass(frozen=True, kw_only=True)
class LabSettings:
    """What kind of lab is wanted; equal settings make equal labs."""

    kafka: str = KAFKA_VERSIONS[0]
    """Version of the brokers, and of MirrorMaker 2."""

    mirror_kafka: str = ""
    """Version of MirrorMaker 2, where it is not that of the brokers."""

    mirror: Literal["dedicated", "connect", "mirrormaker1", "mirus"] = (
        "dedicated"
    )
    """Whether MirrorMaker 2 runs on its own or on a Connect cluster, which it
    shares with another connector there; or MirrorMaker 1 or Mirus in its
    place."""

    aliases: tuple[str, str] = (SOURCE, TARGET)
    """The mirror's own aliases of source and target, on a Connect cluster."""

    separator: str = "."
    """The mirror's separator, on a Connect cluster."""

    naming: Literal["identity", "default"] = "identity"
    """Replication policy: whether topics keep their names at the target."""

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
    """More properties for the source broker."""

    target_properties: dict[str, str] = field(default_factory=dict)
    """More properties for the target broker."""

    auto_create: bool = False
    """Whether both brokers create topics that a client asks for."""

    broker_heap_mib: int = 256
    """Memory of each broker: enough for some hundred partitions."""

    mirror_heap_mib: int = 384
    """Memory of MirrorMaker 2: enough for two flows of some hundred
    partitions; ten thousand need a gigabyte."""

    start_mirror: bool = True
    """Whether MirrorMaker 2 is started with the brokers."""

    secured: bool = False
    """Whether the sites want TLS and SCRAM, and authorize."""

    target_links: bool = False
    """Whether mirror and agent reach the target by links, too."""

    registries: bool = False
    """Whether each site has a schema registry."""

    jmx: tuple[JmxDoor, ...] = ()
    """Ways to the mirror's figures, beside Jolokia."""
