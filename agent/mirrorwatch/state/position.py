"""Pinned ids, positions and resets, so that a restart misses none."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from ..domain.cluster_view import TopicPartition
from ..domain.position.model import PartitionPosition, PositionState, Reset
from .database import Database
from .documents import DocumentStore, to_time

__all__ = ["PositionStore"]


_TABLE = """
CREATE TABLE IF NOT EXISTS position_partition (
    flow TEXT, topic TEXT, number INTEGER, reached INTEGER, committed INTEGER,
    committed_at TEXT, upstream INTEGER, downstream INTEGER, synced_at TEXT,
    empty_until INTEGER NOT NULL, copies_end INTEGER,
    PRIMARY KEY (flow, topic, number)) WITHOUT ROWID
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class _PositionDocument:
    pins: tuple[tuple[str, str, str], ...] = ()
    """Kind, name and id."""

    resets: tuple[Reset, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)


class PositionStore:
    """Keeps the positions of one flow, and what they depend on.

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
    Positions advance all the time, the rest hardly ever changes: positions
    that advanced are rows, written alone; all else is one document.
    """

    def __init__(self, database: Database, flow: str) -> None:
        self._database = database
        self._flow = flow
        self._document = DocumentStore(
            database, flow, "position", _PositionDocument
        )
        with database.transaction() as sql:
            sql.execute(_TABLE)

    def load(self) -> PositionState:
        """Read the state."""
        with self._database.transaction() as sql:
            kept = self._document.load()
            rows = sql.execute(
                "SELECT topic, number, reached, committed, committed_at, "
                "upstream, downstream, synced_at, empty_until, copies_end "
                "FROM position_partition WHERE flow = ?",
                (self._flow,),
            ).fetchall()
        places = {
            (topic, number): self._database.decode(
                "position_partition",
                {"flow": self._flow, "topic": topic, "number": number},
                partial(_to_position, *row),
            )
            for topic, number, *row in rows
        }
        return PositionState(
            pins={(kind, name): id_ for kind, name, id_ in kept.pins},
            places={k: v for k, v in places.items() if v is not None},
            resets={reset.number: reset for reset in kept.resets},
            counts=kept.counts,
            last=max((reset.number for reset in kept.resets), default=0),
        )

    def save(
        self, state: PositionState, partitions: Iterable[TopicPartition]
    ) -> None:
        """Write some positions, and all else if it is urgent."""
        with self._database.transaction() as sql:
            sql.executemany(
                "INSERT OR REPLACE INTO position_partition "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (self._flow, *key, *_to_row(state.places[key]))
                    for key in partitions
                ],
            )
            if state.urgent:
                self._document.save(
                    _PositionDocument(
                        pins=tuple(
                            (*pin, id_) for pin, id_ in state.pins.items()
                        ),
                        resets=tuple(
                            state.resets[n] for n in sorted(state.resets)
                        ),
                        counts=state.counts,
                    )
                )


def _to_row(position: PartitionPosition) -> tuple[int | str | None, ...]:
    return (
        position.reached,
        position.committed,
        _to_text(position.committed_at),
        position.upstream,
        position.downstream,
        _to_text(position.synced_at),
        position.empty_until,
        position.copies_end,
    )


def _to_position(  # noqa: PLR0917 - the columns of a row
    reached: int | None,
    committed: int | None,
    committed_at: str | None,
    upstream: int | None,
    downstream: int | None,
    synced_at: str | None,
    empty_until: int,
    copies_end: int | None,
) -> PartitionPosition:
    return PartitionPosition(
        reached=reached,
        committed=committed,
        committed_at=_to_time(committed_at),
        upstream=upstream,
        downstream=downstream,
        synced_at=_to_time(synced_at),
        empty_until=empty_until,
        copies_end=copies_end,
    )


def _to_text(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _to_time(text: str | None) -> datetime | None:
    return None if text is None else to_time(text)
