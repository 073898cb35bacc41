"""The survey of all clusters, for all flows."""

from collections.abc import Iterable

from ..sources.ends import Ends
from ..sources.survey import Survey
from ..sources.surveyed import Surveyed
from .surroundings import FlowParts, Surroundings, Wired

__all__ = ["wire_survey"]


def wire_survey(flows: Iterable[FlowParts], around: Surroundings) -> Wired:
    """Wire what asks the clusters how far every topic is.

    The areas of the flows must have been wired before: their readers are
    taken now.
    """
    survey = Survey(
        flows=[
            Surveyed(
                flow=flow.config.flow,
                carriage=flow.carriage,
                positions=flow.positions,
                readers=tuple(flow.readers),
            )
            for flow in flows
            if flow.readers
        ],
        clusters=around.clusters,
        ends={
            alias: Ends(cluster, around.properties[alias])
            for alias, cluster in around.clusters.items()
        },
        interval=around.interval,
        clock=around.clock,
    )
    return Wired(workers=(survey,))
