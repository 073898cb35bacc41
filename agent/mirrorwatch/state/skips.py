"""The books of skips and repeats in the state file."""

from dataclasses import dataclass, replace

from ..domain.skips.model import SkipCounters, SkipEvent
from ..domain.skips.partition import PartitionState
from ..domain.skips.tracker import SkipTracker
from .codec import from_json, to_json
from .database import Database

__all__ = ["SkipsStore"]

HAPPENINGS_KEPT = 1000
"""Happenings kept by name for each flow. Counters go on beyond that; a person
reads a few, and a broken transform must not fill the disk."""

_TABLES = """
CREATE TABLE IF NOT EXISTS skips (
    flow TEXT PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS skips_partition (
    flow TEXT, topic TEXT, partition INTEGER, body TEXT NOT NULL,
    PRIMARY KEY (flow, topic, partition)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS skips_topic (
    flow TEXT, topic TEXT, body TEXT NOT NULL,
    PRIMARY KEY (flow, topic)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS skips_happening (
    id INTEGER PRIMARY KEY, flow TEXT, body TEXT NOT NULL);
"""


@dataclass(frozen=True, kw_only=True)
class _Flow:
    begun: bool
    marked: bool


class SkipsStore:
    """Books of one flow, written together or not at all.

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
            for statement in _TABLES.split(";"):
                sql.execute(statement)

    def load(self) -> SkipTracker:
        """Read the books; empty ones if there are none."""
        flow = (self._flow,)
        with self._database.transaction() as sql:
            row = sql.execute(
                "SELECT body FROM skips WHERE flow = ?", flow
            ).fetchone()
            partitions = sql.execute(
                "SELECT topic, partition, body FROM skips_partition "
                "WHERE flow = ?",
                flow,
            ).fetchall()
            topics = sql.execute(
                "SELECT topic, body FROM skips_topic WHERE flow = ?", flow
            ).fetchall()
        known = from_json(_Flow, row[0]) if row else None
        return SkipTracker(
            epochs={
                (topic, partition): from_json(PartitionState, body)
                for topic, partition, body in partitions
            },
            tallies={
                topic: from_json(SkipCounters, body) for topic, body in topics
            },
            begun=known is not None and known.begun,
            marked=known is not None and known.marked,
        )

    def happenings(self) -> list[SkipEvent]:
        """Read the newest happenings, oldest first."""
        with self._database.transaction() as sql:
            rows = sql.execute(
                "SELECT body FROM skips_happening WHERE flow = ? ORDER BY id",
                (self._flow,),
            ).fetchall()
        return [from_json(SkipEvent, body) for (body,) in rows]

    def save(self, books: SkipTracker) -> None:
        """Store what changed in one transaction.

        Counters and the place that they are counted to go together, so a
        crash at any point neither loses nor repeats a record. Pairs that
        wait are not stored: they are read again.
        """
        topics = {topic for topic, _ in books.changed} & books.tallies.keys()
        with self._database.transaction() as sql:
            sql.executemany(
                "INSERT OR REPLACE INTO skips_partition VALUES (?, ?, ?, ?)",
                [
                    (self._flow, *key, _to_row(books.epochs[key]))
                    for key in books.changed
                ],
            )
            sql.executemany(
                "INSERT OR REPLACE INTO skips_topic VALUES (?, ?, ?)",
                [
                    (self._flow, topic, to_json(books.tallies[topic]))
                    for topic in topics
                ],
            )
            if books.happenings:
                sql.executemany(
                    "INSERT INTO skips_happening (flow, body) VALUES (?, ?)",
                    [(self._flow, to_json(x)) for x in books.happenings],
                )
                sql.execute(
                    "DELETE FROM skips_happening WHERE flow = ? AND id <= "
                    "(SELECT max(id) FROM skips_happening) - ?",
                    (self._flow, HAPPENINGS_KEPT),
                )
            sql.execute(
                "INSERT OR REPLACE INTO skips VALUES (?, ?)",
                (
                    self._flow,
                    to_json(_Flow(begun=books.begun, marked=books.marked)),
                ),
            )
        books.changed.clear()
        books.happenings.clear()


def _to_row(epoch: PartitionState) -> str:
    return to_json(replace(epoch, ahead=[]))
