"""Follows the lag of one flow, survey by survey."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from threading import Lock

from ...domain.lag import LagObservation, LagTracker
from ...domain.view import FlowView, TopicPartition
from ..cluster import Cluster
from ..positions import Positions
from .heads import read_heads
from .hidden import HiddenTopics

__all__ = ["LagWatch"]

READ_AT_ONCE = 200
"""Positions at which a record is read in one step: about a second's work,
and the rest is read in the next ones."""


class LagWatch:
    """Reads surveys, reads records where these leave a doubt, and reports.

    Parameters
    ----------
    flow
        Name of the flow.
    tracker
        Works out the lag.
    positions
        What the mirror says of itself.
    source
        The source.
    properties
        librdkafka properties of it.
    carries
        Tells whether the flow carries a source topic.
    clock
        Gives the time.
    """

    interval = timedelta(seconds=1)

    def __init__(
        self,
        *,
        flow: str,
        tracker: LagTracker,
        positions: Positions,
        source: Cluster,
        properties: Mapping[str, str],
        carries: Callable[[str], bool],
        clock: Callable[[], datetime],
    ) -> None:
        self.name = f"lag {flow}"
        self._tracker = tracker
        self._positions = positions
        self._source = source
        self._properties = properties
        self._carries = carries
        self._clock = clock
        self._hidden = HiddenTopics(source)
        self._problem: str | None = None
        self._lock = Lock()
        self._seen: LagObservation | None = None
        self._doubtful = False

    def take(self, view: FlowView) -> None:
        """Learn from a survey."""
        connectors = self._positions.connectors()
        with self._lock:
            self._seen = self._tracker.take(view, connectors)
            self._doubtful = True

    def step(self) -> None:
        """Read the records that tell whether data waits, and since when."""
        self._read_heads()
        with self._lock:
            seen = self._seen
        if seen is not None and self._hidden.is_due(self._clock()):
            copied = {
                topic
                for assignment in self._positions.assignments()
                for topic, _ in assignment.partitions
            }
            unseen = filter(
                self._carries, copied - {t.topic for t in seen.topics}
            )
            self._problem = self._hidden.look(unseen, self._clock())

    def _read_heads(self) -> None:
        with self._lock:
            if not self._doubtful:
                return
            wanted = list(islice(self._tracker.wanted(), READ_AT_ONCE))
            # Without any there is none until the next survey.
            self._doubtful = bool(wanted)
        if not wanted:
            return
        connectors = self._positions.connectors()
        committed = bool(connectors) and all(
            c.read_committed for c in connectors
        )
        heads = read_heads(
            self._properties,
            cluster=self._source.alias,
            wanted=wanted,
            isolation="read_committed" if committed else "read_uncommitted",
        )
        with self._lock:
            self._tracker.resolve(heads)

    def empty_until(self) -> Mapping[TopicPartition, int]:
        """Return up to where no data follows positions, where any was read."""
        with self._lock:
            return self._tracker.empty_until()

    def close(self) -> None:
        """Do nothing: a reading ends with its step."""

    def observe(self, now: datetime) -> Sequence[LagObservation]:
        """Return the lag of the last survey; its age tells if it is old."""
        del now
        with self._lock:
            seen = self._seen
        if seen is None:
            return []
        if self._problem is not None:
            problems = (*seen.problems, self._problem)
            seen = replace(seen, problems=problems)
        return [seen]
