"""What is known of skips and repeats, in the state file."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from sqlite3 import Connection

from ..domain.skips.journal import sum_up
from ..domain.skips.model import ForeignRecords, SkipCounters, SkipEvent
from ..domain.skips.partition import PartitionState
from ..domain.skips.tracker import SkipTracker
from .database import Database
from .documents import DocumentStore, from_json, to_json

__all__ = ["SkipsStore"]

EVENTS_KEPT = 1000
"""Losses, and other events, that the journal of each flow keeps as they are.
Older ones are added by partition: a person reads a few, and a broken
transform must not fill the disk."""

_TABLES = """
CREATE TABLE IF NOT EXISTS skips_partition (
    flow TEXT, topic TEXT, partition INTEGER, body TEXT NOT NULL,
    PRIMARY KEY (flow, topic, partition)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS skips_topic (
    flow TEXT, topic TEXT, body TEXT NOT NULL,
    PRIMARY KEY (flow, topic)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS skips_event (
    id INTEGER PRIMARY KEY, flow TEXT, body TEXT NOT NULL);
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class _SkipsDocument:
    begun: bool = False
    marked: bool = False
    foreign: dict[str, ForeignRecords] = field(default_factory=dict)


class SkipsStore:
    """State of one flow, written together or not at all.

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
        self._room = 2 * EVENTS_KEPT
        self._document = DocumentStore(database, flow, "skips", _SkipsDocument)
        with database.transaction() as sql:
            for statement in _TABLES.split(";"):
                sql.execute(statement)

    def load(self) -> SkipTracker:
        """Read the state; an empty one if there is none."""
        flow = (self._flow,)
        with self._database.transaction() as sql:
            kept = self._document.load()
            partitions = sql.execute(
                "SELECT topic, partition, body FROM skips_partition "
                "WHERE flow = ?",
                flow,
            ).fetchall()
            topics = sql.execute(
                "SELECT topic, body FROM skips_topic WHERE flow = ?", flow
            ).fetchall()
        decode = self._database.decode
        states = {
            (topic, partition): decode(
                "skips_partition",
                {"flow": self._flow, "topic": topic, "partition": partition},
                partial(from_json, PartitionState, body),
            )
            for topic, partition, body in partitions
        }
        tallies = {
            topic: decode(
                "skips_topic",
                {"flow": self._flow, "topic": topic},
                partial(from_json, SkipCounters, body),
            )
            for topic, body in topics
        }
        return SkipTracker(
            states={k: v for k, v in states.items() if v is not None},
            tallies={k: v for k, v in tallies.items() if v is not None},
            begun=kept.begun,
            marked=kept.marked,
            foreign=kept.foreign,
        )

    def events(self) -> list[SkipEvent]:
        """Read the newest events, oldest first."""
        with self._database.transaction() as sql:
            rows = sql.execute(
                "SELECT id, body FROM skips_event WHERE flow = ? ORDER BY id",
                (self._flow,),
            ).fetchall()
        events = [
            self._database.decode(
                "skips_event",
                {"id": number},
                partial(from_json, SkipEvent, body),
            )
            for number, body in rows
        ]
        return [event for event in events if event is not None]

    def save(
        self, tracker: SkipTracker, since: datetime | None = None
    ) -> None:
        """Store what changed in one transaction.

        Parameters
        ----------
        tracker
            What is known.
        since
            When a journal without room is summed up, events from before this
            time are left out.

        Notes
        -----
        Counters and the offset that they are counted up to go together, so a
        crash at any point neither loses nor repeats a record. Syncs that
        wait are not stored: they are read again.
        """
        topics = {
            topic for topic, _ in tracker.changed
        } & tracker.tallies.keys()
        with self._database.transaction() as sql:
            sql.executemany(
                "INSERT OR REPLACE INTO skips_partition VALUES (?, ?, ?, ?)",
                [
                    (
                        self._flow,
                        *key,
                        to_json(replace(tracker.states[key], ahead=[])),
                    )
                    for key in tracker.changed
                ],
            )
            sql.executemany(
                "INSERT OR REPLACE INTO skips_topic VALUES (?, ?, ?)",
                [
                    (self._flow, topic, to_json(tracker.tallies[topic]))
                    for topic in topics
                ],
            )
            if tracker.events:
                self._note(sql, tracker.events)
                self._sum_up(sql, since)
            self._document.save(
                _SkipsDocument(
                    begun=tracker.begun,
                    marked=tracker.marked,
                    foreign=tracker.foreign,
                )
            )
        tracker.changed.clear()
        tracker.events.clear()

    def _note(self, sql: Connection, events: Iterable[SkipEvent]) -> None:
        sql.executemany(
            "INSERT INTO skips_event (flow, body) VALUES (?, ?)",
            [(self._flow, to_json(event)) for event in events],
        )

    def _sum_up(self, sql: Connection, since: datetime | None) -> None:
        """Make room in the journal, if there is none."""
        flow = (self._flow,)
        count = "SELECT count(*) FROM skips_event WHERE flow = ?"
        if sql.execute(count, flow).fetchone()[0] <= self._room:
            return
        recent = [e for e in self.events() if since is None or e.at >= since]
        kept = sum_up(recent, EVENTS_KEPT)
        sql.execute("DELETE FROM skips_event WHERE flow = ?", flow)
        self._note(sql, kept)
        # Not again for every event where as many partitions have one.
        self._room = 2 * max(EVENTS_KEPT, len(kept))
