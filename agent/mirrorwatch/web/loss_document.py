"""How long until records are lost, as the API says it."""

from collections.abc import Iterable
from typing import Any

from ..domain.lag import FirstLoss, TopicLag, first_loss

__all__ = ["losses_document"]


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
    seen = list(topics)
    return {
        "time_to_loss": _show(first_loss(seen)),
        "waiting_time_to_loss": _show(
            first_loss([topic for topic in seen if topic.records])
        ),
    }


def _show(loss: FirstLoss | None) -> dict[str, Any] | None:
    if loss is None:
        return None
    left, drain = loss.headroom, loss.topic.drain
    return {
        "topic": loss.topic.topic,
        "others_alike": loss.others_alike,
        "seconds": round(left.remaining.total_seconds(), 3),
        "share": round(left.share, 3),
        "estimated": left.estimated,
        "lag_records": loss.topic.records,
        "drain_seconds": None
        if drain is None
        else round(drain.total_seconds(), 3),
    }
