"""The tasks of a flow's mirror."""

from ..domain.restarts import RestartRules, Restarts
from ..ports import Worker
from ..sources.connect import (
    ConnectApi,
    ConnectWorker,
    Restarter,
)
from ..sources.tasks import (
    Inspector,
    TaskFacts,
    TasksBoard,
    TasksSource,
    Unassigned,
)
from ..state.document import DocumentStore
from .http import to_address
from .surroundings import FlowParts, Surroundings, Wired

__all__ = ["wire_tasks"]


def wire_tasks(parts: FlowParts, around: Surroundings) -> Wired:
    """Wire what watches the connectors and tasks of a flow's mirror.

    Raises
    ------
    ConfigError
        Raised if the mirror's topics cannot be derived.
    StateError
        Raised if the state file cannot be used.
    """
    flow, positions = parts.config, parts.positions
    topics = {t.kind: t.name for t in parts.mirror.internal_topics()}
    board = TasksBoard()
    facts = TaskFacts(
        positions=positions,
        board=board,
        status=topics.get("status"),
        cluster=flow.target,
        has_rest=flow.mirror.connect is not None,
    )
    parts.readers.append(Unassigned(positions, board))
    inspector = Inspector(
        flow=flow.name,
        source=around.clusters[flow.source],
        target=around.clusters[flow.target],
        properties=around.properties[flow.source],
        naming=flow.topic_naming,
        positions=positions,
        facts=facts,
        board=board,
        clock=around.clock,
    )
    source = TasksSource(
        flow=flow.name, positions=positions, facts=facts, board=board
    )
    workers: tuple[Worker, ...] = (inspector,)
    if flow.mirror.connect is not None:
        worker = _wire_connect(parts, around, board, facts)
        workers = (inspector, worker)
    return Wired(workers=workers, sources=(source,))


def _wire_connect(
    parts: FlowParts, around: Surroundings, board: TasksBoard, facts: TaskFacts
) -> ConnectWorker:
    flow, connect = parts.config, parts.config.mirror.connect
    assert connect is not None  # noqa: S101 - asked before
    api = ConnectApi(flow.name, flow.target, to_address(connect))
    rules = RestartRules(**connect.restart_failed.model_dump())
    logger = around.logger.bind(flow=flow.name)
    return ConnectWorker(
        flow=flow.name,
        api=api,
        mirror=parts.mirror,
        positions=parts.positions,
        board=board,
        facts=facts,
        restarter=Restarter(
            api,
            rules,
            DocumentStore(around.database, flow.name, "restarts", Restarts),
            logger,
        ),
        clock=around.clock,
        logger=around.logger,
    )
