"""What is wired: what all flows share, what one flow has, what comes out."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from structlog.typing import FilteringBoundLogger

from ..config import FlowConfig, SchemaRegistryConfig
from ..domain.carriage import Carriage
from ..mirrors import MirrorMaker2
from ..ports import Source, Worker
from ..sources.canary import Headers, no_headers
from ..sources.cluster import Cluster
from ..sources.configs import Configs
from ..sources.positions import Positions
from ..sources.surveyed import Reader
from ..state import Database
from ..state.history import History

__all__ = ["FlowParts", "Surroundings", "Wired"]


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What all flows of an agent share."""

    clusters: Mapping[str, Cluster]
    """Clusters by alias."""

    properties: Mapping[str, Mapping[str, str]]
    """librdkafka properties of the clusters, by alias."""

    database: Database
    history: History
    interval: timedelta
    clock: Callable[[], datetime]
    logger: FilteringBoundLogger
    registries: Mapping[str, SchemaRegistryConfig] = field(
        default_factory=dict
    )
    """Schema registries of the clusters that have one, by alias."""

    cluster_ids: Mapping[str, str] = field(default_factory=dict)
    """Ids that clusters must have, by alias, where that is configured."""

    headers: Headers = no_headers
    """Headers of each probe."""


@dataclass(frozen=True, kw_only=True)
class FlowParts:
    """What all areas of one flow share."""

    config: FlowConfig
    mirror: MirrorMaker2
    positions: Positions
    """What the mirror's internal topics said; the tails write it."""

    configs: Configs = field(default_factory=Configs)
    """How the topics are configured on both sides."""

    readers: list[Reader] = field(default_factory=list)
    """Who learns from the surveys of both sides; each area adds its own."""

    @property
    def carriage(self) -> Carriage:
        """Which topics the flow carries."""
        return Carriage(
            selection=self.config.selection,
            naming=self.config.topic_naming,
            target_alias=self.config.mirror.target_alias,
        )


@dataclass(frozen=True, kw_only=True)
class Wired:
    """What watches something."""

    workers: tuple[Worker, ...] = ()
    sources: tuple[Source, ...] = ()

    @classmethod
    def of(cls, parts: Iterable["Wired"]) -> "Wired":
        """Return several as one, in their order."""
        parts = list(parts)
        return cls(
            workers=tuple(w for part in parts for w in part.workers),
            sources=tuple(s for part in parts for s in part.sources),
        )
