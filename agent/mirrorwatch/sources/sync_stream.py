"""Every sync, for one reader that takes its time."""

from collections import deque
from threading import Lock

from ..domain.positions import Sync

__all__ = ["SyncStream"]


class SyncStream:
    """Keeps what one thread puts until another one takes it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: deque[Sync] = deque()

    def put(self, sync: Sync) -> None:
        """Keep a sync."""
        with self._lock:
            self._kept.append(sync)

    def take(self) -> tuple[Sync, ...]:
        """Return every sync since the last call, in the topic's order."""
        with self._lock:
            found = tuple(self._kept)
            self._kept.clear()
            return found
