"""What is known of skips and repeats, in the state file."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from sqlite3 import Connection

from ..domain.cluster_view import TopicPartition
from ..domain.skips.model import (
    ForeignRecords,
    SkipCounters,
    SkipEvent,
    SuspectedDrop,
    sum_up,
)
from ..domain.skips.partition import PartitionState
from ..domain.skips.tracker import SkipTracker
from .database import Database
from .documents import DocumentStore, FlowTable, from_json, to_json

__all__ = ["SkipsStore"]

EVENTS_KEPT = 1000
"""Losses, and other events, that the journal of each flow keeps as they are.
Older ones are added by partition: a person reads a few, and a broken
transform must not fill the disk."""

_EVENTS = """
CREATE TABLE IF NOT EXISTS skips_event (
    id INTEGER PRIMARY KEY, flow TEXT, body TEXT NOT NULL)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class _SkipsDocument:
    begun: bool = False
    marked: bool = False
    foreign: dict[str, ForeignRecords] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class _SuspectedDocument:
    suspected: tuple[SuspectedDrop, ...] = ()


SUSPECTED_EVERY = timedelta(seconds=30)
"""How often suspicions are written down that only grew."""


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
        self._suspected = DocumentStore(
            database, flow, "skips_suspected", _SuspectedDocument
        )
        self._saved: tuple[datetime, tuple[SuspectedDrop, ...]] | None = None
        topic = {"topic": "TEXT"}
        self._states: FlowTable[TopicPartition, PartitionState] = FlowTable(
            database,
            flow,
            "skips_partition",
            topic | {"partition": "INTEGER"},
            PartitionState,
        )
        self._tallies: FlowTable[tuple[str], SkipCounters] = FlowTable(
            database, flow, "skips_topic", topic, SkipCounters
        )
        with database.transaction() as sql:
            sql.execute(_EVENTS)

    def load(self) -> SkipTracker:
        """Read the state; an empty one if there is none."""
        states = self._states.load()
        tallies = self._tallies.load()
        # Last: once a topic has markers, that holds of the states above, too.
        kept = self._document.load()
        return SkipTracker(
            states=states,
            tallies={topic: count for (topic,), count in tallies.items()},
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

    def suspected(self) -> tuple[SuspectedDrop, ...]:
        """Read which records seemed to have been dropped."""
        return self._suspected.load().suspected

    def save_suspected(
        self, suspected: tuple[SuspectedDrop, ...], now: datetime
    ) -> None:
        """Store which records seem to have been dropped, if that changed."""
        if self._saved is not None:
            at, before = self._saved
            if suspected == before or (
                now - at < SUSPECTED_EVERY
                and _begins(suspected) == _begins(before)
            ):
                return
        self._suspected.save(_SuspectedDocument(suspected=suspected))
        self._saved = now, suspected

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
            self._states.save(
                {
                    key: replace(tracker.states[key], ahead=[])
                    for key in tracker.changed
                }
            )
            self._tallies.save({(t,): tracker.tallies[t] for t in topics})
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


def _begins(suspected: Iterable[SuspectedDrop]) -> set[tuple[str, int, int]]:
    return {(each.topic, each.partition, each.first) for each in suspected}
