"""One tail for each cluster, for all flows."""

from collections.abc import Iterable, Iterator

from ..ports import InternalTopic
from ..sources.tail import Route, Tail
from .surroundings import FlowParts, Surroundings, Wired

__all__ = ["wire_tails"]


def wire_tails(flows: Iterable[FlowParts], around: Surroundings) -> Wired:
    """Wire what follows the internal topics of all mirrors.

    Raises
    ------
    ConfigError
        Raised if the mirror's topics cannot be derived.
    """
    routes: dict[str, list[Route]] = {}
    for flow in flows:
        for alias, topic in _places(flow):
            route = Route(topic, flow.mirror, flow.positions)
            routes.setdefault(alias, []).append(route)
    return Wired(
        workers=tuple(
            Tail(
                cluster=around.clusters[alias],
                properties=around.properties[alias],
                routes=of_cluster,
                clock=around.clock,
                logger=around.logger,
            )
            for alias, of_cluster in routes.items()
        )
    )


def _places(flow: FlowParts) -> Iterator[tuple[str, InternalTopic]]:
    sides = {"source": flow.config.source, "target": flow.config.target}
    for topic in flow.mirror.internal_topics():
        yield sides[topic.side], topic
