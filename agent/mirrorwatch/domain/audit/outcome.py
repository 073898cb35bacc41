"""What comes of planning one lane."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .alignment import Pairing
from .facts import Feed, LaneFacts
from .plan import Lane, SourceRange, Span, Stated, Unverifiable

__all__ = ["Outcome", "to_gap", "to_lane"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What comes of planning one lane."""

    lane: Lane | None = None
    """What is compared, if anything is."""

    unverifiable: tuple[Unverifiable, ...] = ()
    """What cannot be."""

    stated: tuple[Stated, ...] = ()
    """What is left to later."""

    more: bool = False
    """Whether settled records are left for another piece."""


def to_lane(
    facts: LaneFacts,
    start: Pairing,
    end: Pairing,
    *,
    positions: Sequence[int | None],
    cut: Literal["idle", "sync", "timestamp", "window"],
    cut_at: datetime | None = None,
) -> Lane:
    """Return what is compared.

    Parameters
    ----------
    facts
        The lane.
    start
        First offsets.
    end
        Offsets after the last ones.
    positions
        Proved next data offset to copy of each feed.
    cut
        How the ends were made to agree.
    cut_at
        Time of what comes after.
    """
    goal = facts.goal
    return Lane(
        flow=facts.feeds[0].flow,
        cluster=facts.cluster,
        target_topic=facts.place[0],
        partition=facts.place[1],
        sources=tuple(
            SourceRange(
                flow=feed.flow,
                cluster=feed.log.cluster,
                topic=feed.log.place[0],
                partition=feed.log.place[1],
                span=Span(first, last),
                retained=feed.log.retained,
                position=position,
                topic_id=feed.log.topic_id,
                read_committed=feed.read_committed,
                decided=feed.decided,
            )
            for feed, first, last, position in zip(
                facts.feeds, start.sources, end.sources, positions, strict=True
            )
        ),
        span=Span(start.target, end.target),
        retained=Span(0, 0) if goal is None else goal.retained,
        timestamps=facts.timestamps,
        compacted=facts.compacted,
        cut=cut,
        topic_id="" if goal is None else goal.topic_id,
        cut_at=cut_at,
    )


def to_gap(
    feed: Feed, reason: str, records: int | None = None
) -> Unverifiable:
    """Return that a source partition cannot be audited.

    Parameters
    ----------
    feed
        The partition.
    reason
        Why, in words for a person.
    records
        How many offsets that is, where it is known.
    """
    topic, partition = feed.log.place
    return Unverifiable(
        flow=feed.flow,
        topic=topic,
        partition=partition,
        reason=reason,
        records=records,
    )
