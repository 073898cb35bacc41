"""What the tick sees of a mirror's heartbeats. Never waits for anything."""

from collections.abc import Sequence
from datetime import datetime

from ..domain.heartbeats import BeatBook, HeartbeatsObservation
from .positions import Positions

__all__ = ["HeartbeatsSource"]

KINDS = ("heartbeats", "carried", "beats")
"""Topics that hold them: written at the target, copied there, and waiting at
the source."""


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
        self, flow: str, positions: Positions, aliases: tuple[str, str]
    ) -> None:
        self.name = f"heartbeats {flow}"
        self._flow = flow
        self._positions = positions
        self._aliases = aliases
        self._book = BeatBook()
        self._expected_since: datetime | None = None

    def observe(self, now: datetime) -> Sequence[HeartbeatsObservation]:
        topics = [self._positions.optional.get(kind) for kind in KINDS]
        unread = any(not t.absent and not t.readable for t in topics)
        problems = tuple(dict.fromkeys(t.problem for t in topics if t.problem))
        if unread and not problems:
            # Old ones would be taken for the newest.
            return []
        self._book.note(self._positions.heartbeats(), now)
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
                worker=self._book.worker(self._aliases),
                expected_since=self._expected_since,
                carried=self._book.carried(),
                problems=problems,
            )
        ]
