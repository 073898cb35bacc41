"""What watches one flow: which workers, which sources, with what limits."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from structlog.typing import FilteringBoundLogger

from .config import FlowConfig
from .domain.checks import CanaryLimits, FlowLimits, LatencyLimits
from .mirrors import MirrorMaker2
from .ports import Source, Worker
from .sources.canary import (
    Canary,
    CanarySettings,
    CanarySource,
    Headers,
    Surveyor,
    no_headers,
)
from .sources.canary.board import Board
from .sources.canary.settler import Settler
from .sources.cluster import Cluster
from .sources.latency import LatencySource
from .sources.positions import Positions
from .sources.tail import Tail
from .state import Database
from .state.canary import CanaryStore
from .state.history import History

__all__ = ["FlowWiring", "Surroundings", "to_limits", "to_mirror"]


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


@dataclass(frozen=True, kw_only=True)
class FlowWiring:
    """What watches one flow."""

    workers: tuple[Worker, ...]
    sources: tuple[Source, ...]

    @classmethod
    def of(
        cls,
        flow: FlowConfig,
        around: Surroundings,
        headers: Headers = no_headers,
    ) -> "FlowWiring":
        """Wire what watches a flow.

        Raises
        ------
        ConfigError
            Raised if the mirror's topics cannot be derived.
        StateError
            Raised if the state file cannot be used.
        """
        mirror = to_mirror(flow)
        internal = mirror.internal_topics()
        if not flow.canary.enabled:
            return cls(workers=(), sources=())
        settings = _to_settings(flow, headers)
        store = CanaryStore(around.database, flow.name)
        board, positions = Board(store.losses()), Positions()
        tails = [
            Tail(
                cluster=around.clusters[alias],
                properties=around.properties[alias],
                topics=[t for t in internal if t.side == side],
                mirror=mirror,
                positions=positions,
                clock=around.clock,
                logger=around.logger,
            )
            for side, alias in (
                ("source", flow.source),
                ("target", flow.target),
            )
            if any(t.side == side for t in internal)
        ]
        settler = Settler(
            cluster=around.clusters[flow.source],
            properties=around.properties[flow.source],
            settings=settings,
            run=store.run,
            clock=around.clock,
        )
        surveyor = Surveyor(
            settings=settings,
            source=around.clusters[flow.source],
            target=around.clusters[flow.target],
            positions=positions,
            settler=settler,
            board=board,
            interval=around.interval,
            clock=around.clock,
        )
        canary = Canary(
            settings=settings,
            source=around.properties[flow.source],
            target=around.properties[flow.target],
            store=store,
            board=board,
            clock=around.clock,
        )
        return cls(
            workers=(*tails, surveyor, canary),
            sources=(
                CanarySource(
                    settings=settings,
                    board=board,
                    lost_window=flow.limits.canary.lost_window,
                ),
                LatencySource(flow.name, flow.target, around.history),
            ),
        )


def to_mirror(flow: FlowConfig) -> MirrorMaker2:
    """Return the mirror of a flow."""
    mirror = flow.mirror
    return MirrorMaker2(
        source_alias=mirror.source_alias,
        target_alias=mirror.target_alias,
        separator=mirror.separator,
        dedicated=mirror.mode == "dedicated",
        connectors=mirror.connectors,
        syncs_location=mirror.syncs_location,
        topics=mirror.topics.model_dump(),
        max_in_flight=mirror.max_in_flight,
    )


def to_limits(flow: FlowConfig) -> FlowLimits:
    """Return the limits of a flow's checks."""
    canary, latency = flow.limits.canary, flow.limits.latency
    return FlowLimits(
        canary=CanaryLimits(
            enabled=flow.canary.enabled,
            deadline=flow.canary.deadline,
            lost_window=canary.lost_window,
            warning_window=canary.warning_window,
        ),
        latency=LatencyLimits(
            enabled=flow.canary.enabled,
            critical=latency.critical,
            critical_factor=latency.critical_factor,
            warning=latency.warning,
            warning_factor=latency.warning_factor,
        ),
    )


def _to_settings(flow: FlowConfig, headers: Headers) -> CanarySettings:
    canary, sized = flow.canary, flow.canary.sized
    settings = CanarySettings(
        flow=flow.flow,
        topic=canary.topic,
        remote_topic=flow.topic_naming.remote(canary.topic),
        interval=canary.interval,
        deadline=canary.deadline,
        warmup=canary.warmup,
        create=canary.create,
        partitions=canary.partitions,
        max_request_bytes=flow.mirror.max_request_size,
        headers=headers,
    )
    if sized is None:
        return settings
    return replace(
        settings,
        sized_bytes=int(sized.bytes),
        sized_interval=sized.interval,
        sized_partition=sized.partition,
    )
