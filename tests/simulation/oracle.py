"""What became of every source record, as only the world itself knows it."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["Oracle", "TrueLoss"]

Key = tuple[str, int]


@dataclass
class TrueLoss:
    """Records that the mirror left behind."""

    key: Key
    first: int
    end: int
    at: float
    """When the mirror left them behind, in seconds of the world."""

    expired: bool
    """Whether they expired unread; a transform dropped them otherwise."""


@dataclass
class Oracle:
    """Follows the mirror, record by record."""

    elapsed: Callable[[], float]
    losses: list[TrueLoss] = field(default_factory=list)
    copies: dict[Key, int] = field(default_factory=lambda: defaultdict(int))
    """Records copied, by partition."""

    ever_lost: bool = False
    """Whether anything was lost, even if it was copied later."""

    repeats: int = 0
    rewinds: int = 0
    _high: dict[Key, int] = field(default_factory=dict)
    _dropped: dict[Key, dict[int, float]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    def begin(self, key: Key, start: int, to: int) -> None:
        """The mirror begins a partition that it never read."""
        if to > start:
            self._lose(key, start, to, expired=True)
        self._high[key] = to

    def rewind(self, key: Key, to: int) -> None:
        """The mirror goes on where it had committed."""
        if to < self._high.get(key, 0):
            self.rewinds += 1

    def jump(self, key: Key, position: int, to: int) -> None:
        """The position was out of range, and the mirror goes on elsewhere."""
        high = max(position, self._high.get(key, 0))
        if to > high:
            self._lose(key, high, to, expired=True)
        self._high[key] = max(to, high) if to > position else to

    def expire(self, key: Key, start: int, records: int) -> None:
        """The source deletes records below an offset, copied or not."""
        if records and self._high.get(key, 0) < start:
            self.ever_lost = True

    def pass_over(self, key: Key, position: int, to: int) -> None:
        """The mirror passes offsets that hold nothing for it."""
        self._high[key] = max(self._high.get(key, 0), to)

    def drop(self, key: Key, offset: int) -> None:
        """A transform drops a record."""
        if offset < self._high.get(key, 0):
            return  # it was copied before, or is lost already
        self._high[key] = offset + 1
        self.ever_lost = True
        self._dropped[key][offset] = self.elapsed()

    def copy(self, key: Key, offset: int) -> None:
        """A record is written at the target."""
        self.copies[key] += 1
        if self._dropped[key].pop(offset, None) is not None:
            return
        if offset < self._high.get(key, 0):
            self.repeats += 1
        self._high[key] = max(self._high.get(key, 0), offset + 1)

    def position(self, key: Key) -> int:
        """Return the next offset after all that the mirror has handled."""
        return self._high.get(key, 0)

    def dropped(self) -> dict[Key, dict[int, float]]:
        """Return what transforms dropped and nobody copied since."""
        return {key: dict(d) for key, d in self._dropped.items() if d}

    def lost(self) -> int:
        """Return how many records are lost."""
        return sum(loss.end - loss.first for loss in self.losses) + sum(
            len(d) for d in self._dropped.values()
        )

    def forget(self) -> None:
        """Forget what was lost so far."""
        self.losses.clear()
        self._dropped.clear()
        self.ever_lost = False

    def lost_of(self, topic: str) -> bool:
        """Return whether records of a topic are lost."""
        return any(loss.key[0] == topic for loss in self.losses) or any(
            key[0] == topic and d for key, d in self._dropped.items()
        )

    def first_loss_at(self) -> float | None:
        """Return when the first record was lost that still is."""
        times = [loss.at for loss in self.losses]
        times += [t for d in self._dropped.values() for t in d.values()]
        return min(times, default=None)

    def last_loss_at(self) -> float | None:
        """Return when the newest record was lost that still is."""
        times = [loss.at for loss in self.losses]
        times += [t for d in self._dropped.values() for t in d.values()]
        return max(times, default=None)

    def _lose(self, key: Key, first: int, end: int, *, expired: bool) -> None:
        self.ever_lost = True
        self.losses.append(TrueLoss(key, first, end, self.elapsed(), expired))
