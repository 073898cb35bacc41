"""Tells what went while an audit read it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..config import Config
from ..domain.audit import Lane, Plan, Side, Span, Unverifiable
from ..domain.view import TopicFacts, TopicPartition
from .sites import Sites

__all__ = ["recheck"]

EXPIRED = "expired at the {side} while it was audited"

RENEWED = "the topic at the {side} was deleted while it was audited"

LEADERLESS = "a partition of the {side} lost its leader while it was audited"


@dataclass(frozen=True, slots=True)
class _Part:
    """What was compared of one side."""

    side: Side
    cluster: str
    place: TopicPartition
    topic_id: str
    span: Span


def recheck(config: Config, plan: Plan) -> tuple[Unverifiable, ...]:
    """Tell what is no longer retained, once everything was read.

    Returns
    -------
    tuple of Unverifiable
        Lanes, by their flow, topic and partition, of which a log start moved
        past the first offset to compare, or a topic was deleted or made anew:
        what was found of them is void. Their audited end moves all the same,
        for what went cannot be audited by the next night either.

    Raises
    ------
    SourceError
        Raised if a cluster cannot be asked.
    """
    wanted: dict[str, set[TopicPartition]] = {}
    for lane in plan.lanes:
        for part in _parts(lane):
            wanted.setdefault(part.cluster, set()).add(part.place)
    topics: dict[str, Mapping[str, TopicFacts]] = {}
    starts: dict[str, Mapping[TopicPartition, int]] = {}
    with Sites(config) as sites:
        for alias, places in sorted(wanted.items()):
            # Starts first: those of a topic made anew are then noticed.
            starts[alias] = sites[alias].starts(places)
            topics[alias] = sites[alias].describe().topics
    return tuple(
        Unverifiable(
            flow=lane.flow,
            topic=lane.topic,
            partition=lane.partition,
            reason=reason,
        )
        for lane in plan.lanes
        if (reason := _find_reason(lane, topics, starts)) is not None
    )


def _parts(lane: Lane) -> Iterator[_Part]:
    """Return what was read of each side: nothing of an empty span."""
    for source in lane.sources:
        if len(source.span):
            place = (source.topic, source.partition)
            yield _Part(
                "source", source.cluster, place, source.topic_id, source.span
            )
    if len(lane.span):
        place = (lane.target_topic, lane.partition)
        yield _Part("target", lane.cluster, place, lane.topic_id, lane.span)


def _find_reason(
    lane: Lane,
    topics: Mapping[str, Mapping[str, TopicFacts]],
    starts: Mapping[str, Mapping[TopicPartition, int]],
) -> str | None:
    """Return why what was found of a lane is void."""
    for part in _parts(lane):
        topic = topics[part.cluster].get(part.place[0])
        if topic is None or topic.id != part.topic_id:
            return RENEWED.format(side=part.side)
        start = starts[part.cluster].get(part.place)
        if start is None:
            return LEADERLESS.format(side=part.side)
        if start > part.span.start:
            return EXPIRED.format(side=part.side)
    return None
