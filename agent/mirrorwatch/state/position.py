"""Pinned ids, positions and resets, so that a restart misses none."""

from collections.abc import Iterable
from datetime import datetime
from sqlite3 import Connection
from typing import Any

from ..domain.cluster_view import TopicPartition
from ..domain.position.model import PartitionPosition, PositionState, Reset
from .codec import from_json, to_json
from .database import Database

__all__ = ["ResetStore"]


_TABLES = (
    """
CREATE TABLE IF NOT EXISTS reset_pin (
    flow TEXT, kind TEXT, name TEXT, id TEXT NOT NULL,
    PRIMARY KEY (flow, kind, name)) WITHOUT ROWID
""",
    """
CREATE TABLE IF NOT EXISTS reset_place (
    flow TEXT, topic TEXT, number INTEGER, reached INTEGER, committed INTEGER,
    committed_at TEXT, upstream INTEGER, downstream INTEGER, synced_at TEXT,
    empty_until INTEGER NOT NULL,
    PRIMARY KEY (flow, topic, number)) WITHOUT ROWID
""",
    """
CREATE TABLE IF NOT EXISTS reset_event (
    flow TEXT, number INTEGER, body TEXT NOT NULL,
    PRIMARY KEY (flow, number)) WITHOUT ROWID
""",
    """
CREATE TABLE IF NOT EXISTS reset_count (
    flow TEXT, topic TEXT, resets INTEGER NOT NULL,
    PRIMARY KEY (flow, topic)) WITHOUT ROWID
""",
)


class ResetStore:
    """Keeps the books of one flow.

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

    Notes
    -----
    Places move all the time, the rest hardly ever: places that moved are
    written alone, and all that depends on each other in one transaction.
    """

    def __init__(self, database: Database, flow: str) -> None:
        self._database = database
        self._flow = flow
        with database.transaction() as sql:
            for table in _TABLES:
                sql.execute(table)

    def load(self) -> PositionState:
        """Read the books."""
        with self._database.transaction() as sql:
            pins = self._select(sql, "kind, name, id", "reset_pin")
            places = self._select(
                sql,
                "topic, number, reached, committed, committed_at, upstream, "
                "downstream, synced_at, empty_until",
                "reset_place",
            )
            bodies = self._select(sql, "body", "reset_event")
            counts = self._select(sql, "topic, resets", "reset_count")
        resets = [from_json(Reset, body) for (body,) in bodies]
        return PositionState(
            pins={(kind, name): id_ for kind, name, id_ in pins},
            places={
                (topic, number): _to_place(*row)
                for topic, number, *row in places
            },
            resets={reset.number: reset for reset in resets},
            counts=dict(counts),
            last=max((reset.number for reset in resets), default=0),
        )

    def save(
        self, books: PositionState, places: Iterable[TopicPartition]
    ) -> None:
        """Write the books: some places, and all else if it is urgent."""
        with self._database.transaction() as sql:
            sql.executemany(
                "INSERT OR REPLACE INTO reset_place "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (self._flow, *key, *_to_row(books.places[key]))
                    for key in places
                ],
            )
            if books.urgent:
                self._save_rest(sql, books)

    def _save_rest(self, sql: Connection, books: PositionState) -> None:
        flow = self._flow
        for table, marks, rows in (
            (
                "reset_pin",
                "?, ?, ?, ?",
                [(flow, *pin, id_) for pin, id_ in books.pins.items()],
            ),
            (
                "reset_event",
                "?, ?, ?",
                [(flow, n, to_json(r)) for n, r in books.resets.items()],
            ),
            (
                "reset_count",
                "?, ?, ?",
                [(flow, *count) for count in books.counts.items()],
            ),
        ):
            sql.execute(f"DELETE FROM {table} WHERE flow = ?", (flow,))  # noqa: S608 - names from above
            sql.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608 - likewise

    def _select(
        self, sql: Connection, columns: str, table: str
    ) -> list[tuple[Any, ...]]:
        return sql.execute(
            f"SELECT {columns} FROM {table} WHERE flow = ?",  # noqa: S608 - names from above
            (self._flow,),
        ).fetchall()


def _to_row(place: PartitionPosition) -> tuple[int | str | None, ...]:
    return (
        place.reached,
        place.committed,
        _to_text(place.committed_at),
        place.upstream,
        place.downstream,
        _to_text(place.synced_at),
        place.empty_until,
    )


def _to_place(  # noqa: PLR0917 - the columns of a row
    reached: int | None,
    committed: int | None,
    committed_at: str | None,
    upstream: int | None,
    downstream: int | None,
    synced_at: str | None,
    empty_until: int,
) -> PartitionPosition:
    return PartitionPosition(
        reached=reached,
        committed=committed,
        committed_at=_to_time(committed_at),
        upstream=upstream,
        downstream=downstream,
        synced_at=_to_time(synced_at),
        empty_until=empty_until,
    )


def _to_text(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _to_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
