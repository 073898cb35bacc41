"""Lag of one partition."""

from dataclasses import dataclass, field
from datetime import datetime

from .ends import Ends
from .position import Claim, Origin, Position

__all__ = ["Track"]


@dataclass(slots=True)
class Track:
    """What is kept of one partition between two surveys."""

    epoch: tuple[str, str | None]
    """Ids of the topic at the source and at the target."""

    moved_at: datetime
    """When the position last went on; at first, when it was first seen."""

    position: Position | None = None
    """Where the mirror is, by what it says."""

    end: int = 0
    """End at the source."""

    ends: Ends = field(default_factory=Ends)
    """Where it was before."""

    claim: Claim = field(default_factory=Claim)
    """What estimates still have to prove."""

    nothing_until: int = 0
    """Offset up to which no data record follows the position: only markers
    of transactions, or offsets that compaction emptied."""

    head_at: float | None = None
    """Timestamp of the record that is next, in seconds since 1970."""

    read_for: int | None = None
    """Position for which the record that is next was read."""

    def move(self, position: Position, end: int, now: datetime) -> None:
        """Take where the mirror and the source are."""
        before = self.position
        if position == before and end == self.end:
            return  # most partitions, most of the time
        if before is None or position.offset != before.offset:
            if before is None or position.offset > before.offset:
                self.moved_at = now
            self.nothing_until, self.head_at, self.read_for = 0, None, None
        self.position, self.end = position, end
        self.ends.see(end, now.timestamp())
        self.ends.pass_(self.next_offset)

    @property
    def next_offset(self) -> int:
        """Next source offset to copy, beyond what needs no copy."""
        position = 0 if self.position is None else self.position.offset
        return max(self.nothing_until, position)

    @property
    def records(self) -> int:
        """Offsets that wait."""
        return max(0, self.end - self.next_offset)

    @property
    def begun(self) -> bool:
        """Whether anything of the partition was ever copied."""
        return self.position is not None and (
            self.position.origin is not Origin.START
        )

    def waiting_since(self) -> tuple[float, bool] | None:
        """Return when the oldest record that waits was written.

        Returns
        -------
        tuple or None
            Seconds since 1970, and whether it may be earlier; `None` if
            nothing waits.
        """
        if not self.records:
            return None
        found = self.ends.written_at(self.next_offset)
        if found is None:
            return None
        at, may_be_older = found
        if may_be_older and self.head_at is not None:
            return min(at, self.head_at), False
        return at, may_be_older

    @property
    def waits_unseen(self) -> bool:
        """Whether what waits was there before the agent looked."""
        since = self.waiting_since()
        return since is not None and since[1]
