"""Follows the lag of one flow, survey by survey."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from threading import Lock

from ...domain.lag import LagObservation, LagTracker
from ...domain.view import FlowView
from ..positions import Positions
from .heads import read_heads

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
        Alias of the source.
    properties
        librdkafka properties of the source.
    """

    interval = timedelta(seconds=1)

    def __init__(
        self,
        *,
        flow: str,
        tracker: LagTracker,
        positions: Positions,
        source: str,
        properties: Mapping[str, str],
    ) -> None:
        self.name = f"lag {flow}"
        self._tracker = tracker
        self._positions = positions
        self._source = source
        self._properties = properties
        self._lock = Lock()
        self._seen: LagObservation | None = None

    def take(self, view: FlowView) -> None:
        """Learn from a survey."""
        connectors = self._positions.connectors()
        with self._lock:
            self._seen = self._tracker.take(view, connectors)

    def step(self) -> None:
        """Read the records that tell whether data waits, and since when."""
        with self._lock:
            wanted = list(islice(self._tracker.wanted(), READ_AT_ONCE))
        if not wanted:
            return
        connectors = self._positions.connectors()
        committed = bool(connectors) and all(
            c.read_committed for c in connectors
        )
        heads = read_heads(
            self._properties,
            cluster=self._source,
            wanted=wanted,
            isolation="read_committed" if committed else "read_uncommitted",
        )
        with self._lock:
            self._tracker.resolve(heads)

    def close(self) -> None:
        """Do nothing: a reading ends with its step."""

    def observe(self, now: datetime) -> Sequence[LagObservation]:
        """Return the lag of the last survey; its age tells if it is old."""
        del now
        with self._lock:
            return [] if self._seen is None else [self._seen]
