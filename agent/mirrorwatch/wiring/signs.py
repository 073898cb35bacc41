"""MirrorMaker 2's own signs of a flow: heartbeats and checkpoints."""

from ..sources.checkpoints import CheckpointsWorker
from ..sources.heartbeats import HeartbeatsSource
from .surroundings import FlowParts, Surroundings, Wired

__all__ = ["wire_signs"]


def wire_signs(parts: FlowParts, around: Surroundings) -> Wired:
    """Wire what reads a flow's heartbeats and checkpoints."""
    flow = parts.config
    aliases = (flow.mirror.source_alias, flow.mirror.target_alias)
    heartbeats = HeartbeatsSource(flow.name, parts.positions, aliases)
    checkpoints = CheckpointsWorker(
        flow=flow.name,
        source=around.clusters[flow.source],
        naming=flow.topic_naming,
        positions=parts.positions,
        clock=around.clock,
    )
    return Wired(workers=(checkpoints,), sources=(heartbeats, checkpoints))
