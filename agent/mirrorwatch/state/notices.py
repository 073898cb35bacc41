"""Messages that wait for their receivers, in order, bounded."""

from collections.abc import Iterable, Sequence
from sqlite3 import Connection
from threading import Condition

from ..domain.notices.model import NoticeMessage, NotificationState
from .codec import from_json, to_json
from .database import Database

__all__ = ["NoticeStore", "Outbox"]


MOST_WAITING = 100
"""Messages that wait for one receiver: five hours at the usual limit. More
would bury whoever comes back under what is over."""

_OUTBOX_TABLE = """
CREATE TABLE IF NOT EXISTS notice_outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT, receiver TEXT NOT NULL,
    body TEXT NOT NULL)
"""


class Outbox:
    """Messages that wait for their receivers.

    Parameters
    ----------
    database
        The state file.
    receivers
        Names of all receivers; what waits for others is forgotten.

    Raises
    ------
    StateError
        Raised by every method if the file cannot be used.

    Notes
    -----
    A message is written together with whatever caused it, and removed after
    its receiver took it. So none is lost, and one comes twice if the agent is
    killed in between: each carries an id that stays the same.
    """

    def __init__(self, database: Database, receivers: Iterable[str]) -> None:
        self._database = database
        self._receivers = tuple(receivers)
        self._news = Condition()
        self._dropped = 0
        with database.transaction() as sql:
            sql.execute(_OUTBOX_TABLE)
            places = ", ".join("?" for _ in self._receivers)
            sql.execute(
                "DELETE FROM notice_outbox "  # noqa: S608 - only places
                f"WHERE receiver NOT IN ({places})",
                self._receivers,
            )
            self._waiting = self._count(sql)

    @property
    def waiting(self) -> int:
        """How many messages wait, each counted for each receiver."""
        return sum(self._waiting.values())

    @property
    def dropped(self) -> int:
        """How many were given up because too many waited."""
        return self._dropped

    def put(self, sql: Connection, messages: Sequence[NoticeMessage]) -> None:
        """Add messages for every receiver, in a transaction of the caller's.

        `tell` is to follow when it is committed.
        """
        for receiver in self._receivers if messages else ():
            sql.executemany(
                "INSERT INTO notice_outbox (receiver, body) VALUES (?, ?)",
                [(receiver, to_json(message)) for message in messages],
            )
            self._dropped += sql.execute(
                "DELETE FROM notice_outbox WHERE receiver = ? AND id NOT IN "
                "(SELECT id FROM notice_outbox WHERE receiver = ? "
                "ORDER BY id DESC LIMIT ?)",
                (receiver, receiver, MOST_WAITING),
            ).rowcount

    def tell(self) -> None:
        """Wake whoever waits for messages."""
        with self._database.transaction() as sql:
            waiting = self._count(sql)
        with self._news:
            self._waiting = waiting
            self._news.notify_all()

    def wait(self, receiver: str, timeout_seconds: float) -> bool:
        """Wait until there is a message; return whether there is one."""
        with self._news:
            return self._news.wait_for(
                lambda: self._waiting.get(receiver, 0) > 0, timeout_seconds
            )

    def oldest(self, receiver: str) -> tuple[int, NoticeMessage] | None:
        """Return the number of the next message, and the message."""
        with self._database.transaction() as sql:
            row = sql.execute(
                "SELECT id, body FROM notice_outbox WHERE receiver = ? "
                "ORDER BY id LIMIT 1",
                (receiver,),
            ).fetchone()
        return (
            None if row is None else (row[0], from_json(NoticeMessage, row[1]))
        )

    def remove(self, number: int) -> None:
        """Forget a message that its receiver has settled."""
        with self._database.transaction() as sql:
            sql.execute("DELETE FROM notice_outbox WHERE id = ?", (number,))
        self.tell()

    def _count(self, sql: Connection) -> dict[str, int]:
        return dict(
            sql.execute(
                "SELECT receiver, count(*) FROM notice_outbox "
                "GROUP BY receiver"
            ).fetchall()
        )


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

    def load(self) -> NotificationState:
        """Read what was told."""
        with self._database.transaction() as sql:
            row = sql.execute("SELECT body FROM notice_books").fetchone()
        return (
            from_json(NotificationState, row[0])
            if row
            else NotificationState()
        )

    def save(
        self, books: NotificationState, messages: Sequence[NoticeMessage]
    ) -> None:
        """Write what was told and the messages, all or nothing."""
        with self._database.transaction() as sql:
            sql.execute(
                "INSERT OR REPLACE INTO notice_books VALUES (1, ?)",
                (to_json(books),),
            )
            self._outbox.put(sql, messages)
        self._outbox.tell()
