"""The canary's books in the state file."""

import sqlite3
from collections.abc import Iterable
from uuid import uuid4

from ..domain.canary.model import Probe
from ..domain.canary.tracker import Identity, Ledger
from ..domain.observations import Loss
from .codec import from_json, to_json
from .database import Database

__all__ = ["CanaryStore"]

LOSSES_KEPT = 1000
"""Lost probes kept by name for each flow. Counters go on beyond that; a
person reads a few, and an hour of a dead canary must not fill the disk."""

_TABLES = """
CREATE TABLE IF NOT EXISTS canary (
    flow TEXT PRIMARY KEY, run TEXT NOT NULL, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS canary_partition (
    flow TEXT, partition INTEGER, body TEXT NOT NULL,
    PRIMARY KEY (flow, partition)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS canary_probe (
    flow TEXT, partition INTEGER, sequence INTEGER, body TEXT NOT NULL,
    PRIMARY KEY (flow, partition, sequence)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS canary_loss (
    id INTEGER PRIMARY KEY, flow TEXT, body TEXT NOT NULL);
"""


class CanaryStore:
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
            sql.execute(
                "INSERT OR IGNORE INTO canary VALUES (?, ?, ?)",
                (flow, uuid4().hex[:12], to_json(Identity())),
            )
            row = sql.execute(
                "SELECT run, body FROM canary WHERE flow = ?", (flow,)
            ).fetchone()
        self.run: str = row[0]
        """Identity of this state file, carried by every probe."""

        self.identity: Identity = from_json(Identity, row[1])
        """What the topics were; stored with the books."""

    def load(self) -> dict[int, Ledger]:
        """Read the identity and the books of every partition."""
        with self._database.transaction() as sql:
            (identity,) = sql.execute(
                "SELECT body FROM canary WHERE flow = ?", (self._flow,)
            ).fetchone()
            self.identity = from_json(Identity, identity)
            ledgers = {
                int(partition): from_json(Ledger, body)
                for partition, body in sql.execute(
                    "SELECT partition, body FROM canary_partition "
                    "WHERE flow = ? ORDER BY partition",
                    (self._flow,),
                )
            }
            for partition, sequence, body in sql.execute(
                "SELECT partition, sequence, body FROM canary_probe "
                "WHERE flow = ? ORDER BY partition, sequence",
                (self._flow,),
            ):
                probe = from_json(Probe, body)
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
            sql.execute(
                "UPDATE canary SET body = ? WHERE flow = ?",
                (to_json(self.identity), self._flow),
            )
        for ledger in ledgers:
            ledger.touched.clear()

    def losses(self) -> list[Loss]:
        """Read the newest losses, oldest first."""
        with self._database.transaction() as sql:
            rows = sql.execute(
                "SELECT body FROM canary_loss WHERE flow = ? ORDER BY id",
                (self._flow,),
            ).fetchall()
        return [from_json(Loss, body) for (body,) in rows]

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
