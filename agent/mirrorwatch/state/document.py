"""Small books of a flow that are read and written as a whole."""

from typing import Generic, TypeVar

from .codec import from_json, to_json
from .database import Database

__all__ = ["DocumentStore"]

T = TypeVar("T")

_TABLE = """
CREATE TABLE IF NOT EXISTS document (
    flow TEXT, name TEXT, body TEXT NOT NULL,
    PRIMARY KEY (flow, name)) WITHOUT ROWID
"""


class DocumentStore(Generic[T]):
    """Keeps one value of one flow over restarts of the agent.

    Parameters
    ----------
    database
        The state file.
    flow
        Name of the flow.
    name
        What the value is called there.
    kind
        Dataclass of the value; made without arguments where none is kept.

    Raises
    ------
    StateError
        Raised by every method if the file cannot be used.
    """

    def __init__(
        self, database: Database, flow: str, name: str, kind: type[T]
    ) -> None:
        self._database = database
        self._key = (flow, name)
        self._kind = kind
        with database.transaction() as sql:
            sql.execute(_TABLE)

    def load(self) -> T:
        """Read the value."""
        with self._database.transaction() as sql:
            row = sql.execute(
                "SELECT body FROM document WHERE flow = ? AND name = ?",
                self._key,
            ).fetchone()
        return from_json(self._kind, row[0]) if row else self._kind()

    def save(self, value: T) -> None:
        """Write the value."""
        with self._database.transaction() as sql:
            sql.execute(
                "INSERT OR REPLACE INTO document VALUES (?, ?, ?)",
                (*self._key, to_json(value)),
            )
