"""Lost records of a flow, in the state file."""

from datetime import datetime

from ..domain.losses.ledger import LossLedger
from ..domain.position.model import PositionObservation
from ..domain.skips.model import SkipsObservation
from .database import Database
from .documents import DocumentStore

__all__ = ["LossStore"]


class LossStore:
    """Keeps the ledger of one flow.

    Parameters
    ----------
    database
        The state file.
    flow
        Name of the flow.

    Attributes
    ----------
    ledger
        The ledger; `None` until it was read.
    """

    def __init__(self, database: Database, flow: str) -> None:
        self._database = database
        self._document = DocumentStore(database, flow, "losses", LossLedger)
        self.ledger: LossLedger | None = None
        self._is_saved = True

    def take(
        self,
        skips: SkipsObservation | None,
        position: PositionObservation | None,
        now: datetime,
    ) -> None:
        """Take what was observed in one tick; `save` writes it.

        Raises
        ------
        StateError
            Raised if the ledger cannot be read; the next tick tries again.
        """
        if self.ledger is None:
            self.ledger = self._document.load()
        has_grown = self.ledger.take(skips, position, now)
        self._is_saved = self._is_saved and not has_grown

    def save(self) -> None:
        """Write the ledger if it grew since.

        Raises
        ------
        StateError
            Raised if it cannot be written.
        """
        if self.ledger is not None and not self._is_saved:
            with self._database.transaction():
                self._document.save(self.ledger)
                self._database.after_commit(self._note_saved)

    def _note_saved(self) -> None:
        self._is_saved = True
