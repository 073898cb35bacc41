"""When a partition's end was where."""

from dataclasses import dataclass, field

__all__ = ["Ends"]

KEPT = 64
"""Entries for each partition. When there are more, every other one goes but
the first, whose record is the one that waits."""


@dataclass(slots=True)
class Ends:
    """The ends of one partition that were seen, and when first."""

    entries: list[tuple[int, float]] = field(default_factory=list)
    """End offset and time in seconds since 1970, both growing."""

    floor: int | None = None
    """Highest end that was seen before those; `None` at first."""

    def see(self, end: int, now: float) -> None:
        """Take an end; one below the last begins anew."""
        if self.entries and end < self.entries[-1][0]:
            self.entries.clear()
            self.floor = None
        if not self.entries or end > self.entries[-1][0]:
            self.entries.append((end, now))
        if len(self.entries) > KEPT:
            self.entries[1:] = self.entries[1::2]

    def pass_(self, position: int) -> None:
        """Forget what lies at or below a position."""
        passed = 0
        while (
            passed < len(self.entries) - 1
            and self.entries[passed][0] <= position
        ):
            passed += 1
        if passed:
            self.floor = self.entries[passed - 1][0]
            del self.entries[:passed]

    def written_at(self, position: int) -> tuple[float, bool] | None:
        """Return when the record at a position was first seen to be there.

        Returns
        -------
        tuple or None
            The time, and whether the record may be older than that: it was
            there when the agent first looked. `None` if there is no record.
        """
        for index, (end, at) in enumerate(self.entries):
            if end > position:
                before = self.entries[index - 1][0] if index else self.floor
                return at, before is None or before > position
        return None
