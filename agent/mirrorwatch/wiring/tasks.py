"""The tasks of a flow's mirror."""

from ..sources.tasks import (
    Inspector,
    TaskFacts,
    TasksBoard,
    TasksSource,
    Unassigned,
)
from .surroundings import FlowParts, Surroundings, Wired

__all__ = ["wire_tasks"]


def wire_tasks(parts: FlowParts, around: Surroundings) -> Wired:
    """Wire what watches the connectors and tasks of a flow's mirror.

    Raises
    ------
    ConfigError
        Raised if the mirror's topics cannot be derived.
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
    return Wired(workers=(inspector,), sources=(source,))
