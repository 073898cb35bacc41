"""How far the mirror is in one source partition, across restarts."""

from dataclasses import dataclass
from datetime import datetime

__all__ = ["Place"]


@dataclass(kw_only=True, slots=True)
class Place:
    """What is proved of one partition of one topic id."""

    reached: int | None = None
    """Every offset below was copied or passed over; `None` if unknown."""

    committed: int | None = None
    """Position that the mirror committed last."""

    committed_at: datetime | None = None
    """When it wrote that; what it wrote before counts no more."""

    upstream: int | None = None
    """Source offset of the last sync."""

    downstream: int | None = None
    """Target offset of it; `None` where that topic is no more."""

    synced_at: datetime | None = None
    """When it wrote that; what it wrote before counts no more."""

    empty_until: int = 0
    """Up to here, only markers or emptied offsets follow the position."""

    def origin_of(self, downstream: int) -> int | None:
        """Return the source offset whose copy a target offset would be.

        Right as long as nobody else writes there and nothing is left out.
        """
        if self.upstream is None or self.downstream is None:
            return None
        return self.upstream + downstream - self.downstream

    def estimate(self, target_end: int | None) -> int | None:
        """Return the next source offset, counted back from the target's end.

        Notes
        -----
        Never below what is proved: that is a minute and a hundred records
        old where the mirror was killed.
        """
        if self.reached is None:
            return None
        proved = max(self.reached, self.empty_until)
        if target_end is None:
            return proved
        return max(proved, self.origin_of(target_end) or 0)
