"""Which topics are shown, and in which order."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta

from ..domain.lag import LagStatus, TopicLag
from .topic_facts import Facts, missing
from .topics_query import TopicsQuery

__all__ = ["choose", "is_late"]

CALM = {LagStatus.EVEN, LagStatus.MOVING}

NOTED_SECONDS = 5
"""Age from which what waits is worth a line. Records on their way are not: on
a healthy flow others are at every look, and a list of them would hide the
topic that stands."""

Key = Callable[[TopicLag, Mapping[str, int]], float | int | str | None]

STATUSES = list(LagStatus)

KEYS: Mapping[str, Key] = {
    "topic": lambda topic, _: topic.topic,
    "class": lambda topic, _: topic.topic_class,
    "status": lambda topic, _: STATUSES.index(topic.status),
    "lag_records": lambda topic, _: topic.records,
    "lag_seconds": lambda topic, _: topic.seconds,
    "drain_seconds": lambda topic, _: _told(topic.drain),
    "time_to_loss_seconds": lambda topic, _: _told(
        topic.headroom.remaining if topic.headroom else None
    ),
    "missing_records": lambda _, counts: missing(counts),
}
"""What topics are put in order by; `None` is always last."""


def choose(
    topics: Iterable[TopicLag], counts: Facts, query: TopicsQuery
) -> list[TopicLag]:
    """Return the topics that are asked for, in the order asked for.

    Parameters
    ----------
    topics
        Topics of one flow.
    counts
        What is known of them beside their lag.
    query
        What is asked for. Its ``top`` is left to the caller, who may want to
        tell how many there are.
    """
    wanted = [
        topic
        for topic in topics
        if query.topic_class in {None, topic.topic_class}
        and query.status in {None, topic.status}
        and query.search in topic.topic.lower()
    ]
    wanted.sort(key=lambda topic: _worst_first(topic, counts))
    key = KEYS.get(query.sort)
    if key is None:
        return wanted
    keyed = [(key(t, counts.get(t.topic, {})), t) for t in wanted]
    known = [(value, t) for value, t in keyed if value is not None]
    # Stable: what is alike stays in the order of how much it matters.
    known.sort(key=lambda pair: pair[0], reverse=query.descending)
    return [
        *(topic for _, topic in known),
        *(topic for value, topic in keyed if value is None),
    ]


def is_late(topic: TopicLag) -> bool:
    """Tell whether what waits of a topic is worth a line."""
    return topic.status not in CALM or topic.seconds >= NOTED_SECONDS


def _worst_first(topic: TopicLag, counts: Facts) -> tuple[float | str, ...]:
    """Return what sorts a topic: how late first, then what is missing, then
    what is on its way, then what would be lost next.
    """
    gone = missing(counts.get(topic.topic, {}))
    left = topic.headroom.remaining if topic.headroom else timedelta.max
    late = topic.seconds if is_late(topic) else -1
    return (
        *(-late, -gone, -topic.seconds, -topic.records),
        *(left.total_seconds(), topic.topic),
    )


def _told(duration: timedelta | None) -> float | None:
    return None if duration is None else duration.total_seconds()
