"""How long until records are lost, as the API says it."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from ..domain.lag import Headroom, TopicLag

__all__ = ["losses_document"]

ALIKE = timedelta(minutes=1)
ALIKE_SHARE = 100
"""Topics that differ by less than a minute and a hundredth are alike, and the
first by name stands for them: which of a thousand topics has a record on its
way changes with every look, and is no news."""


def losses_document(topics: Iterable[TopicLag]) -> dict[str, Any]:
    """Return which topic would lose records first.

    Parameters
    ----------
    topics
        Topics of one flow.

    Notes
    -----
    Two answers: were the mirror to stop now, a topic that is kept for an hour
    loses what is written next before one that is kept for days; but of what
    waits already another topic may be the first to lose.
    """
    found = [(t, t.headroom) for t in topics if t.headroom is not None]
    waiting = [(t, left) for t, left in found if t.records]
    return {
        "time_to_loss": _first(found),
        "waiting_time_to_loss": _first(waiting),
    }


def _first(found: list[tuple[TopicLag, Headroom]]) -> dict[str, Any] | None:
    least = min((left.remaining for _, left in found), default=None)
    if least is None:
        return None
    margin = min(ALIKE, least / ALIKE_SHARE)
    alike = [pair for pair in found if pair[1].remaining <= least + margin]
    topic, left = min(alike, key=lambda pair: pair[0].topic)
    drain = topic.drain
    return {
        "topic": topic.topic,
        "others_alike": len(alike) - 1,
        "seconds": round(left.remaining.total_seconds(), 3),
        "share": round(left.share, 3),
        "estimated": left.estimated,
        "lag_records": topic.records,
        "drain_seconds": None
        if drain is None
        else round(drain.total_seconds(), 3),
    }
