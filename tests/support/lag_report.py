"""What a tick knows of lag."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from mirrorwatch.domain.lag.model import (
    Headroom,
    LagObservation,
    LagStatus,
    TopicLag,
)

__all__ = ["BEHIND", "NOW", "QUIET", "SEEN", "with_late"]

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
QUIET = TopicLag(
    topic="quiet",
    topic_class="",
    records=0,
    seconds=0,
    headroom=Headroom(remaining=timedelta(hours=72), share=1),
)
BEHIND = TopicLag(
    topic="late",
    topic_class="",
    records=40,
    seconds=50,
    status=LagStatus.MOVING,
    partition=3,
    position=17,
    origin="sync",
    stuck=timedelta(),
    headroom=Headroom(remaining=timedelta(hours=72), share=1),
)
SEEN = LagObservation(
    flow="f", at=NOW, topics=(QUIET, BEHIND), configs_known=True
)


def with_late(**changes: object) -> LagObservation:
    late = replace(BEHIND, **changes)  # type: ignore[arg-type]
    return replace(SEEN, topics=(QUIET, late))
