"""Batches that wait for their server: fresh ones in memory, others spooled."""

import sqlite3
import zlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from threading import Condition
from typing import Protocol

from ..ports import Report
from ..state import Database

__all__ = ["Batch", "Outlet", "PointQueue", "Rows", "Spool"]


NAMED = 200
"""Characters of a point that name it: its series and time, as a rule."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Points in the words of one server, one a line.

    Notes
    -----
    Plain bytes, made in the tick: what waits in a backlog cannot change any
    more, its size is known, and it can be kept in a file as it is.
    """

    body: bytes
    """What is sent."""

    points: int
    """How many points that is: the unit in which loss is counted."""

    @property
    def name(self) -> str:
        """The first point, to be told in a log."""
        return self.body.split(b"\n", 1)[0].decode(errors="replace")[:NAMED]

    def halves(self) -> tuple["Batch", "Batch"]:
        """Return its first and its second half."""
        lines = self.body.split(b"\n")
        half = len(lines) // 2
        parts = lines[:half], lines[half:]
        first, second = (Batch(b"\n".join(p), len(p)) for p in parts)
        return first, second


class Outlet(Protocol):
    """Sends points to one server. `IsolatedSink` makes a sink of it."""

    name: str

    def encode(self, report: Report) -> Batch:
        """Make a report ready. Pure: no I/O, never fails."""
        ...

    def send(self, batch: Batch, timeout: timedelta) -> None:
        """Send a batch, and return when the server has it.

        Sending the same points twice must do no harm: the answer to the
        first may have been lost.

        Raises
        ------
        SinkRejectedError
            Raised if the server refuses data for good. Others of the batch
            may have been taken.
        SinkError
            Raised if it could not be sent now; a later try may succeed.
        """
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


_TABLE = """
CREATE TABLE IF NOT EXISTS spool (
    id INTEGER PRIMARY KEY AUTOINCREMENT, sink TEXT NOT NULL,
    points INTEGER NOT NULL, body BLOB NOT NULL)
"""

LEVEL = 1
"""Of compression: line protocol repeats itself, so that the quickest level
leaves an eighth. It is done in the tick."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A stretch of the spool."""

    first: int
    last: int


ALL = Rows(0, 2**63 - 1)
NONE = Rows(0, 0)
"""Rows are counted from 1."""


class Spool:
    """Batches of one sink in the state file; the oldest go for the newest.

    Parameters
    ----------
    database
        The state file.
    sink
        Name of the sink.
    limit_bytes
        How many bytes may wait, as they are kept: compressed.

    Raises
    ------
    StateError
        Raised by every method if the file cannot be used.

    Notes
    -----
    What `append` has returned for survives a kill and a loss of power. What
    was sent is removed afterwards, so after a kill in between it is sent
    again, which does no harm. Nothing is written while nothing waits. The
    file keeps the size that it once had; its room is used again.
    """

    def __init__(
        self, database: Database, sink: str, *, limit_bytes: int
    ) -> None:
        self._database = database
        self._sink = sink
        self._limit = limit_bytes
        with database.transaction() as sql:
            sql.execute(_TABLE)
            self._points, self._bytes = self._weigh(sql)

    @property
    def lasts(self) -> bool:
        """Whether what waits here outlives the process."""
        return self._database.lasts

    @property
    def points(self) -> int:
        """How many points wait."""
        return self._points

    def append(
        self, batches: Sequence[Batch], under_way: Rows | None = None
    ) -> tuple[Rows, int]:
        """Keep batches behind all others, whatever their size.

        Parameters
        ----------
        batches
            At least one.
        under_way
            Rows that are being sent: they are never dropped, as nobody could
            tell whether they were lost.

        Returns
        -------
        tuple of Rows and int
            Where they are now, and how many points had to go for them.
        """
        bodies = [zlib.compress(batch.body, LEVEL) for batch in batches]
        points = sum(batch.points for batch in batches)
        size = sum(map(len, bodies))
        with self._database.transaction() as sql:
            excess = self._bytes + size - self._limit
            dropped, freed = self._drop(sql, excess, under_way or NONE)
            ids = [
                sql.execute(
                    "INSERT INTO spool (sink, points, body) VALUES (?, ?, ?)",
                    (self._sink, batch.points, body),
                ).lastrowid
                or 0
                for batch, body in zip(batches, bodies, strict=True)
            ]
        self._points += points - dropped
        self._bytes += size - freed
        return Rows(ids[0], ids[-1]), dropped

    def oldest(self, most_points: int) -> tuple[Rows, Batch] | None:
        """Return the oldest batches as one: one, or as many as fit."""
        taken: list[tuple[int, int, bytes]] = []
        total = 0
        with self._database.transaction() as sql:
            for row in sql.execute(
                "SELECT id, points, body FROM spool WHERE sink = ? "
                "ORDER BY id",
                (self._sink,),
            ):
                total += row[1]
                if taken and total > most_points:
                    break
                taken.append(row)
        if not taken:
            return None
        body = b"\n".join(zlib.decompress(body) for *_, body in taken)
        points = sum(points for _, points, _ in taken)
        return Rows(taken[0][0], taken[-1][0]), Batch(body, points)

    def remove(self, rows: Rows) -> None:
        """Forget rows: they are settled."""
        with self._database.transaction() as sql:
            points, size = self._weigh(sql, rows)
            sql.execute(
                "DELETE FROM spool WHERE sink = ? AND id BETWEEN ? AND ?",
                (self._sink, rows.first, rows.last),
            )
        self._points -= points
        self._bytes -= size

    def _drop(
        self, sql: sqlite3.Connection, excess: int, spared: Rows
    ) -> tuple[int, int]:
        """Drop the oldest until there is room; return points and bytes."""
        points = freed = 0
        gone: list[tuple[int]] = []
        for row, its_points, size in sql.execute(
            "SELECT id, points, length(body) FROM spool WHERE sink = ? "
            "AND id NOT BETWEEN ? AND ? ORDER BY id",
            (self._sink, spared.first, spared.last),
        ):
            if freed >= excess:
                break
            gone.append((row,))
            points, freed = points + its_points, freed + size
        sql.executemany("DELETE FROM spool WHERE id = ?", gone)
        return points, freed

    def _weigh(
        self, sql: sqlite3.Connection, rows: Rows = ALL
    ) -> tuple[int, int]:
        points, size = sql.execute(
            "SELECT coalesce(sum(points), 0), "
            "coalesce(sum(length(body)), 0) FROM spool "
            "WHERE sink = ? AND id BETWEEN ? AND ?",
            (self._sink, rows.first, rows.last),
        ).fetchone()
        return points, size


MOST_FRESH = 720
"""Batches that wait in memory while the state file cannot be written: an
hour at a tick of 5 s, and at about 10 kB a batch less than 10 MB. While it
can, at most one does."""


class PointQueue:
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
