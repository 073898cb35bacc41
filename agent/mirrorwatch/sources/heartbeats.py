"""Heartbeats of a mirror, as the tick observes them; it never blocks."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from ..domain.heartbeats import HeartbeatsObservation, HeartbeatTracker
from ..domain.mirror_records import Heartbeat
from .mirror_state import MirrorState

__all__ = ["HeartbeatsSource", "newest_heartbeats"]

KINDS = {"target": "heartbeats", "carried": "carried", "source": "beats"}
"""Kind of topic, by where heartbeats are: written at the target, replicated
there, or at the source."""


def newest_heartbeats(positions: MirrorState) -> Iterator[Heartbeat]:
    """Yield the newest heartbeat of each pair, of topics that were read to
    their ends: of others, old ones look like the newest.
    """
    return (
        beat
        for beat in positions.heartbeats()
        if positions.optional.get(KINDS[beat.place]).readable
    )


class HeartbeatsSource:
    """Reports the heartbeats of one flow.

    Parameters
    ----------
    flow
        Name of the flow.
    positions
        State of the mirror's internal topics.
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
        # After a time in which nobody read, the newest known one is old.
        old = self._positions.is_late(now) or any(
            t.again for t in topics.values()
        )
        self._begun = not old and (self._begun or known)
        if not self._begun and not problems:
            return []
        if not problems:
            self._tracker.note(newest_heartbeats(self._positions), now)
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
        # Of one side that cannot be read, the newest one known is old.
        both = not (topics["source"].problem or topics["carried"].problem)
        carried = self._tracker.carried() if both else ()
        if not carried:
            # Only the configuration says whether there should be any.
            problems += self._positions.configs_problems()
        return [
            HeartbeatsObservation(
                flow=self._flow,
                at=now,
                interval=interval,
                worker=self._tracker.worker(self._aliases),
                expected_since=self._expected_since,
                carried=carried,
                problems=problems,
            )
        ]
