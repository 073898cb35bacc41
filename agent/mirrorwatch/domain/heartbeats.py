"""Facts about MirrorMaker 2's own signs of life."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from .positions import Heartbeat

__all__ = ["Beat", "BeatBook", "Carried", "HeartbeatsObservation"]

Pair = tuple[str, str, str]
"""Place, and the aliases that a heartbeat names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Beat:
    """The newest heartbeat of one pair in one topic."""

    beat_at: datetime
    """When it was made, by the clock of who made it."""

    seen_at: datetime
    """When it was first seen, by our clock."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Carried:
    """Heartbeats that wait at the source, and their copies."""

    pair: tuple[str, str]
    """Aliases that they name."""

    source: Beat
    """The newest one at the source."""

    target: Beat
    """The newest one that was copied."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HeartbeatsObservation:
    """Heartbeats of one flow."""

    flow: str
    """Name of the flow."""

    at: datetime
    """When they were put together (UTC)."""

    interval: timedelta | None = None
    """How often a worker of this mirror writes one at the target; `None` if
    it writes none."""

    worker: Beat | None = None
    """The newest one that it wrote."""

    expected_since: datetime | None = None
    """Since when it is known to write them."""

    carried: tuple[Carried, ...] = ()
    """Those that are copied from the source."""

    problems: tuple[str, ...] = ()
    """What keeps them from being known, in sentences."""


class BeatBook:
    """Remembers when each heartbeat was seen.

    Notes
    -----
    The heartbeats topics are compacted, and clocks of sites differ: so
    staleness is counted from when something new was seen, by our own clock.
    Only the first one of a pair is believed its time.
    """

    def __init__(self) -> None:
        self._beats: dict[Pair, Beat] = {}

    def note(self, beats: Iterable[Heartbeat], now: datetime) -> None:
        """Take the newest heartbeat of each pair."""
        for found in beats:
            key = (found.place, found.source, found.target)
            known = self._beats.get(key)
            if known is None:
                self._beats[key] = Beat(
                    beat_at=found.beat_at,
                    seen_at=min(found.written_at, now),
                )
            elif known.beat_at != found.beat_at:
                self._beats[key] = Beat(beat_at=found.beat_at, seen_at=now)

    def worker(self, pair: tuple[str, str]) -> Beat | None:
        """Return the newest one that a worker wrote at the target."""
        return self._beats.get(("target", *pair))

    def carried(self) -> tuple[Carried, ...]:
        """Return those that were copied at least once."""
        return tuple(
            Carried(pair=(source, target), source=beat, target=copy)
            for (place, source, target), beat in self._by_pair().items()
            if place == "source"
            and (copy := self._beats.get(("carried", source, target)))
        )

    def _by_pair(self) -> Mapping[Pair, Beat]:
        return dict(sorted(self._beats.items()))
