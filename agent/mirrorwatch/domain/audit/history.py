"""How many records of a topic are usual, by the nights before."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from statistics import median

from .result import FinishedAudit, TopicCount

__all__ = ["NIGHTS", "with_usual"]

NIGHTS = 7
"""Nights that are looked back on: a week, so that a weekend is one of them."""

LEAST_NIGHTS = 3

LEAST_COVERED = timedelta(minutes=30)
"""Of a run over less time, as one that was repeated at once, no rate is
taken."""


def with_usual(
    audit: FinishedAudit, before: Iterable[FinishedAudit]
) -> FinishedAudit:
    """Return a night with what is usual of each of its topics.

    Parameters
    ----------
    audit
        The night.
    before
        All runs that are kept.

    Notes
    -----
    Nights differ in length, as one makes up for another that was missed: so
    it is rates that are compared. Their median, as one night without a
    source must not change what is usual. What could not be verified was not
    counted whole, nor was what the mirror had not copied, so such a topic has
    no rate that night.
    """
    night = audit.result
    covered = audit.speed.covered
    if not night.nightly or covered < LEAST_COVERED:
        return audit
    earlier = sorted(
        (
            a
            for a in before
            if a.result.nightly
            and a.result.end < night.end
            and a.speed.covered >= LEAST_COVERED
        ),
        key=lambda a: a.result.end,
    )
    rates: dict[tuple[str, str], list[float]] = defaultdict(list)
    for other in earlier[-NIGHTS:]:
        for count in _whole(other):
            rate = count.source_count / other.speed.covered.total_seconds()
            rates[count.flow, count.topic].append(rate)
    whole = {(count.flow, count.topic) for count in _whole(audit)}

    def told(count: TopicCount) -> TopicCount:
        known = rates[count.flow, count.topic]
        if len(known) < LEAST_NIGHTS or (count.flow, count.topic) not in whole:
            return count
        usual = round(median(known) * covered.total_seconds())
        return replace(count, usual_count=usual)

    topics = tuple(told(count) for count in night.topics)
    return replace(audit, result=replace(night, topics=topics))


def _whole(audit: FinishedAudit) -> list[TopicCount]:
    result = audit.result
    left = {(gap.flow, gap.topic) for gap in result.unverifiable}
    left |= {
        (what.flow, what.topic)
        for what in result.stated
        if what.kind == "in_flight"
    }
    return [c for c in result.topics if (c.flow, c.topic) not in left]
