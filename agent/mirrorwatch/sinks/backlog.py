"""Batches that wait for their server: fresh ones in memory, others spooled."""

from collections import deque
from threading import Condition

from .batch import Batch
from .spool import Rows, Spool

__all__ = ["MOST_FRESH", "Backlog"]

MOST_FRESH = 720
"""Batches that wait in memory while the state file cannot be written: an
hour at a tick of 5 s, and at about 10 kB a batch less than 10 MB. While it
can, at most one does."""


class Backlog:
    """Batches that wait: the newest in memory, all others in the spool.

    Parameters
    ----------
    spool
        Where batches wait that were not taken by the server at once.
    most_fresh
        How many may wait in memory while the spool cannot be used.

    Raises
    ------
    StateError
        Raised by every method but `points` and `wait` if the spool cannot be
        used. Nothing is forgotten by that.

    Notes
    -----
    A batch goes from memory to the server, and the state file is never
    touched, while each is settled before the next one comes. If it is not,
    or the server is known to be away, all that are in memory go to the spool
    before `put` returns, the one under way too. So an agent that is killed
    loses no point but those of its newest tick, and these only if the server
    had answered so far.

    Fresh batches are taken before those of the spool: they go on being
    written at once while the past is drained.
    """

    def __init__(self, spool: Spool, *, most_fresh: int = MOST_FRESH) -> None:
        self._spool = spool
        self._most_fresh = most_fresh
        self._fresh: deque[Batch] = deque()
        self._taken: Batch | None = None
        self._rows: Rows | None = None
        self._dropped = 0
        self._closed = False
        self._changed = Condition()

    @property
    def points(self) -> int:
        """Points that are not written yet, those under way included."""
        with self._changed:
            return self._spool.points + self.fresh_points

    @property
    def fresh_points(self) -> int:
        """Those of them that are in memory only."""
        with self._changed:
            return sum(batch.points for batch in self._fresh)

    @property
    def dropped_points(self) -> int:
        """Points that had to go because there was no room."""
        return self._dropped

    def put(self, batch: Batch, *, safely: bool) -> None:
        """Add a batch.

        Parameters
        ----------
        batch
            The newest.
        safely
            Whether to spool it at once, as its server is away.
        """
        with self._changed:
            self._fresh.append(batch)
            self._changed.notify()
            try:
                if safely or len(self._fresh) > 1:
                    self._save()
            finally:
                self._limit()

    def wait(self, timeout_seconds: float) -> bool:
        """Wait until there is a batch; return whether there is one."""
        with self._changed:
            return self._changed.wait_for(
                lambda: bool(self._fresh or self._spool.points),
                timeout_seconds,
            )

    def take(self, most_points: int) -> Batch | None:
        """Take a fresh batch, or else the oldest, as long as there is one.

        Parameters
        ----------
        most_points
            How many points of the spool to take, if more than one batch.
        """
        with self._changed:
            self._taken = self._rows = None
            if self._fresh:
                self._taken = self._fresh[0]
            elif spooled := self._spool.oldest(most_points):
                self._rows, self._taken = spooled
            return self._taken

    def done(self) -> None:
        """Forget the batch that was taken: it is settled."""
        with self._changed:
            taken, rows = self._taken, self._rows
            self._taken = self._rows = None
            if taken is None or self._closed:
                return
            if rows is not None:
                self._spool.remove(rows)
            elif self._fresh and self._fresh[0] is taken:
                self._fresh.popleft()

    def put_back(self) -> None:
        """Keep the batch that was taken, and all others, for later."""
        with self._changed:
            self._taken = self._rows = None
            self._save()

    def close(self) -> int:
        """Spool what is in memory. Nothing is touched any more.

        Returns
        -------
        int
            How many points end with the process: none, unless the state is
            kept in memory.

        Notes
        -----
        What is under way beyond this is sent again by the next agent.
        """
        with self._changed:
            try:
                self._save()
            finally:
                self._closed = True
            return 0 if self._spool.lasts else self._spool.points

    def _save(self) -> None:
        """Move what is in memory to the spool, in order."""
        if not self._fresh or self._closed:
            return
        taken_is_fresh = self._taken is not None and self._rows is None
        rows, dropped = self._spool.append(tuple(self._fresh), self._rows)
        if taken_is_fresh:
            self._rows = Rows(rows.first, rows.first)
        self._fresh.clear()
        self._dropped += dropped

    def _limit(self) -> None:
        """Drop the oldest in memory that is not under way."""
        while len(self._fresh) > self._most_fresh:
            oldest = 1 if self._taken is self._fresh[0] else 0
            self._dropped += self._fresh[oldest].points
            del self._fresh[oldest]
