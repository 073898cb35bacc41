"""Skips and repeats of a flow."""

from ..domain.selection import Selection
from ..sources.skips import SkipsWatch
from ..sources.skips.inquirer import Inquirer
from ..state.skips import SkipsStore
from .surroundings import FlowParts, Surroundings, Wired

__all__ = ["wire_skips"]


def wire_skips(parts: FlowParts, around: Surroundings) -> Wired:
    """Wire what keeps the books of a flow.

    Raises
    ------
    StateError
        Raised if the state file cannot be used.
    """
    flow = parts.config
    limits = flow.limits.skips
    watch = SkipsWatch(
        flow=flow.name,
        positions=parts.positions,
        store=SkipsStore(around.database, flow.name),
        inquirer=Inquirer(
            source=around.clusters[flow.source],
            target=around.clusters[flow.target],
            properties=around.properties,
            configs=parts.configs,
        ),
        merged=Selection(include=flow.topics.merged).matches,
        exactly_once=bool(flow.mirror.exactly_once),
        patience=limits.suspect_after,
        memory=max(limits.lost_window, limits.warning_window),
        clock=around.clock,
    )
    parts.readers.append(watch)
    return Wired(workers=(watch,), sources=(watch,))
