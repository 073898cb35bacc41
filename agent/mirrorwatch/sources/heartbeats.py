"""What the tick sees of a mirror's heartbeats. Never waits for anything."""

from collections.abc import Sequence
from datetime import datetime

from ..domain.heartbeats import HeartbeatsObservation, HeartbeatTracker
from .mirror_state import MirrorState

__all__ = ["HeartbeatsSource"]

KINDS = {"target": "heartbeats", "carried": "carried", "source": "beats"}
"""Kind of topic, by where heartbeats are: written at the target, replicated
there, or at the source."""


class HeartbeatsSource:
    """Reports the heartbeats of one flow.

    Parameters
    ----------
    flow
        Name of the flow.
    positions
        What the mirror's internal topics said.
    aliases
        The mirror's aliases of source and target.
    """

    def __init__(
        self, flow: str, positions: MirrorState, aliases: tuple[str, str]
    ) -> None:
        self.name = f"heartbeats {flow}"
        self._flow = flow
        self._positions = positions
        self._aliases = aliases
        self._tracker = HeartbeatTracker()
        self._expected_since: datetime | None = None
        self._begun = False

    def observe(self, now: datetime) -> Sequence[HeartbeatsObservation]:
        topics = {
            place: self._positions.optional.get(kind)
            for place, kind in KINDS.items()
        }
        problems = tuple(
            dict.fromkeys(t.problem for t in topics.values() if t.problem)
        )
        known = all(t.absent or t.readable for t in topics.values())
        self._begun = self._begun or known
        if not self._begun and not problems:
            return []
        # Of a topic that is still being read, old ones look like the newest.
        self._tracker.note(
            (
                beat
                for beat in self._positions.heartbeats()
                if topics[beat.place].readable
            ),
            now,
        )
        interval = min(
            (
                found.interval
                for found in self._positions.companions()
                if found.role == "heartbeats" and found.interval
            ),
            default=None,
        )
        if interval is None:
            self._expected_since = None
        elif self._expected_since is None:
            self._expected_since = now
        return [
            HeartbeatsObservation(
                flow=self._flow,
                at=now,
                interval=interval,
                worker=self._tracker.worker(self._aliases),
                expected_since=self._expected_since,
                carried=self._tracker.carried(),
                problems=problems,
            )
        ]
