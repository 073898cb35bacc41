"""The adapter of a flow's mirror."""

from ..config import FlowConfig
from ..mirrors import MirrorMaker2

__all__ = ["to_mirror"]


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
        carried_heartbeats=flow.topic_naming.remote("heartbeats"),
        topics=mirror.topics.model_dump(),
        max_in_flight=mirror.max_in_flight,
    )
