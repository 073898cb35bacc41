"""Events in the state file."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from ..domain.checks import MIRROR_NAME
from ..domain.events.journal import EventJournal, JournalState, title_of
from ..domain.events.model import Event
from ..domain.report import Cause, Verdict
from .database import Database
from .documents import DocumentStore, from_json, to_json

__all__ = ["EventStore"]

KEPT = timedelta(days=90)
MOST_KEPT = 100_000
"""Events that are kept, the newest: some 30 MB."""

MOST_ACKNOWLEDGED = 1000

_TABLE = """
CREATE TABLE IF NOT EXISTS events (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, until REAL, body TEXT NOT NULL)
"""
_INDEX = "CREATE INDEX IF NOT EXISTS events_until ON events (until)"


class EventStore:
    """Keeps the journal and its events, together or not at all.

    Parameters
    ----------
    database
        The state file.
    mirrors
        Names of the mirrors by flow, for titles.

    Raises
    ------
    StateError
        Raised by every method if the file cannot be used.
    """

    def __init__(self, database: Database, mirrors: Mapping[str, str]) -> None:
        self._database = database
        self._mirrors = mirrors
        self._document = DocumentStore(database, "", "events", JournalState)
        self._acknowledged = DocumentStore(
            database, "", "acknowledged", dict[int, datetime]
        )
        self._journal: EventJournal | None = None
        self._unsaved: dict[int, Event] = {}
        with database.transaction() as sql:
            sql.execute(_TABLE)
            sql.execute(_INDEX)

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Number of events by flow and code; none until they were read."""
        return {} if self._journal is None else self._journal.state.counts

    @property
    def unacknowledged(self) -> dict[str, list[int]]:
        """Losses that make a flow critical, by the numbers of their events."""
        return {} if self._journal is None else self._journal.unacknowledged

    def take(
        self,
        verdicts: Iterable[Verdict],
        causes: Iterable[Cause],
        now: datetime,
    ) -> tuple[Event, ...]:
        """Return the events that began, ended or grew in one tick.

        `save` writes them; what could not be written waits.
        """
        if self._journal is None:
            self._journal = EventJournal(self._load())
        changed, told = self._journal.take(verdicts, causes, now)
        self._unsaved |= {event.id: event for event in changed}
        return tuple(map(self._titled, told))

    @property
    def acknowledged(self) -> dict[int, datetime]:
        """Ends of events when they were acknowledged, by number."""
        return self._acknowledged.load()

    def acknowledge(self, event: Event) -> None:
        """Acknowledge an event that is over, until it grows: written by a
        command, read by the agent.
        """
        if event.until is None:
            return
        with self._database.transaction():
            known = self.acknowledged | {event.id: event.until}
            newest = sorted(known)[-MOST_ACKNOWLEDGED:]
            self._acknowledged.save({n: known[n] for n in newest})

    def without_acknowledged(
        self, verdicts: Iterable[Verdict]
    ) -> tuple[Verdict, ...]:
        """Return the verdicts of a tick with acknowledged losses as ok."""
        if self._journal is None:
            self._journal = EventJournal(self._load())
        known = self.acknowledged
        settle = self._journal.without_acknowledged
        return tuple(settle(verdict, known) for verdict in verdicts)

    def save(self, now: datetime) -> None:
        """Write the events that changed, and drop the oldest ones."""
        if self._journal is None or not self._unsaved:
            return
        with self._database.transaction() as sql:
            sql.executemany(
                "INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?)",
                [
                    (
                        event.id,
                        event.at.timestamp(),
                        event.until and event.until.timestamp(),
                        to_json(event),
                    )
                    for event in self._unsaved.values()
                ],
            )
            sql.execute(
                "DELETE FROM events WHERE id <= ?",
                (self._journal.state.last_id - MOST_KEPT,),
            )
            sql.execute(
                "DELETE FROM events WHERE until < ?",
                ((now - KEPT).timestamp(),),
            )
            self._document.save(self._journal.state)
            self._database.after_commit(self._unsaved.clear)

    def read(self, since: datetime, most: int) -> list[Event]:
        """Return events that were not over before a time, the newest first."""
        with self._database.transaction() as sql:
            rows = sql.execute(
                "SELECT id, body FROM events WHERE until IS NULL "
                "OR until >= ? ORDER BY at DESC, id LIMIT ?",
                (since.timestamp(), most),
            ).fetchall()
        events = (
            self._database.decode(
                "events", {"id": number}, partial(from_json, Event, body)
            )
            for number, body in rows
        )
        return [self._titled(event) for event in events if event is not None]

    def find(self, number: int) -> Event | None:
        """Return one event; `None` if it is not kept."""
        with self._database.transaction() as sql:
            row = sql.execute(
                "SELECT body FROM events WHERE id = ?", (number,)
            ).fetchone()
        return None if row is None else self._titled(from_json(Event, row[0]))

    def _titled(self, event: Event) -> Event:
        mirror = self._mirrors.get(event.flow, MIRROR_NAME)
        return replace(event, title=title_of(event, mirror))

    def _load(self) -> JournalState:
        state = self._document.load()
        with self._database.transaction() as sql:
            (last,) = sql.execute("SELECT max(id) FROM events").fetchone()
        # One that was lost with the document must not number them again.
        state.last_id = max(state.last_id, last or 0)
        return state
