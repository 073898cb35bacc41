"""Batches that wait for their server, in order, bounded."""

from collections import deque
from threading import Condition

from .batch import Batch

__all__ = ["Backlog"]


class Backlog:
    """Batches that wait in memory; the oldest goes when there is no room.

    Parameters
    ----------
    limit
        How many batches may wait.

    Notes
    -----
    A batch that was taken still counts as waiting until it is `done` with,
    and comes back to the front with `put_back`, so nothing is forgotten
    between the two. A backlog in the state file would offer the same methods.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: deque[Batch] = deque()
        self._taken: Batch | None = None
        self._changed = Condition()

    @property
    def points(self) -> int:
        """Points that are not written yet."""
        with self._changed:
            taken = 0 if self._taken is None else self._taken.points
            return taken + sum(batch.points for batch in self._waiting)

    def put(self, batch: Batch) -> Batch | None:
        """Add a batch; return the one that had to go for it, if any."""
        with self._changed:
            self._waiting.append(batch)
            self._changed.notify()
            return self._evicted()

    def wait(self, timeout_seconds: float) -> bool:
        """Wait until there is a batch; return whether there is one."""
        with self._changed:
            return self._changed.wait_for(
                lambda: bool(self._waiting), timeout_seconds
            )

    def take(self) -> Batch | None:
        """Take the oldest batch, if there is one."""
        with self._changed:
            self._taken = self._waiting.popleft() if self._waiting else None
            return self._taken

    def done(self) -> None:
        """Forget the batch that was taken: it is settled."""
        with self._changed:
            self._taken = None

    def put_back(self) -> Batch | None:
        """Return the batch that was taken to the front.

        Returns
        -------
        Batch or None
            That batch itself, if there is no room for it any more.
        """
        with self._changed:
            batch, self._taken = self._taken, None
            if batch is not None:
                self._waiting.appendleft(batch)
            return self._evicted()

    def clear(self) -> int:
        """Forget all that wait; return how many points those were."""
        with self._changed:
            points = sum(batch.points for batch in self._waiting)
            self._waiting.clear()
            return points

    def _evicted(self) -> Batch | None:
        if len(self._waiting) <= self._limit:
            return None
        return self._waiting.popleft()
