"""The canary of a flow."""

from dataclasses import replace

from ..config import FlowConfig
from ..ports import Worker
from ..sources.canary import (
    Canary,
    CanarySettings,
    CanarySource,
    Surveyor,
)
from ..sources.canary.board import Board
from ..sources.canary.settler import Settler
from ..sources.latency import LatencySource
from ..state.canary import CanaryStore
from .surroundings import FlowParts, Surroundings, Wired

__all__ = ["wire_canary"]


def wire_canary(parts: FlowParts, around: Surroundings) -> Wired:
    """Wire a flow's canary, and what judges its latency.

    Raises
    ------
    ConfigError
        Raised if the certificate authority of a registry cannot be read.
    StateError
        Raised if the state file cannot be used.
    """
    flow, positions = parts.config, parts.positions
    if not flow.canary.enabled:
        return Wired()
    settings = _to_settings(flow, around)
    store = CanaryStore(around.database, flow.name)
    board = Board(store.losses())
    registrars: list[Worker] = []
    if flow.canary.format == "avro":
        from .registrar import wire_registrar  # noqa: PLC0415

        settings, registrar = wire_registrar(flow, around, settings, board)
        registrars.append(registrar)
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
    return Wired(
        workers=(*registrars, surveyor, canary),
        sources=(
            CanarySource(
                settings=settings,
                board=board,
                lost_window=flow.limits.canary.lost_window,
            ),
            LatencySource(flow.name, flow.target, around.history),
        ),
    )


def _to_settings(flow: FlowConfig, around: Surroundings) -> CanarySettings:
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
        cluster_ids=around.cluster_ids,
        headers=around.headers,
    )
    if sized is None:
        return settings
    return replace(
        settings,
        sized_bytes=int(sized.bytes),
        sized_interval=sized.interval,
        sized_partition=sized.partition,
    )
