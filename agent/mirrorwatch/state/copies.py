"""State of the copies of a flow, in the state file."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from sqlite3 import Connection

from ..domain.cluster_view import TopicPartition
from ..domain.copies.journal import (
    CopyCounters,
    CopyEvent,
    ForeignRecords,
    sum_up,
)
from ..domain.copies.pair import LogPair
from ..domain.copies.tracker import CopyTracker
from .database import Database
from .documents import DocumentStore, FlowTable, from_json, to_json

__all__ = ["CopiesStore"]

EVENTS_KEPT = 1000
"""Losses, and other events, that the journal of each flow keeps as they are.
Older ones are added by partition: a person reads a few, and a broken
transform must not fill the disk."""

_EVENTS = """
CREATE TABLE IF NOT EXISTS copy_event (
    id INTEGER PRIMARY KEY, flow TEXT, body TEXT NOT NULL)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class _CopiesDocument:
    has_begun: bool = False
    is_transactional: bool = False
    foreign: dict[str, ForeignRecords] = field(default_factory=dict)


class CopiesStore:
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
        self._document = DocumentStore(
            database, flow, "copies", _CopiesDocument
        )
        topic = {"topic": "TEXT"}
        self._pairs: FlowTable[TopicPartition, LogPair] = FlowTable(
            database,
            flow,
            "log_pair",
            topic | {"partition": "INTEGER"},
            LogPair,
        )
        self._counters: FlowTable[tuple[str], CopyCounters] = FlowTable(
            database, flow, "copy_counters", topic, CopyCounters
        )
        with database.transaction() as sql:
            sql.execute(_EVENTS)

    def load(self) -> CopyTracker:
        """Read the state; an empty one if there is none."""
        pairs = self._pairs.load()
        counters = self._counters.load()
        # Last: once a topic has markers, that holds of the states above, too.
        kept = self._document.load()
        return CopyTracker(
            pairs=pairs,
            counters={topic: count for (topic,), count in counters.items()},
            has_begun=kept.has_begun,
            is_transactional=kept.is_transactional,
            foreign=kept.foreign,
        )

    def events(self) -> list[CopyEvent]:
        """Read the newest events, oldest first."""
        with self._database.transaction() as sql:
            rows = sql.execute(
                "SELECT id, body FROM copy_event WHERE flow = ? ORDER BY id",
                (self._flow,),
            ).fetchall()
        events = [
            self._database.decode(
                "copy_event",
                {"id": number},
                partial(from_json, CopyEvent, body),
            )
            for number, body in rows
        ]
        return [event for event in events if event is not None]

    def save(
        self, tracker: CopyTracker, since: datetime | None = None
    ) -> None:
        """Store what changed in one transaction.

        Parameters
        ----------
        tracker
            Tracker of the copies.
        since
            Time before which events are left out when a journal without room
            is summed up.

        Notes
        -----
        Counters and the offset that they are counted up to go together, so a
        crash at any point neither loses nor repeats a record. Syncs that
        wait are not stored: they are read again.
        """
        topics = {
            topic for topic, _ in tracker.changed
        } & tracker.counters.keys()
        with self._database.transaction() as sql:
            self._pairs.save(
                {
                    key: replace(tracker.pairs[key], waiting=[])
                    for key in tracker.changed
                }
            )
            self._counters.save({(t,): tracker.counters[t] for t in topics})
            if tracker.events:
                self._note(sql, tracker.events)
                self._sum_up(sql, since)
            self._document.save(
                _CopiesDocument(
                    has_begun=tracker.has_begun,
                    is_transactional=tracker.is_transactional,
                    foreign=tracker.foreign,
                )
            )
        tracker.changed.clear()
        tracker.events.clear()

    def _note(self, sql: Connection, events: Iterable[CopyEvent]) -> None:
        sql.executemany(
            "INSERT INTO copy_event (flow, body) VALUES (?, ?)",
            [(self._flow, to_json(event)) for event in events],
        )

    def _sum_up(self, sql: Connection, since: datetime | None) -> None:
        """Make room in the journal, if there is none."""
        flow = (self._flow,)
        count = "SELECT count(*) FROM copy_event WHERE flow = ?"
        if sql.execute(count, flow).fetchone()[0] <= self._room:
            return
        recent = [e for e in self.events() if since is None or e.at >= since]
        kept = sum_up(recent, EVENTS_KEPT)
        sql.execute("DELETE FROM copy_event WHERE flow = ?", flow)
        self._note(sql, kept)
        # Not again for every event where as many partitions have one.
        self._room = 2 * max(EVENTS_KEPT, len(kept))
