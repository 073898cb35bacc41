"""What watches that a mirror keeps its place."""

from collections.abc import Mapping

from ..domain.resets import ResetWatch
from ..domain.selection import Selection
from ..domain.view import TopicPartition
from ..sources.lag import LagWatch
from ..sources.resets import ResetReader
from ..state.resets import ResetStore
from .surroundings import FlowParts, Surroundings, Wired

__all__ = ["wire_position"]


def wire_position(parts: FlowParts, around: Surroundings) -> Wired:
    """Wire what finds resets of a flow's positions.

    Its lag must have been wired before: that reads the records which tell
    whether data waits.

    Raises
    ------
    ConfigError
        Raised if the mirror's topics cannot be derived.
    StateError
        Raised if the state file cannot be used.
    """
    flow = parts.config
    store = ResetStore(around.database, flow.name)
    limits = flow.limits.position
    reader = ResetReader(
        flow=flow.name,
        watch=ResetWatch(
            flow=flow.name,
            source=flow.source,
            target=flow.target,
            books=store.load(),
            accepted=around.cluster_ids,
            internal={
                topic.kind: topic.name
                for topic in parts.mirror.internal_topics()
            },
            estimates=not flow.mirror.exactly_once,
            merged=Selection(include=flow.topics.merged).matches,
            memory=max(limits.lost_window, limits.rewind_window),
        ),
        store=store,
        positions=parts.positions,
        empty_until=_Tails(
            [r for r in parts.readers if isinstance(r, LagWatch)]
        ),
    )
    parts.readers.append(reader)
    return Wired(sources=(reader,))


class _Tails:
    """Tells what the lag found out of positions that no data follows."""

    def __init__(self, watches: list[LagWatch]) -> None:
        self._watches = watches

    def __call__(self) -> Mapping[TopicPartition, int]:
        return {
            place: offset
            for watch in self._watches
            for place, offset in watch.empty_until().items()
        }
