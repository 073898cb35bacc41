"""Existing topics that two flows copy twice, or back and forth."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .report import Flow
from .topics import HEARTBEATS

__all__ = ["Conflict", "FlowTopics", "find_conflicts"]


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowTopics:
    """The topics that a flow carries."""

    flow: Flow
    names: Mapping[str, str]
    is_merged: Callable[[str], bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class Conflict:
    """Conflict of a flow with another one over the same topics."""

    other: str
    loop: bool
    """Replication loop: the other flow copies topics back under the names that
    they had, and does not write to the same topics of the target."""

    topics: tuple[str, ...]

    @property
    def cause(self) -> str:
        if self.loop:
            return f"Flow {self.other} copies topics back, without end"
        return f"Flow {self.other} writes to the same topics of the target"

    @property
    def remedy(self) -> str:
        if self.loop:
            return "Exclude them in one flow, or let the mirrors prefix names"
        return (
            "Exclude them in one flow, or list them in topics.merged of both "
            "if that is meant"
        )


def find_conflicts(flows: Sequence[FlowTopics]) -> list[tuple[Conflict, ...]]:
    """Return the conflicts of each flow, in the order of the flows.

    Heartbeats are left out: every mirror carries them, and they are few.
    """
    return [
        tuple(
            conflict
            for other in flows
            if other is not one
            for conflict in _compare(one, other)
            if conflict.topics
        )
        for one in flows
    ]


def _compare(one: FlowTopics, other: FlowTopics) -> list[Conflict]:
    found = []
    names = {
        topic: remote
        for topic, remote in one.names.items()
        if not topic.endswith(HEARTBEATS)
    }
    if one.flow.target == other.flow.target:
        theirs = {remote: topic for topic, remote in other.names.items()}
        shared = [
            topic
            for topic, remote in names.items()
            if remote in theirs
            and not (one.is_merged(topic) and other.is_merged(theirs[remote]))
        ]
        found.append(
            Conflict(
                other=other.flow.name, loop=False, topics=tuple(sorted(shared))
            )
        )
    if (one.flow.source, one.flow.target) == (
        other.flow.target,
        other.flow.source,
    ):
        loops = [
            topic
            for topic, remote in names.items()
            if other.names.get(remote) == topic
        ]
        found.append(
            Conflict(
                other=other.flow.name, loop=True, topics=tuple(sorted(loops))
            )
        )
    return found
