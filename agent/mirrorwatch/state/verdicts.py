"""The verdicts of the last tick, so that ``since`` survives a restart."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from ..domain.verdicts import Verdict
from .codec import from_json, to_json
from .database import Database

__all__ = ["VerdictStore"]

FORGET_AFTER = timedelta(minutes=5)
"""A longer pause is a break in what was seen, so that nothing can be said to
have been so *since* a time before it."""

_TABLE = """
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
            sql.execute(_TABLE)

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
