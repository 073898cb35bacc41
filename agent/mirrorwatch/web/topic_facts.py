"""What is known of single topics beside their lag."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from ..domain.observations import Observation
from ..domain.resets import PositionObservation
from ..domain.skips import SkipsObservation

__all__ = ["NAMES", "Facts", "missing", "topic_facts"]

Facts = Mapping[str, Mapping[str, int]]
"""Counts by topic and name."""

NAMES = (
    "skipped_records",
    "recovered_records",
    "repeated_records",
    "unverifiable_offsets",
    "suspected_records",
    "position_resets",
)
"""Counts since the state file was made, and what is suspected now; `null`
while they are not known."""


def _resets(seen: Observation) -> Facts:
    if not isinstance(seen, PositionObservation):
        return {}
    return {t: {"position_resets": n} for t, n in seen.counts.items()}


def _skips(seen: Observation) -> Facts:
    if not isinstance(seen, SkipsObservation):
        return {}
    suspected: Counter[str] = Counter()
    for suspicion in seen.suspicions:
        suspected[suspicion.topic] += suspicion.count
    return {
        topic: {
            "skipped_records": tally.skipped,
            "recovered_records": tally.recovered,
            "repeated_records": tally.repeated,
            "unverifiable_offsets": tally.unverifiable,
            "suspected_records": suspected[topic],
        }
        for topic, tally in seen.tallies
    }


READERS: tuple[Callable[[Observation], Facts], ...] = (_resets, _skips)
"""Each reads one kind of observation, and nothing of the others."""


def topic_facts(observations: Iterable[Observation], flow: str) -> Facts:
    """Return the counts of a flow's topics, as far as they are known.

    Parameters
    ----------
    observations
        What was seen in one tick.
    flow
        Name of the flow.
    """
    found: dict[str, dict[str, int]] = {}
    for seen in observations:
        if seen.flow == flow:
            for read in READERS:
                for topic, counts in read(seen).items():
                    found.setdefault(topic, {}).update(counts)
    return found


def missing(counts: Mapping[str, int]) -> int:
    """Return how many records of a topic are not at the target, or seem not
    to come.
    """
    gone = counts.get("skipped_records", 0) - counts.get(
        "recovered_records", 0
    )
    return gone + counts.get("suspected_records", 0)
