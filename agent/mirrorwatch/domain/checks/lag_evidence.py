"""What the check ``lag`` shows beside its verdict."""

from collections.abc import Mapping
from datetime import timedelta

from ..lag import LagObservation, LagStatus, TopicLag
from ..verdicts import Evidence

__all__ = ["show_lag"]


def show_lag(
    seen: LagObservation, patience: Mapping[LagStatus, timedelta]
) -> Evidence:
    """Return figures of all topics, and of the one that is worst.

    Parameters
    ----------
    seen
        The lag of the flow.
    patience
        How long a position may stand, by status.
    """

    def badness(topic: TopicLag) -> tuple[bool, bool, float, int]:
        # What the verdict is about, and last what only waits to be found.
        allowed = patience.get(topic.status)
        return (
            allowed is not None and (topic.stuck or timedelta()) > allowed,
            topic.status is not LagStatus.NOT_BEGUN,
            topic.seconds,
            topic.records,
        )

    worst = max(seen.topics, key=badness, default=None)
    found: dict[str, str | int | float | bool | None] = {
        "lag_records": seen.records,
        "lag_seconds": round(seen.seconds, 3),
        "topics": len(seen.topics),
        "topics_behind": sum(t.records > 0 for t in seen.topics),
    }
    if worst is None or not worst.records:
        return found
    return found | {
        "worst_topic": worst.topic,
        "worst_status": worst.status,
        "worst_partition": worst.partition,
        "worst_position": worst.position,
        "worst_position_by": worst.origin,
        "worst_records": worst.records,
        "worst_drain_seconds": None
        if worst.drain is None
        else round(worst.drain.total_seconds()),
    }
