"""Partitions that wait although the task that has them goes on."""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import timedelta

from ..conservation import Suspicion
from ..lag import LagObservation, TopicLag
from ..verdicts import Health
from ..view import TopicPartition
from ..words import agree, counted
from .finding import Finding

__all__ = ["find_suspected", "set_apart"]


def set_apart(
    seen: LagObservation, left_behind: AbstractSet[TopicPartition]
) -> LagObservation:
    """Return each topic by the worst partition that is not left behind.

    Parameters
    ----------
    seen
        Lag of a flow.
    left_behind
        Partitions whose task copies newer records of others: that task is
        well, so what waits there was dropped, or will soon be known to be.
    """
    if not left_behind:
        return seen  # as it is most of the time
    return replace(
        seen,
        topics=tuple(_by_others(topic, left_behind) for topic in seen.topics),
    )


def find_suspected(
    seen: LagObservation, suspicions: Iterable[Suspicion], allowed: timedelta
) -> Iterator[Finding]:
    """Yield what is suspected in the place of what would be called stuck.

    Parameters
    ----------
    seen
        Lag of a flow.
    suspicions
        Ends of partitions that seem to have been dropped.
    allowed
        How long a position may stand while records wait.
    """
    standing = {
        (topic.topic, each.partition)
        for topic in seen.topics
        for each in topic.standing
        if each.stuck > allowed
    }
    found = [s for s in suspicions if (s.topic, s.partition) in standing]
    if not found:
        return
    most = max(found, key=lambda s: s.count)
    others = (
        f"; so are those of {counted(len(found) - 1, 'more partition')}"
        if len(found) > 1
        else ""
    )
    yield Finding(
        Health.WARNING,
        f"{counted(most.count, 'record')} of {most.topic}[{most.partition}] "
        f"from offset {most.first} on {agree(most.count, 'wait while')} "
        f"{agree(most.count, 'their task')} copies newer ones of other "
        f"partitions: suspected to be dropped, not late{others}; see skips",
    )


def _by_others(
    topic: TopicLag, left_behind: AbstractSet[TopicPartition]
) -> TopicLag:
    if (topic.topic, topic.partition) not in left_behind:
        return topic
    others = (
        each
        for each in topic.standing
        if (topic.topic, each.partition) not in left_behind
    )
    worst = max(others, key=lambda each: each.stuck, default=None)
    if worst is None:
        return replace(topic, stuck=None)
    return replace(
        topic,
        status=worst.status,
        partition=worst.partition,
        position=worst.position,
        origin=worst.origin,
        stuck=worst.stuck,
    )
