"""The canary's latency of the last minutes, from the history."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from ..domain.latency import LatencyObservation
from ..exceptions import SourceError, StateError
from ..state.history import History

__all__ = ["LatencySource"]


LATENCY_WINDOW = timedelta(minutes=5)
"""The stretch that is judged: long enough for a 99th percentile (300 probes a
partition), short enough for an alarm."""


class LatencySource:
    """Reads the latency of one flow from the history.

    Parameters
    ----------
    flow
        Name of the flow.
    target
        Alias of its target.
    history
        History up to the tick before.
    """

    def __init__(self, flow: str, target: str, history: History) -> None:
        self.name = f"latency {flow}"
        self._flow = flow
        self._target = target
        self._history = history
        self._began: datetime | None = None

    def observe(self, now: datetime) -> Sequence[LatencyObservation]:
        self._began = min(self._began or now, now)
        watched = now - self._began
        try:
            recent = self._history.summary(
                self._flow, now - LATENCY_WINDOW, now
            )
            usual = self._history.usual_p99(self._flow, now)
        except StateError as e:
            raise SourceError(
                str(e), source=self.name, cluster=self._target
            ) from e
        return [
            LatencyObservation(
                flow=self._flow,
                at=now,
                p99=recent.quantile(0.99),
                usual=usual,
                measured=recent.delivered + recent.late,
                watched=watched if watched < LATENCY_WINDOW else None,
            )
        ]
