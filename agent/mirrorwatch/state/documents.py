"""Small books of a flow that are read and written as a whole."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from ..domain.parity.tracker import FirstSeenChanges
from ..domain.report import Verdict
from .codec import from_json, to_json
from .database import Database

__all__ = ["DocumentStore", "StandingStore", "VerdictStore"]


T = TypeVar("T")

_DOCUMENTS_TABLE = """
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
            sql.execute(_DOCUMENTS_TABLE)

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


_STANDING_TABLE = """
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
            sql.execute(_STANDING_TABLE)

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

    def save(self, changes: FirstSeenChanges) -> None:
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


FORGET_AFTER = timedelta(minutes=5)
"""A longer pause is a break in what was seen, so that nothing can be said to
have been so *since* a time before it."""

_VERDICTS_TABLE = """
CREATE TABLE IF NOT EXISTS verdict (
    flow TEXT, name TEXT, at TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (flow, name)) WITHOUT ROWID
"""


class VerdictStore:
    """Keeps the newest verdict of each check.

    Parameters
    ----------
    database
        The state file.

    Raises
    ------
    StateError
        Raised by every method if the file cannot be used.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.transaction() as sql:
            sql.execute(_VERDICTS_TABLE)

    def load(self, now: datetime) -> tuple[Verdict, ...]:
        """Read the verdicts, unless they are too old to go on from."""
        with self._database.transaction() as sql:
            rows = sql.execute("SELECT at, body FROM verdict").fetchall()
        return tuple(
            from_json(Verdict, body)
            for at, body in rows
            if now - datetime.fromisoformat(at) <= FORGET_AFTER
        )

    def newest(self) -> datetime | None:
        """Return when verdicts were last written; `None` for never."""
        with self._database.transaction() as sql:
            (at,) = sql.execute("SELECT max(at) FROM verdict").fetchone()
        return None if at is None else datetime.fromisoformat(at)

    def save(self, verdicts: Sequence[Verdict], now: datetime) -> None:
        """Write the verdicts of a tick."""
        with self._database.transaction() as sql:
            sql.execute("DELETE FROM verdict")
            sql.executemany(
                "INSERT INTO verdict VALUES (?, ?, ?, ?)",
                [
                    (v.flow, v.check, now.isoformat(), to_json(v))
                    for v in verdicts
                ],
            )
