"""Wiring: parts that all flows share, parts of one flow, and the result."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from structlog.typing import FilteringBoundLogger

from ..clock import Clock
from ..config import Config, FlowConfig, HttpServer, SchemaRegistryConfig
from ..domain.acls import (
    Right,
    connect_rights,
    group_rights,
    internal_rights,
    minimal_rights,
    topic_rights,
)
from ..domain.samples import Sampler, samples
from ..domain.topics import ReplicatedTopics, compile_pattern
from ..exceptions import ConfigError
from ..http import HttpAddress
from ..kafka.admin import Cluster
from ..kafka.zookeeper import OffsetNodes, ZooKeeperAccess
from ..mirrors import MIRRORS
from ..ports import (
    Guard,
    Mirror,
    MirrorJmx,
    MirrorSettings,
    Source,
    Worker,
    unguarded,
)
from ..sources.canary.settings import Headers, no_headers
from ..sources.flow_facts import FlowFacts
from ..sources.groups import GroupListener
from ..sources.mirror_state import MirrorState
from ..sources.parity import FlowConfigs
from ..sources.readers import ReadersSource
from ..sources.survey import ViewListener
from ..state import Database
from ..state.history import History
from ..threads import Latest

__all__ = [
    "LONGEST_LOOK",
    "FlowParts",
    "WiredParts",
    "WiringContext",
    "find_rights",
    "rights_of",
    "to_address",
    "to_mirror",
    "to_mirror_jmx",
    "to_offset_nodes",
]

LONGEST_LOOK = timedelta(seconds=30)
"""Longest time between two looks, however seldom reports are published: checks
do not believe what is older than a minute, and a look may take some time."""


@dataclass(frozen=True, kw_only=True)
class WiringContext:
    """Shared parts of all flows of an agent."""

    clusters: Mapping[str, Cluster]
    properties: Mapping[str, Mapping[str, str]]
    database: Database
    history: History
    interval: timedelta
    clock: Clock
    logger: FilteringBoundLogger
    registries: Mapping[str, SchemaRegistryConfig] = field(
        default_factory=dict
    )
    cluster_ids: Mapping[str, str] = field(default_factory=dict)
    """Ids that clusters must have, by alias, where that is configured."""

    headers: Headers = no_headers
    sampler: Sampler = samples
    guard: Guard = unguarded


@dataclass(frozen=True, kw_only=True)
class FlowParts:
    """Parts of one flow that all its checks share."""

    config: FlowConfig
    mirror: Mirror
    positions: MirrorState
    configs: Latest[FlowConfigs] = field(
        default_factory=lambda: Latest(FlowConfigs())
    )
    facts: FlowFacts = field(default_factory=FlowFacts)
    listeners: list[ViewListener] = field(default_factory=list)
    group_listeners: list[GroupListener] = field(default_factory=list)
    target_group_listeners: list[ReadersSource] = field(default_factory=list)

    @property
    def chosen(self) -> bool:
        """The flow's topics are configured; if not, it carries the topics that
        its mirror selects.
        """
        return "include" in self.config.topics.model_fields_set

    @property
    def carriage(self) -> ReplicatedTopics:
        """Which topics the flow carries."""
        return ReplicatedTopics(
            selection=self.config.selection,
            naming=self.config.topic_naming,
            target_alias=self.config.mirror.target_alias,
        )


@dataclass(frozen=True, kw_only=True)
class WiredParts:
    """Workers and sources that were wired for one check."""

    workers: tuple[Worker, ...] = ()
    sources: tuple[Source, ...] = ()

    @classmethod
    def of(cls, parts: Iterable["WiredParts"]) -> "WiredParts":
        """Return several as one, in their order."""
        parts = list(parts)
        return cls(
            workers=tuple(w for part in parts for w in part.workers),
            sources=tuple(s for part in parts for s in part.sources),
        )


def to_address(config: HttpServer) -> HttpAddress:
    """Return where a configured server is, with its secret in the clear."""
    secret = config.password
    return HttpAddress(
        url=config.url,
        username=config.username,
        password=None if secret is None else secret.get_secret_value(),
        ca=config.ca,
    )


def to_mirror(flow: FlowConfig) -> Mirror:
    """Return what reads the internal topics of a flow's mirror."""
    return MIRRORS[flow.mirror.kind].topics(_to_settings(flow))


def to_offset_nodes(flow: FlowConfig) -> OffsetNodes:
    """Return what reads a mirror's positions in ZooKeeper.

    Raises
    ------
    ConfigError
        Raised if its client is not installed.
    """
    mirror, given = flow.mirror, flow.mirror.zookeeper
    assert given is not None  # noqa: S101 - the kind needs it
    password = given.password
    return OffsetNodes(
        flow.source,
        ZooKeeperAccess(
            servers=given.servers,
            user=given.user,
            password=None if password is None else password.get_secret_value(),
            ca=None if given.ca is None else str(given.ca),
        ),
        mirror.group or UREPLICATOR,
    )


UREPLICATOR = "ureplicator"


def to_mirror_jmx(flow: FlowConfig) -> MirrorJmx:
    """Return what reads the JMX metrics of a flow's mirror.

    Raises
    ------
    ConfigError
        Raised if its kind has none that are read.
    """
    make = MIRRORS[flow.mirror.kind].jmx
    if make is None:
        raise ConfigError(
            f"mirror.jmx: metrics of a mirror of kind {flow.mirror.kind} are "
            "not supported"
        )
    return make(_to_settings(flow))


def _to_settings(flow: FlowConfig) -> MirrorSettings:
    mirror = flow.mirror
    return MirrorSettings(
        source_alias=mirror.source_alias,
        target_alias=mirror.target_alias,
        naming=flow.topic_naming,
        selection=flow.selection,
        separator=mirror.separator,
        dedicated=mirror.mode == "dedicated",
        connectors=mirror.connectors,
        syncs_location=mirror.syncs_location,
        topics=mirror.topics.model_dump(),
        max_in_flight=mirror.max_in_flight,
        group=mirror.group,
        classes={
            name: compile_pattern(pattern)
            for name, pattern in flow.classes.items()
        },
    )


def _internal_rights(mirror: Mirror) -> tuple[Right, ...]:
    topics = {t.kind: t for t in mirror.internal_topics()}
    if mirror.group is not None and not topics:
        return group_rights(mirror.group)
    if "syncs" not in topics:
        names = {kind: topic.name for kind, topic in topics.items()}
        return connect_rights(names, mirror.group)
    status = topics.get("status")
    return internal_rights(
        syncs=topics["syncs"].name,
        offsets=topics["offsets"].name,
        configs=topics["configs"].name,
        status=None if status is None else status.name,
        checkpoints=topics["checkpoints"].name,
        carried_heartbeats=topics["carried"].name,
        syncs_side=topics["syncs"].side,
    )


def rights_of(
    flow: FlowConfig, *, audit: bool = False, schemas: bool = False
) -> list[Right]:
    """Return what the agent must be allowed to do for one flow.

    Parameters
    ----------
    flow
        The flow.
    audit
        Records are read and compared by an audit.
    schemas
        The schemas of its records are compared.
    """
    canary = flow.canary
    traits = flow.mirror.traits
    return [
        *minimal_rights(
            canary=canary.topic if canary.enabled else None,
            remote_canary=flow.topic_naming.remote(canary.topic),
            internal=_internal_rights(to_mirror(flow)),
            create=canary.create,
            create_remote=not traits.creates_topics,
            sized=canary.sized is not None,
        ),
        *carried_rights(flow, audit=audit, schemas=schemas),
    ]


def find_rights(config: Config) -> dict[str, list[Right]]:
    """Return the rights that a configuration needs, by cluster."""
    found: dict[str, dict[tuple[object, ...], Right]] = {
        alias: {} for alias in config.clusters
    }
    for flow in config.flows:
        for right in rights_of(
            flow,
            audit=config.audit is not None,
            schemas=config.compares_schemas(flow),
        ):
            alias = flow.source if right.side == "source" else flow.target
            key = (right.kind, right.topic, right.prefixed, right.operation)
            found[alias].setdefault(key, right)
    return {alias: list(rights.values()) for alias, rights in found.items()}


def carried_rights(
    flow: FlowConfig, *, audit: bool, schemas: bool
) -> Iterator[Right]:
    """Yield what the agent must be allowed to do with what a flow carries,
    and with the consumer groups on both sides.

    Parameters
    ----------
    flow
        The flow.
    audit
        Records are read and compared by an audit.
    schemas
        The schemas of its records are compared.
    """
    return topic_rights(
        flow.topics.include,
        flow.topic_naming.remote,
        configs=flow.limits.configs.enabled,
        audit=audit,
        schemas=schemas,
        readers=(
            *flow.readers.groups,
            *(g.replace(".", "[.]") for g in flow.readers.named),
        ),
    )
