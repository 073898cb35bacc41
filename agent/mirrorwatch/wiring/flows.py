"""Makes the sources and workers of each flow: see `AREAS`."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache

from ..config import FlowConfig
from ..domain.carriage import Carriage
from ..domain.checkpoints import CheckpointsState
from ..domain.lag.tracker import LagTracker
from ..domain.parity.topics import TopicsLimits
from ..domain.position.tracker import PositionTracker
from ..domain.schemas.model import SchemasState
from ..domain.tasks.group import GroupMemory
from ..domain.topics import Selection, compile_pattern
from ..exceptions import ConfigError
from ..mirrors.connect import ConnectMirror
from ..ports import Worker
from ..sources.checkpoints import CheckpointsSource
from ..sources.connect import (
    ConnectApi,
    ConnectDecoder,
    ConnectWorker,
)
from ..sources.copies import CopiesWorker, RangeExaminer
from ..sources.expected_settings import ExpectedSettings
from ..sources.failed_tasks import FailedTaskWorker
from ..sources.heartbeats import HeartbeatsSource
from ..sources.lag import LagWorker
from ..sources.mirror_state import MirrorState, Route, TailWorker
from ..sources.parity import ConfigsWorker, ParitySource
from ..sources.position import PositionSource
from ..sources.reachability import ReachabilitySource
from ..sources.registry import Registry
from ..sources.schemas import SchemasWorker
from ..sources.source_group import SourceGroupWorker
from ..sources.survey import SurveyedFlow, SurveyWorker
from ..sources.target_ends import TargetEnds
from ..sources.tasks import (
    TaskFacts,
    TasksSource,
    TasksState,
    UnassignedPartitions,
)
from ..sources.zookeeper import ZooKeeperWorker
from ..state.copies import CopiesStore
from ..state.documents import DocumentStore, FirstSeenStore
from ..state.position import PositionStore
from .canary import wire_canary
from .context import (
    FlowParts,
    WiredParts,
    WiringContext,
    to_address,
    to_mirror,
    to_offset_nodes,
)
from .groups import wire_failover, wire_groups, wire_readers
from .jmx import wire_jmx

__all__ = ["wire_flows", "wire_position"]


def wire_lag(parts: FlowParts, around: WiringContext) -> WiredParts:
    """Wire what follows the lag of a flow.

    Raises
    ------
    StateError
        Raised if the state file cannot be used.
    """
    flow = parts.config
    store = FirstSeenStore(around.database, flow.name, "lag")

    watch = LagWorker(
        flow=flow.name,
        tracker=LagTracker(
            flow=flow.name,
            class_of=_class_finder(flow.classes),
            configs=lambda: parts.configs.get().source,
            refused=lambda: parts.configs.get().refused,
            filtered=cache(flow.filtered.matches),
            uncopied=store.load(),
        ),
        store=store,
        positions=parts.positions,
        source=around.clusters[flow.source],
        properties=around.properties[flow.source],
        carries=parts.carriage.carries,
        clock=around.clock,
        known=parts.facts.known_topics,
    )
    parts.facts.lag = watch
    parts.listeners.append(watch)
    return WiredParts(workers=(watch,), sources=(watch,))


def _class_finder(patterns: Mapping[str, str]) -> Callable[[str], str]:
    """Return what finds the class of a topic: the first pattern that matches
    wins, and a topic that matches none has the empty one.
    """
    compiled = {n: compile_pattern(p) for n, p in patterns.items()}

    @cache
    def find(topic: str) -> str:
        matching = (n for n, p in compiled.items() if p.fullmatch(topic))
        return next(matching, "")

    return find


def wire_parity(parts: FlowParts, around: WiringContext) -> WiredParts:
    """Wire what compares topics and their configurations.

    Raises
    ------
    StateError
        Raised if the state file cannot be used.
    """
    flow, limits = parts.config, parts.config.limits
    parity = ParitySource(
        flow=flow.flow,
        carriage=parts.carriage,
        positions=parts.positions,
        store=FirstSeenStore(around.database, flow.name, "topics"),
        limits=TopicsLimits(),
        chosen=parts.chosen,
        interval=around.interval,
    )
    parts.facts.parity = parity
    parts.listeners.append(parity)
    reader = ConfigsWorker(
        flow=flow.flow,
        source=around.clusters[flow.source],
        target=around.clusters[flow.target],
        parity=parity,
        configs=parts.configs,
        store=FirstSeenStore(around.database, flow.name, "configs"),
        limits=limits.configs,
        interval=around.interval,
        clock=around.clock,
    )
    return WiredParts(workers=(reader,), sources=(parity, reader))


def wire_position(parts: FlowParts, around: WiringContext) -> WiredParts:
    """Wire what finds resets of a flow's positions.

    Raises
    ------
    ConfigError
        Raised if the mirror's topics cannot be derived.
    StateError
        Raised if the state file cannot be used.
    """
    flow = parts.config
    store = PositionStore(around.database, flow.name)
    limits = flow.limits
    source = PositionSource(
        flow=flow.name,
        tracker=PositionTracker(
            flow=flow.name,
            source=flow.source,
            target=flow.target,
            state=store.load(),
            accepted=around.cluster_ids,
            internal={
                topic.kind: topic.name
                for topic in parts.mirror.internal_topics()
            },
            keeps_offsets=flow.mirror.traits.keeps_offsets,
            memory=max(limits.losses.critical, limits.position.rewind_window),
        ),
        store=store,
        positions=parts.positions,
        copies=parts.facts,
    )
    parts.facts.resets = source
    parts.listeners.append(source)
    return WiredParts(sources=(source,))


def wire_heartbeats(parts: FlowParts, around: WiringContext) -> WiredParts:
    """Wire what reads a flow's heartbeats and checkpoints.

    Raises
    ------
    StateError
        Raised if the state file cannot be used.
    """
    flow = parts.config
    aliases = (flow.mirror.source_alias, flow.mirror.target_alias)
    heartbeats = HeartbeatsSource(flow.name, parts.positions, aliases)
    checkpoints = CheckpointsSource(
        flow=flow.name,
        source=flow.source,
        naming=flow.topic_naming,
        positions=parts.positions,
        store=DocumentStore(
            around.database, flow.name, "checkpoints", CheckpointsState
        ),
    )
    parts.listeners.append(checkpoints)
    parts.group_listeners.append(checkpoints)
    return WiredParts(sources=(heartbeats, checkpoints))


def wire_schemas(parts: FlowParts, around: WiringContext) -> WiredParts:
    """Wire what compares the schemas of a flow's records.

    Raises
    ------
    ConfigError
        Raised if the certificate authority of a registry cannot be read.
    StateError
        Raised if the state file cannot be used.
    """
    flow = parts.config
    configured = {
        alias: around.registries[alias]
        for alias in (flow.source, flow.target)
        if alias in around.registries
    }
    if configured.keys() != {flow.source, flow.target}:
        return WiredParts()
    worker = SchemasWorker(
        flow=flow.flow,
        properties=around.properties,
        registries={
            alias: Registry(alias, to_address(registry))
            for alias, registry in configured.items()
        },
        topics={
            alias: registry.topic for alias, registry in configured.items()
        },
        store=DocumentStore(
            around.database, flow.name, "schemas", SchemasState
        ),
        interval=around.interval,
        clock=around.clock,
    )
    parts.listeners.append(worker)
    return WiredParts(workers=(worker,), sources=(worker,))


def wire_skips(parts: FlowParts, around: WiringContext) -> WiredParts:
    """Wire what finds skipped and duplicated records of a flow.

    Raises
    ------
    StateError
        Raised if the state file cannot be used.
    """
    flow = parts.config
    limits = flow.limits.skips
    watch = CopiesWorker(
        flow=flow.name,
        positions=parts.positions,
        store=CopiesStore(around.database, flow.name),
        examiner=RangeExaminer(
            source=around.clusters[flow.source],
            target=around.clusters[flow.target],
            properties=around.properties,
            configs=parts.configs,
        ),
        merged=Selection(include=flow.topics.merged).matches,
        exactly_once=flow.mirror.exactly_once,
        memory=max(flow.limits.losses.critical, limits.warning_window),
        filtered=flow.filtered,
        window=flow.limits.losses.critical,
        read_rate=limits.read_rate,
        empty_until=parts.facts.empty_until,
        dropped=parts.facts.dropped,
        clock=around.clock,
    )
    parts.facts.copies = watch
    parts.listeners.append(watch)
    return WiredParts(workers=(watch,), sources=(watch,))


def wire_reachability(parts: FlowParts, _around: WiringContext) -> WiredParts:
    """Wire what shows which clusters of a flow answer."""
    flow = parts.config
    source = ReachabilitySource(
        flow=flow.name,
        canary=flow.canary.topic if flow.canary.enabled else None,
        merged=Selection(include=flow.topics.merged).matches,
        foreign=parts.facts.shared,
    )
    parts.listeners.append(source)
    return WiredParts(sources=(source,))


def wire_survey(
    flows: Iterable[FlowParts], around: WiringContext
) -> WiredParts:
    """Wire what asks the clusters how far every topic is.

    The areas of the flows must have been wired before: their listeners
    are taken now.
    """
    survey = SurveyWorker(
        flows=[
            SurveyedFlow(
                flow=flow.config.flow,
                carriage=Carriage(flow.carriage, chosen=flow.chosen),
                positions=flow.positions,
                listeners=tuple(flow.listeners),
                exactly_once=flow.config.mirror.exactly_once,
                is_merged=Selection(include=flow.config.topics.merged).matches,
                ends=TargetEnds(flow.positions).take
                if flow.config.mirror.traits.keeps_offsets
                else None,
            )
            for flow in flows
            if flow.listeners
        ],
        clusters=around.clusters,
        interval=around.interval,
        clock=around.clock,
        guard=around.guard,
    )
    return WiredParts(workers=(survey,))


def wire_tails(
    flows: Iterable[FlowParts], around: WiringContext
) -> WiredParts:
    """Wire what follows the internal topics of all mirrors.

    Raises
    ------
    ConfigError
        Raised if the mirror's topics cannot be derived.
    """
    routes: dict[str, list[Route]] = {}
    for flow in flows:
        aliases = {"source": flow.config.source, "target": flow.config.target}
        for topic in flow.mirror.internal_topics():
            route = Route(topic, flow.mirror, flow.positions)
            routes.setdefault(aliases[topic.side], []).append(route)
    return WiredParts(
        workers=tuple(
            TailWorker(
                cluster=around.clusters[alias],
                properties=around.properties[alias],
                routes=of_cluster,
                clock=around.clock,
                logger=around.logger,
            )
            for alias, of_cluster in routes.items()
        )
    )


def wire_tasks(parts: FlowParts, around: WiringContext) -> WiredParts:
    """Wire what watches the connectors and tasks of a flow's mirror.

    Raises
    ------
    ConfigError
        Raised if the mirror's topics cannot be derived.
    StateError
        Raised if the state file cannot be used.
    """
    flow, positions = parts.config, parts.positions
    group = parts.mirror.group
    if group is not None and flow.mirror.traits.in_group:
        worker = _to_source_group(parts, around, group)
        parts.listeners.append(worker)
        return WiredParts(workers=(worker,), sources=(worker,))
    topics = {t.kind: t.name for t in parts.mirror.internal_topics()}
    state = TasksState()
    facts = TaskFacts(
        positions=positions,
        state=state,
        status=topics.get("status"),
        cluster=flow.target,
        has_rest=flow.mirror.connect is not None,
    )
    parts.listeners.append(UnassignedPartitions(positions, state))
    if isinstance(parts.mirror, ConnectMirror):
        parts.listeners.append(
            ExpectedSettings(
                positions,
                flow.topic_naming,
                group,
                keeps_partitions=flow.mirror.traits.keeps_partitions,
            )
        )
    inspector = FailedTaskWorker(
        flow=flow.name,
        source=around.clusters[flow.source],
        target=around.clusters[flow.target],
        properties=around.properties[flow.source],
        naming=flow.topic_naming,
        positions=positions,
        facts=facts,
        state=state,
        clock=around.clock,
    )
    source = TasksSource(
        flow=flow.name,
        positions=positions,
        facts=facts,
        state=state,
        stood=parts.facts.stopped,
        aliases=(flow.mirror.source_alias, flow.mirror.target_alias),
    )
    workers: list[Worker] = [inspector]
    if flow.mirror.connect is not None:
        workers.append(_wire_connect(parts, around, state))
    if group is not None:
        # For its positions; the tasks are Connect's.
        workers.append(_to_source_group(parts, around, group))
    return WiredParts(workers=tuple(workers), sources=(source,))


def _to_source_group(
    parts: FlowParts, around: WiringContext, group: str
) -> SourceGroupWorker:
    flow = parts.config
    return SourceGroupWorker(
        flow=flow.name,
        group=group,
        traits=flow.mirror.traits,
        source=around.clusters[flow.source],
        positions=parts.positions,
        interval=around.interval,
        clock=around.clock,
        memory=DocumentStore(
            around.database, flow.name, "mirror_group", GroupMemory
        ),
        merged=cache(Selection(include=flow.topics.merged).matches),
    )


def wire_zookeeper(parts: FlowParts, around: WiringContext) -> WiredParts:
    """Wire what reads a mirror's positions in ZooKeeper, if they are there.

    Raises
    ------
    ConfigError
        Raised if its client is not installed.
    """
    flow = parts.config
    if not flow.mirror.traits.in_zookeeper:
        return WiredParts()
    worker = ZooKeeperWorker(
        flow=flow.name,
        nodes=to_offset_nodes(flow),
        positions=parts.positions,
        interval=around.interval,
        clock=around.clock,
    )
    return WiredParts(workers=(worker,))


def _wire_connect(
    parts: FlowParts,
    around: WiringContext,
    state: TasksState,
) -> ConnectWorker:
    flow, connect = parts.config, parts.config.mirror.connect
    assert connect is not None  # noqa: S101 - asked before
    if not isinstance(parts.mirror, ConnectDecoder):
        raise ConfigError(
            f"mirror.connect: a mirror of kind {flow.mirror.kind} does not "
            "run on Kafka Connect"
        )
    api = ConnectApi(flow.name, flow.target, to_address(connect))
    return ConnectWorker(
        flow=flow.name,
        api=api,
        mirror=parts.mirror,
        positions=parts.positions,
        state=state,
        clock=around.clock,
        logger=around.logger,
    )


AREAS: tuple[Callable[[FlowParts, WiringContext], WiredParts], ...] = (
    wire_canary,
    wire_lag,
    wire_position,
    wire_parity,
    wire_skips,
    wire_zookeeper,
    wire_tasks,
    wire_heartbeats,
    wire_failover,
    wire_readers,
    wire_schemas,
    wire_reachability,
)


NEEDED: Mapping[Callable[[FlowParts, WiringContext], WiredParts], str] = {
    wire_lag: "lag",
    wire_position: "position",
    wire_heartbeats: "heartbeats",
    wire_skips: "skips",
    wire_tasks: "tasks",
    wire_failover: "failover",
}
"""Check without which an area is of no use: where the mirror leaves no means
to verify it, nothing is read for it."""


def wire_flows(
    flows: Iterable[FlowConfig], around: WiringContext
) -> WiredParts:
    """Wire what watches all flows.

    Raises
    ------
    ConfigError
        Raised if the mirror's topics cannot be derived.
    StateError
        Raised if the state file cannot be used.
    """
    parts = [
        FlowParts(config=flow, mirror=to_mirror(flow), positions=MirrorState())
        for flow in flows
    ]
    areas = [
        area(flow, around)
        for flow in parts
        for area in AREAS
        if NEEDED.get(area) not in flow.config.mirror.traits.off
    ]
    tails, survey = wire_tails(parts, around), wire_survey(parts, around)
    groups, jmx = wire_groups(parts, around), wire_jmx(parts, around)
    return WiredParts.of([tails, *areas, survey, groups, jmx])
