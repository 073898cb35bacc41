"""The canary's ledgers in the state file."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from uuid import uuid4

from ..domain.canary.model import Loss, Probe
from ..domain.canary.tracker import Identity, Ledger
from .database import Database
from .documents import DocumentStore, FlowTable, from_json, to_json

__all__ = ["CanaryStore"]

LOSSES_KEPT = 30_000
"""Lost probes kept by name for each flow: more than the default six partitions
can lose within `limits.losses.critical`, which are counted exactly, and few
enough not to fill the disk."""

_LOSSES = """
CREATE TABLE IF NOT EXISTS canary_loss (
    id INTEGER PRIMARY KEY, flow TEXT, body TEXT NOT NULL)
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
        number = {"partition": "INTEGER"}
        self._ledgers: FlowTable[tuple[int], Ledger] = FlowTable(
            database, flow, "canary_partition", number, Ledger
        )
        self._probes: FlowTable[tuple[int, int], Probe] = FlowTable(
            database,
            flow,
            "canary_probe",
            number | {"sequence": "INTEGER"},
            Probe,
        )
        self._saved: _CanaryDocument | None = None

        with database.transaction() as sql:
            sql.execute(_LOSSES)
            kept = self._document.load()
            self.run = kept.run or uuid4().hex[:12]

            self.identity = kept.identity

            if not kept.run:
                self._save_document()

    def load(self) -> dict[int, Ledger]:
        """Read the identity and the ledger of every partition."""
        with self._database.transaction():
            self.identity = self._document.load().identity
            ledgers = {
                number: ledger
                for (number,), ledger in self._ledgers.load().items()
            }
            for (number, sequence), probe in self._probes.load().items():
                if number in ledgers:
                    ledgers[number].outstanding[sequence] = probe
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
            self._ledgers.save({(each.partition,): each for each in ledgers})
            self._probes.save(
                {
                    (each.partition, sequence): each.outstanding.get(sequence)
                    for each in ledgers
                    for sequence in each.touched
                }
            )
            if losses := list(losses):
                sql.executemany(
                    "INSERT INTO canary_loss (flow, body) VALUES (?, ?)",
                    [(self._flow, to_json(loss)) for loss in losses],
                )
                sql.execute(
                    "DELETE FROM canary_loss WHERE flow = ? AND id <= "
                    "(SELECT id FROM canary_loss WHERE flow = ? "
                    "ORDER BY id DESC LIMIT 1 OFFSET ?)",
                    (self._flow, self._flow, LOSSES_KEPT),
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
        document = _CanaryDocument(
            run=self.run, identity=replace(self.identity)
        )
        if document == self._saved:
            return
        self._document.save(document)
        self._database.after_commit(partial(setattr, self, "_saved", document))
