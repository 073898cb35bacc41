"""A first configuration, made from that of a mirror: before it is YAML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ..config.base import YamlPath

__all__ = [
    "CANARY",
    "Draft",
    "FoundCluster",
    "FoundMirror",
    "Place",
    "SecretFile",
    "SecretKey",
    "Setting",
    "Settings",
    "SourceFilter",
    "Unknown",
]

CANARY = "mirrorwatch.canary"
"""The canary topic, by the configuration's own default."""


class Place(NamedTuple):
    """Position in an input file: line and key."""

    file: str
    line: int
    """Line, counted from 1; 0 where there are none."""

    key: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.key}"


@dataclass(frozen=True, slots=True)
class Setting:
    """Setting of a mirror, with its place."""

    value: str
    place: Place


Settings = Mapping[str, Setting]
"""Settings of a connector by the names of `MirrorSourceConnector`, those of
its clusters behind ``source.cluster.`` and ``target.cluster.``."""


class SecretKey(NamedTuple):
    """A key of a Kubernetes Secret."""

    namespace: str | None
    secret: str
    key: str

    def __str__(self) -> str:
        place = f"-n {self.namespace} " if self.namespace else ""
        escaped = self.key.replace(".", "\\.")
        return (
            f"kubectl {place}get secret {self.secret} "
            f"-o jsonpath='{{.data.{escaped}}}' | base64 -d"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class SecretFile:
    """A file that has to exist before the agent starts."""

    name: str
    purpose: str
    keys: tuple[SecretKey, ...] = ()
    """Secrets whose contents it holds, joined."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundCluster:
    """Facts about a cluster beyond the mirror's settings for it."""

    cluster_id: str | None = None
    kafka: str | None = None
    """Name of its `Kafka` resource, if that was read."""

    namespace: str | None = None
    """Namespace of its `Kafka` resource."""

    user: str | None = None
    """Name of the agent's `KafkaUser` there, if not that of all clusters."""

    has_user: bool = False
    """The agent's `KafkaUser` exists there."""

    secrets: Mapping[str, tuple[SecretKey, ...]] = field(default_factory=dict)
    """Existing Secrets by kind of file: ``password``, ``ca.crt``,
    ``user.crt``, ``user.key``."""

    remark: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceFilter:
    """Topic filter of a mirror, to be changed for the canary."""

    place: Place
    kind: Literal["strimzi", "property", "connector"]
    key: str
    """The last part of its key."""

    patch: tuple[str, ...] = ()
    resource: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundMirror:
    """Mirror found in an input file: one flow."""

    place: Place
    settings: Settings
    dedicated: bool
    filter: SourceFilter
    """Topic filter of the source connector."""

    name: str = ""
    companions: Sequence[str] = ()
    version: tuple[int, ...] | None = None
    """Version of Kafka that it runs with, if that is written."""

    topics: Settings = field(default_factory=dict)
    """Names of internal topics, as far as they are known, by kind: offsets,
    configs, status."""

    namespace: str | None = None
    """Namespace of its resource."""

    connect: str | None = None
    """Address of the REST API, where the agent may ask it."""

    login: str | None = None
    """User of the REST API, if it wants one."""

    ca: str | None = None
    hints: Sequence[str] = ()
    source: FoundCluster = FoundCluster()
    target: FoundCluster = FoundCluster()


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that nobody can know from what was read."""

    path: YamlPath
    text: str
    """Description of the unknown value, and what to do."""


@dataclass(kw_only=True, slots=True)
class Draft:
    """A configuration that is being made."""

    data: dict[str, Any] = field(
        default_factory=lambda: {"clusters": {}, "flows": []}
    )
    comments: dict[YamlPath, list[str]] = field(default_factory=dict)
    """Comments above a key."""

    hints: dict[YamlPath, list[str]] = field(default_factory=dict)
    """Lines of YAML below a block, as comments."""

    unknown: list[Unknown] = field(default_factory=list)
    """Values that the input does not give."""

    places: dict[YamlPath, Place] = field(default_factory=dict)
    """Places in the input from which the values of keys were read."""

    secrets: dict[str, SecretFile] = field(default_factory=dict)
    filters: list[str] = field(default_factory=list)
    """Changes of the mirror's filter for the canary."""

    clusters: dict[str, FoundCluster] = field(default_factory=dict)
    """Facts about clusters by the agent's alias."""

    namespace: str | None = None
    """Kubernetes namespace of the mirror."""

    def comment(self, path: YamlPath, *lines: str) -> None:
        """Put lines above a key."""
        self.comments.setdefault(path, []).extend(lines)

    def ask(self, path: YamlPath, text: str) -> None:
        """Say what is not known about a key."""
        self.unknown.append(Unknown(path, text))
        self.comment(path, f"Not known: {text}")
