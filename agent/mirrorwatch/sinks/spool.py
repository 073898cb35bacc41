"""Points that wait for their server in the state file, in order, bounded."""

import sqlite3
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from ..state import Database
from .batch import Batch

__all__ = ["Rows", "Spool"]

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
