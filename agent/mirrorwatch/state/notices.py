"""What was told, so that a restart neither repeats nor forgets it."""

from collections.abc import Sequence

from ..domain.notices import Books, Message
from .codec import from_json, to_json
from .database import Database
from .outbox import Outbox

__all__ = ["NoticeStore"]

_TABLE = """
CREATE TABLE IF NOT EXISTS notice_books (
    only INTEGER PRIMARY KEY CHECK (only = 1), body TEXT NOT NULL)
"""


class NoticeStore:
    """Keeps what was told together with the messages that tell it.

    Parameters
    ----------
    database
        The state file.
    outbox
        Where messages wait.

    Raises
    ------
    StateError
        Raised by every method if the file cannot be used.
    """

    def __init__(self, database: Database, outbox: Outbox) -> None:
        self._database = database
        self._outbox = outbox
        with database.transaction() as sql:
            sql.execute(_TABLE)

    def load(self) -> Books:
        """Read what was told."""
        with self._database.transaction() as sql:
            row = sql.execute("SELECT body FROM notice_books").fetchone()
        return from_json(Books, row[0]) if row else Books()

    def save(self, books: Books, messages: Sequence[Message]) -> None:
        """Write what was told and the messages, all or nothing."""
        with self._database.transaction() as sql:
            sql.execute(
                "INSERT OR REPLACE INTO notice_books VALUES (1, ?)",
                (to_json(books),),
            )
            self._outbox.put(sql, messages)
        self._outbox.tell()
