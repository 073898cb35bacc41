"""The canary's ledgers in the state file."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from uuid import uuid4

from ..domain.canary.model import Loss, Probe
from ..domain.canary.tracker import Identity, Ledger
from .database import Database
from .documents import DocumentStore, from_json, to_json

__all__ = ["CanaryStore"]

LOSSES_KEPT = 1000
"""Lost probes kept by name for each flow. Counters continue beyond that;
a person reads a few, and an hour of a dead canary must not fill the disk."""

_TABLES = """
CREATE TABLE IF NOT EXISTS canary_partition (
    flow TEXT, partition INTEGER, body TEXT NOT NULL,
    PRIMARY KEY (flow, partition)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS canary_probe (
    flow TEXT, partition INTEGER, sequence INTEGER, body TEXT NOT NULL,
    PRIMARY KEY (flow, partition, sequence)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS canary_loss (
    id INTEGER PRIMARY KEY, flow TEXT, body TEXT NOT NULL);
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class _CanaryDocument:
    run: str = ""
    identity: Identity = field(default_factory=Identity)


class CanaryStore:
    """Ledgers of one flow, written together or not at all.

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
        self._document = DocumentStore(
            database, flow, "canary", _CanaryDocument
        )
        with database.transaction() as sql:
            for statement in _TABLES.split(";"):
                sql.execute(statement)
            kept = self._document.load()
            self.run = kept.run or uuid4().hex[:12]
            """Identity of this state file, carried by every probe."""

            self.identity = kept.identity
            """What the topics were; stored with the ledgers."""

            if not kept.run:
                self._save_document()

    def load(self) -> dict[int, Ledger]:
        """Read the identity and the ledger of every partition."""
        with self._database.transaction() as sql:
            self.identity = self._document.load().identity
            ledgers: dict[int, Ledger] = {}
            for partition, body in sql.execute(
                "SELECT partition, body FROM canary_partition "
                "WHERE flow = ? ORDER BY partition",
                (self._flow,),
            ).fetchall():
                key = {"flow": self._flow, "partition": partition}
                ledger = self._database.decode(
                    "canary_partition", key, partial(from_json, Ledger, body)
                )
                if ledger is not None:
                    ledgers[int(partition)] = ledger
            for partition, sequence, body in sql.execute(
                "SELECT partition, sequence, body FROM canary_probe "
                "WHERE flow = ? ORDER BY partition, sequence",
                (self._flow,),
            ).fetchall():
                key = {
                    "flow": self._flow,
                    "partition": partition,
                    "sequence": sequence,
                }
                probe = self._database.decode(
                    "canary_probe", key, partial(from_json, Probe, body)
                )
                if probe is not None and partition in ledgers:
                    ledgers[partition].outstanding[sequence] = probe
        return ledgers

    def save(
        self, ledgers: Iterable[Ledger], losses: Iterable[Loss] = ()
    ) -> None:
        """Store ledgers, their touched probes and losses in one transaction.

        The arrivals and the target offset read so far are both part of a
        ledger, so a crash can neither lose nor repeat an arrival.
        """
        ledgers = list(ledgers)
        with self._database.transaction() as sql:
            for ledger in ledgers:
                self._save(sql, ledger)
            sql.executemany(
                "INSERT INTO canary_loss (flow, body) VALUES (?, ?)",
                [(self._flow, to_json(loss)) for loss in losses],
            )
            sql.execute(
                "DELETE FROM canary_loss WHERE flow = ? AND id <= "
                "(SELECT max(id) FROM canary_loss) - ?",
                (self._flow, LOSSES_KEPT),
            )
            self._save_document()
        for ledger in ledgers:
            ledger.touched.clear()

    def losses(self) -> list[Loss]:
        """Read the newest losses, oldest first."""
        with self._database.transaction() as sql:
            rows = sql.execute(
                "SELECT id, body FROM canary_loss WHERE flow = ? ORDER BY id",
                (self._flow,),
            ).fetchall()
        losses = [
            self._database.decode(
                "canary_loss", {"id": number}, partial(from_json, Loss, body)
            )
            for number, body in rows
        ]
        return [loss for loss in losses if loss is not None]

    def _save_document(self) -> None:
        self._document.save(
            _CanaryDocument(run=self.run, identity=self.identity)
        )

    def _save(self, sql: sqlite3.Connection, ledger: Ledger) -> None:
        sql.execute(
            "INSERT OR REPLACE INTO canary_partition VALUES (?, ?, ?)",
            (self._flow, ledger.partition, to_json(ledger)),
        )
        key = (self._flow, ledger.partition)
        for sequence in ledger.touched:
            probe = ledger.outstanding.get(sequence)
            if probe is None:
                sql.execute(
                    "DELETE FROM canary_probe WHERE flow = ? "
                    "AND partition = ? AND sequence = ?",
                    (*key, sequence),
                )
            else:
                sql.execute(
                    "INSERT OR REPLACE INTO canary_probe VALUES (?, ?, ?, ?)",
                    (*key, sequence, to_json(probe)),
                )
