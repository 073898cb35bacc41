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
    "Setting",
    "Settings",
    "SourceFilter",
    "Unknown",
]

CANARY = "mirrorwatch.canary"
"""The canary topic, by the configuration's own default."""


class Place(NamedTuple):
    """Where something stands in what was read."""

    file: str
    line: int
    """Line, counted from 1; 0 where there are none."""

    key: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.key}"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a mirror."""

    value: str
    place: Place
    """Where it was read."""


Settings = Mapping[str, Setting]
"""Settings of a connector by the names of `MirrorSourceConnector`, those of
its clusters behind ``source.cluster.`` and ``target.cluster.``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SecretFile:
    """A file that somebody has to put there before the agent starts."""

    name: str
    purpose: str
    command: str = ""
    """What writes it to stdout, if that is known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundCluster:
    """What is known of a cluster beyond the mirror's settings for it."""

    cluster_id: str | None = None
    """Its id, if that is written somewhere."""

    secret_commands: Mapping[str, str] = field(default_factory=dict)
    authentication: str | None = None
    remark: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceFilter:
    """Where a mirror's filter is changed for the canary."""

    place: Place
    """Where it stands today."""

    kind: Literal["strimzi", "property", "connector"]
    key: str
    """The last part of its key."""

    patch: tuple[str, ...] = ()
    resource: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundMirror:
    """One flow of a mirror."""

    place: Place
    """Where it was read."""

    settings: Settings
    dedicated: bool
    filter: SourceFilter
    """Where its topics are chosen."""

    name: str = ""
    companions: Sequence[str] = ()
    version: tuple[int, ...] | None = None
    """Version of Kafka that it runs with, if that is written."""

    topics: Settings = field(default_factory=dict)
    """Names of internal topics, as far as they are known, by kind: offsets,
    configs, status."""

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
    """What is not known, and what to do."""


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
    """What could not be known."""

    places: dict[YamlPath, Place] = field(default_factory=dict)
    """Where what a key holds was read."""

    secrets: dict[str, SecretFile] = field(default_factory=dict)
    variables: list[str] = field(default_factory=list)
    filters: list[str] = field(default_factory=list)

    @property
    def carries_canary(self) -> bool:
        """Whether each mirror certainly carries its canary topic unchanged.

        Notes
        -----
        It is not certain of a filter that excludes the topic, of a filter
        class of its own, or of transforms.
        """
        about = {("topics",), ("topics", "exclude")}
        return not self.filters and not any(
            gap.path[2:] in about for gap in self.unknown
        )

    def comment(self, path: YamlPath, *lines: str) -> None:
        """Put lines above a key."""
        self.comments.setdefault(path, []).extend(lines)

    def ask(self, path: YamlPath, text: str) -> None:
        """Say what is not known about a key."""
        self.unknown.append(Unknown(path, text))
        self.comment(path, f"Not known: {text}")
