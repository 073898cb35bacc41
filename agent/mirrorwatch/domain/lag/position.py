"""The next source offset that a mirror will copy, and how it is known."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from ..positions import Committed, Sync

__all__ = ["Claim", "Origin", "Position", "prove"]


class Origin(StrEnum):
    """What says where a mirror is."""

    COMMITTED = "committed"
    """The committed position: up to one flush interval old."""

    SYNC = "sync"
    """The last offset sync: up to a hundred records old."""

    ESTIMATE = "estimate"
    """The target's end, counted back by the last sync: good to the second,
    but no proof, as others may write there."""

    START = "start"
    """The log's start: nothing was ever copied."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a mirror is in one partition."""

    offset: int
    """Next source offset to copy."""

    origin: Origin
    """What says so."""


def prove(committed: Committed | None, sync: Sync | None) -> Position | None:
    """Return the highest position that is proved, `None` if there is none."""
    found = None
    if committed is not None and committed.position is not None:
        found = Position(committed.position, Origin.COMMITTED)
    if sync is not None and (found is None or sync.upstream >= found.offset):
        found = Position(sync.upstream + 1, Origin.SYNC)
    return found


@dataclass(slots=True)
class Claim:
    """What estimates claimed, held against what was proved later.

    Notes
    -----
    The target's end tells at once what was copied. But a foreign writer, or
    the markers of an exactly-once mirror, push it on too. So what an estimate
    claims must be proved within a few flushes; until it is, and if it is
    not, estimates of this partition are not believed.
    """

    offset: int | None = None
    """Oldest claim that is not yet proved."""

    at: datetime | None = None
    """When it was made."""

    def believe(
        self,
        estimate: int,
        proved: int,
        now: datetime,
        patience: timedelta,
    ) -> bool:
        """Tell whether an estimate can be believed.

        Parameters
        ----------
        estimate
            Position that it claims.
        proved
            Position that is proved.
        now
            The time.
        patience
            How long a proof may take.
        """
        if estimate <= proved:
            self.offset = self.at = None
            return False
        if self.offset is None or self.at is None or proved >= self.offset:
            self.offset, self.at = estimate, now
        return now - self.at <= patience
