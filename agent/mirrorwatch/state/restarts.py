"""Restarts of failed tasks, so that their bounds survive a restart."""

from ..domain.restarts import Restarts
from .codec import from_json, to_json
from .database import Database

__all__ = ["RestartStore"]

_TABLE = """
CREATE TABLE IF NOT EXISTS restarts (
    flow TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID
"""


class RestartStore:
    """Keeps what was done to failed tasks of one flow.

    Parameters
    ----------
    database
        The state file.
    flow
        Name of the flow.

    Raises
    ------
    StateError
        Raised by every method if the file cannot be used.
    """

    def __init__(self, database: Database, flow: str) -> None:
        self._database = database
        self._flow = flow
        with database.transaction() as sql:
            sql.execute(_TABLE)

    def load(self) -> Restarts:
        """Read what was done."""
        with self._database.transaction() as sql:
            row = sql.execute(
                "SELECT body FROM restarts WHERE flow = ?", (self._flow,)
            ).fetchone()
        return from_json(Restarts, row[0]) if row else Restarts()

    def save(self, restarts: Restarts) -> None:
        """Write what was done."""
        with self._database.transaction() as sql:
            sql.execute(
                "INSERT OR REPLACE INTO restarts VALUES (?, ?)",
                (self._flow, to_json(restarts)),
            )
