"""What an agent says of lag on a lab."""

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.lag import LagObservation, TopicLag

from .watch import Watch, wait_until

__all__ = ["lag_of", "lags_of", "wait_until_copied"]

PATIENT = 180
"""Seconds until a mirror has gone on, on a machine that does other things."""


def lags_of(watch: Watch) -> LagObservation | None:
    """Return the newest that an agent reported."""
    report = watch.agent.board.report
    for seen in report.observations if report else ():
        if isinstance(seen, LagObservation):
            return seen
    return None


def lag_of(watch: Watch, topic: str) -> TopicLag | None:
    """Return what it says of one topic."""
    seen = lags_of(watch)
    topics = seen.topics if seen else ()
    return next((t for t in topics if t.topic == topic), None)


def wait_until_copied(watch: Watch, topic: str) -> None:
    """Wait until an agent that looks from now on sees nothing wait."""
    called = utc_now()

    def is_copied() -> bool:
        seen, lag = lags_of(watch), lag_of(watch, topic)
        later = seen is not None and seen.at > called
        return later and lag is not None and lag.records == 0

    wait_until(is_copied, within=PATIENT, what=lambda: lag_of(watch, topic))
