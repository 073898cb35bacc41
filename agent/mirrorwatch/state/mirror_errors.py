"""Errors of the mirror's tasks, so that their counters survive a restart."""

from ..domain.mirror_errors import ErrorBooks
from .codec import from_json, to_json
from .database import Database

__all__ = ["MirrorErrorStore"]

_TABLE = """
CREATE TABLE IF NOT EXISTS mirror_errors (
    flow TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID
"""


class MirrorErrorStore:
    """Keeps what was counted of one flow.

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

    def load(self) -> ErrorBooks:
        """Read what was counted."""
        with self._database.transaction() as sql:
            row = sql.execute(
                "SELECT body FROM mirror_errors WHERE flow = ?", (self._flow,)
            ).fetchone()
        return from_json(ErrorBooks, row[0]) if row else ErrorBooks()

    def save(self, books: ErrorBooks) -> None:
        """Write what was counted."""
        with self._database.transaction() as sql:
            sql.execute(
                "INSERT OR REPLACE INTO mirror_errors VALUES (?, ?)",
                (self._flow, to_json(books)),
            )
