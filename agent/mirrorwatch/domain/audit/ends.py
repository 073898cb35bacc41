"""Up to where each partition was audited."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from .plan import Plan

__all__ = ["End", "Ends", "ends_after"]


@dataclass(frozen=True, kw_only=True, slots=True)
class End:
    """Up to where one source partition was audited."""

    flow: str
    """Name of the flow."""

    topic: str
    """Source topic."""

    partition: int
    """Source partition, which is the target's too."""

    source_end: int
    """Next source offset to audit."""

    target_end: int
    """Next target offset to audit."""

    source_id: str
    """Id of the source topic: another one is another topic."""

    target_id: str
    """Id of the target topic; empty if there was none."""

    cut_at: datetime
    """Time at which the audited range was cut: what was settled then."""

    position: int | None = None
    """The mirror's position then, if it was known."""

    @property
    def place(self) -> tuple[str, str, int]:
        """Flow, source topic and partition."""
        return self.flow, self.topic, self.partition


@dataclass(frozen=True, slots=True)
class Ends:
    """Up to where all partitions were audited; empty before the first."""

    ends: tuple[End, ...] = ()
    """At most one for each flow, source topic and partition."""

    def by_place(self) -> Mapping[tuple[str, str, int], End]:
        """Return them by flow, source topic and partition."""
        return {end.place: end for end in self.ends}


def ends_after(plan: Plan, before: Ends) -> Ends:
    """Return the ends once a nightly plan was carried out.

    Parameters
    ----------
    plan
        What was audited. One of an ad hoc audit moves nothing.
    before
        The ends that it was made from. Those of partitions that are not in
        the plan stay, but for topics that are no more.
    """
    if plan.window is not None:
        return before
    found = {
        place: end
        for place, end in before.by_place().items()
        if place[:2] not in plan.gone
    }
    for lane in plan.lanes:
        for source in lane.sources:
            end = End(
                flow=source.flow,
                topic=source.topic,
                partition=source.partition,
                source_end=source.span.end,
                target_end=lane.span.end,
                source_id=source.topic_id,
                target_id=lane.topic_id,
                cut_at=lane.cut_at or plan.at,
                position=source.position,
            )
            found[end.place] = end
    return Ends(tuple(found.values()))
