"""Makes the canary of a flow, and what judges its latency."""

from dataclasses import replace

from ..config import FlowConfig
from ..ports import Worker
from ..sources.canary.encoding import Avro
from ..sources.canary.settings import CanarySettings, SizedProbes
from ..sources.canary.surveyor import CanarySurveyWorker, ProbeSettler
from ..sources.canary.worker import CanarySource, CanaryState, CanaryWorker
from ..sources.latency import LatencySource
from ..sources.registry import Registry, SchemaWorker
from ..state.canary import CanaryStore
from .context import (
    FlowParts,
    WiredParts,
    WiringContext,
    to_address,
)

__all__ = ["wire_canary"]


def wire_canary(parts: FlowParts, around: WiringContext) -> WiredParts:
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
        return WiredParts()
    settings = _to_settings(flow, around)
    store = CanaryStore(around.database, flow.name)
    state = CanaryState()
    registrars: list[Worker] = []
    if flow.canary.format == "avro":
        encoding = Avro()
        settings = replace(settings, encoding=encoding)
        registries = {
            alias: Registry(alias, to_address(around.registries[alias]))
            for alias in (flow.source, flow.target)
            if alias in around.registries
        }
        registrars.append(
            SchemaWorker(
                flow=flow.name,
                topic=settings.topic,
                encoding=encoding,
                source=registries[flow.source],
                target=registries.get(flow.target),
                problems=state.schema_problems,
            )
        )
    settler = ProbeSettler(
        cluster=around.clusters[flow.source],
        properties=around.properties[flow.source],
        settings=settings,
        run=store.run,
        clock=around.clock,
    )
    surveyor = CanarySurveyWorker(
        settings=settings,
        source=around.clusters[flow.source],
        target=around.clusters[flow.target],
        positions=positions,
        settler=settler,
        state=state,
        interval=around.interval,
        clock=around.clock,
    )
    canary = CanaryWorker(
        settings=settings,
        source=around.properties[flow.source],
        target=around.properties[flow.target],
        store=store,
        state=state,
        tick=around.interval,
        clock=around.clock,
    )
    return WiredParts(
        workers=(*registrars, surveyor, canary, canary.acks),
        sources=(
            CanarySource(
                settings=settings,
                state=state,
                losses=store.losses(),
                lost_window=flow.limits.losses.critical,
            ),
            LatencySource(flow.name, flow.target, around.history),
        ),
    )


def _to_settings(flow: FlowConfig, around: WiringContext) -> CanarySettings:
    canary, sized = flow.canary, flow.canary.sized
    traits = flow.mirror.traits
    return CanarySettings(
        flow=flow.flow,
        topic=canary.topic,
        remote_topic=flow.topic_naming.remote(canary.topic),
        interval=canary.interval,
        deadline=canary.deadline,
        within=canary.within,
        warmup=canary.warmup,
        create=canary.create,
        partitions=canary.partitions,
        sized=None
        if sized is None
        else SizedProbes(
            bytes=int(sized.bytes),
            interval=sized.interval,
        ),
        max_request_bytes=flow.mirror.max_request_size,
        cluster_ids=around.cluster_ids,
        keeps_partitions=traits.keeps_partitions,
        unflushed=traits.unflushed,
        creates_topic=traits.creates_topics,
        headers=around.headers,
    )
