"""Pinned ids, positions and resets, so that a restart misses none."""

import json
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from sqlite3 import Connection

from ..domain.cluster_view import TopicPartition
from ..domain.losses.model import LostRecords
from ..domain.position.model import (
    PartitionPosition,
    PositionState,
    Reset,
    Truncation,
    UnexplainedGap,
)
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

_ENDS = """
CREATE TABLE IF NOT EXISTS position_end (
    flow TEXT, topic TEXT, number INTEGER, source_end INTEGER,
    target_end INTEGER, truncated_at INTEGER, truncated_sync TEXT,
    truncated_commit TEXT, passed TEXT,
    PRIMARY KEY (flow, topic, number)) WITHOUT ROWID
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class _PositionDocument:
    pins: tuple[tuple[str, str, str], ...] = ()
    resets: tuple[Reset, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    lost: dict[str, LostRecords] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class _GapsDocument:
    gaps: tuple[UnexplainedGap, ...] = ()


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
    that advanced are rows, written alone, and so are the ends that were seen;
    all else is one document. Gaps are kept with the positions behind them.
    """

    def __init__(self, database: Database, flow: str) -> None:
        self._database = database
        self._flow = flow
        self._document = DocumentStore(
            database, flow, "position", _PositionDocument
        )
        self._gaps = DocumentStore(
            database, flow, "position_gaps", _GapsDocument
        )
        self._saved_gaps: _GapsDocument | None = None
        with database.transaction() as sql:
            sql.execute(_TABLE)
            sql.execute(_ENDS)

    def load(self) -> PositionState:
        """Read the state."""
        with self._database.transaction() as sql:
            kept, gaps = self._document.load(), self._gaps.load()
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
        known = {k: v for k, v in places.items() if v is not None}
        self._load_ends(known)
        return PositionState(
            pins={(kind, name): id_ for kind, name, id_ in kept.pins},
            places=known,
            resets={reset.number: reset for reset in kept.resets},
            counts=kept.counts,
            lost=kept.lost,
            gaps=list(gaps.gaps),
            last=max((reset.number for reset in kept.resets), default=0),
        )

    def save(
        self, state: PositionState, partitions: Iterable[TopicPartition]
    ) -> None:
        """Write what is known of some partitions, and all else if it is
        urgent.
        """
        changed = set(partitions) & state.places.keys()
        gaps = _GapsDocument(gaps=tuple(state.gaps))
        with self._database.transaction() as sql:
            sql.executemany(
                "INSERT OR REPLACE INTO position_partition "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (self._flow, *key, *_to_row(state.places[key]))
                    for key in changed
                ],
            )
            self._save_ends(sql, state, changed)
            if gaps != self._saved_gaps:
                self._gaps.save(gaps)
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
                        lost=state.lost,
                    )
                )
        self._saved_gaps = gaps

    def _load_ends(
        self, places: Mapping[TopicPartition, PartitionPosition]
    ) -> None:
        with self._database.transaction() as sql:
            rows = sql.execute(
                "SELECT topic, number, source_end, target_end, "
                "truncated_at, truncated_sync, truncated_commit, passed "
                "FROM position_end WHERE flow = ?",
                (self._flow,),
            ).fetchall()
        for topic, number, *ends in rows:
            place = places.get((topic, number))
            if place is not None:
                self._database.decode(
                    "position_end",
                    {"flow": self._flow, "topic": topic, "number": number},
                    partial(_set_ends, place, *ends),
                )

    def _save_ends(
        self,
        sql: Connection,
        state: PositionState,
        partitions: AbstractSet[TopicPartition],
    ) -> None:
        sql.executemany(
            "INSERT OR REPLACE INTO position_end "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (self._flow, *key, *_to_ends(state.places[key]))
                for key in partitions
            ],
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


def _to_ends(position: PartitionPosition) -> tuple[int | str | None, ...]:
    ends, cut = (position.source_end, position.target_end), position.truncation
    passed = json.dumps(position.passed) if position.passed else None
    if cut is None:
        return (*ends, None, None, None, passed)
    times = _to_text(cut.synced_at), _to_text(cut.committed_at)
    return (*ends, cut.reached, *times, passed)


def _set_ends(  # noqa: PLR0917 - the columns of a row
    position: PartitionPosition,
    source_end: int | None,
    target_end: int | None,
    truncated_at: int | None,
    synced_at: str | None,
    committed_at: str | None,
    passed: str | None,
) -> None:
    position.source_end, position.target_end = source_end, target_end
    if truncated_at is not None:
        position.truncation = Truncation(
            reached=truncated_at,
            synced_at=_to_time(synced_at),
            committed_at=_to_time(committed_at),
        )
    if passed is not None:
        position.passed = [int(offset) for offset in json.loads(passed)]


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
