"""Since when conditions have stood, so that a restart forgets none."""

from collections.abc import Mapping
from datetime import datetime

from ..domain.standing import Changes
from .database import Database

__all__ = ["StandingStore"]

_TABLE = """
CREATE TABLE IF NOT EXISTS standing (
    flow TEXT, area TEXT, condition TEXT, since TEXT NOT NULL,
    PRIMARY KEY (flow, area, condition)) WITHOUT ROWID
"""


class StandingStore:
    """Keeps when each condition of one area of a flow was first seen.

    Parameters
    ----------
    database
        The state file.
    flow
        Name of the flow.
    area
        What the conditions are about.

    Raises
    ------
    StateError
        Raised by every method if the file cannot be used.
    """

    def __init__(self, database: Database, flow: str, area: str) -> None:
        self._database = database
        self._key = (flow, area)
        self._began: dict[str, datetime] = {}
        self._ended: set[str] = set()
        with database.transaction() as sql:
            sql.execute(_TABLE)

    def load(self) -> Mapping[str, datetime]:
        """Return all conditions, and since when."""
        with self._database.transaction() as sql:
            rows = sql.execute(
                "SELECT condition, since FROM standing "
                "WHERE flow = ? AND area = ?",
                self._key,
            ).fetchall()
        return {
            condition: datetime.fromisoformat(since)
            for condition, since in rows
        }

    def save(self, changes: Changes) -> None:
        """Write what began and what ended; nothing if nothing did.

        What could not be written is written with the next changes.
        """
        for condition in changes.ended:
            self._began.pop(condition, None)
        self._began.update(changes.began)
        self._ended |= changes.ended
        if not self._began and not self._ended:
            return
        with self._database.transaction() as sql:
            sql.executemany(
                "DELETE FROM standing "
                "WHERE flow = ? AND area = ? AND condition = ?",
                [(*self._key, condition) for condition in self._ended],
            )
            sql.executemany(
                "INSERT OR REPLACE INTO standing VALUES (?, ?, ?, ?)",
                [
                    (*self._key, condition, since.isoformat())
                    for condition, since in self._began.items()
                ],
            )
        self._began.clear()
        self._ended.clear()
