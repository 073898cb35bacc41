"""What an agent says of lag on a lab."""

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.lag.model import LagObservation, TopicLag

from .watch import Watch, wait_until

__all__ = ["lag_in", "lag_of", "lags_of", "wait_until_copied"]


def lags_of(watch: Watch) -> LagObservation | None:
    """Return the newest that an agent reported."""
    report = watch.agent.board.report
    for seen in report.observations if report else ():
        if isinstance(seen, LagObservation):
            return seen
    return None


def lag_of(watch: Watch, topic: str) -> TopicLag | None:
    """Return what it says of one topic."""
    return lag_in(lags_of(watch), topic)


def lag_in(seen: LagObservation | None, topic: str) -> TopicLag | None:
    """Return what one report says of a topic."""
    topics = seen.topics if seen else ()
    return next((t for t in topics if t.topic == topic), None)


def wait_until_copied(watch: Watch, topic: str) -> None:
    """Wait until an agent that looks from now on sees nothing wait."""
    called = utc_now()

    def is_copied() -> bool:
        seen = lags_of(watch)
        lag = lag_in(seen, topic)
        later = seen is not None and seen.at > called
        return later and lag is not None and lag.records == 0

    wait_until(is_copied, what=lambda: lag_of(watch, topic))
