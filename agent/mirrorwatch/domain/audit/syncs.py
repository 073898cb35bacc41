"""Pairs of offsets at which a lane can be cut."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..positions import Sync
from ..view import TopicPartition

__all__ = ["SyncHistory", "newest_sync", "oldest_sync"]

MOST = 128
"""Pairs that are kept of one partition: when there are more, every other one
goes. Those of a day are then 23 minutes apart at most, which a cut loses to
the next night, and those of ten thousand busy partitions take 150 MB."""

Pair = tuple[int, int]
"""Source offset and target offset of one record."""


@dataclass(slots=True)
class _Track:
    """Every so many pairs of one partition, and the newest one."""

    highest: Pair = (-1, -1)
    pairs: list[Pair] = field(default_factory=list)
    newest: Pair | None = None
    seen: int = 0
    every: int = 1

    def add(self, pair: Pair) -> None:
        self.newest = pair
        if self.seen % self.every == 0:
            self.pairs.append(pair)
            if len(self.pairs) == MOST:
                del self.pairs[1::2]
                self.every *= 2
        self.seen += 1

    def clear(self) -> None:
        self.pairs.clear()
        self.newest, self.seen, self.every = None, 0, 1


class SyncHistory:
    """Collects the syncs of one flow, in the order of their topic.

    Parameters
    ----------
    floors
        By source partition: offsets below are of no concern.

    Notes
    -----
    A pair is a place to cut only if everything below it at the source was
    copied below it at the target. While a mirror copies anew what it had
    copied, its pairs are below earlier ones at the source: they are left out
    until it is past them. Where pairs go back at the target, the topic there
    is another one, and what was known of the old one goes.
    """

    def __init__(self, floors: Mapping[TopicPartition, int]) -> None:
        self._floors = floors
        self._tracks: dict[TopicPartition, _Track] = {}

    def take(self, sync: Sync) -> None:
        """Learn of a sync."""
        place = (sync.topic, sync.partition)
        if place not in self._floors:
            return
        track = self._tracks.setdefault(place, _Track())
        upstream, downstream = track.highest
        if sync.downstream < downstream:
            track.clear()
        elif sync.upstream <= upstream:
            track.highest = (upstream, sync.downstream)
            return
        pair = track.highest = (sync.upstream, sync.downstream)
        if sync.upstream >= self._floors[place]:
            track.add(pair)

    def of(self, place: TopicPartition) -> tuple[Pair, ...]:
        """Return pairs of a source partition, ascending on both sides."""
        track = self._tracks.get(place)
        if track is None or track.newest is None:
            return ()
        if track.pairs[-1] == track.newest:
            return tuple(track.pairs)
        return (*track.pairs, track.newest)


def newest_sync(pairs: Sequence[Pair], above: Pair, most: Pair) -> Pair | None:
    """Return the last pair between two others, on both sides."""
    return next(
        (p for p in reversed(pairs) if _below(above, p) and _below(p, most)),
        None,
    )


def oldest_sync(pairs: Sequence[Pair], least: Pair) -> Pair | None:
    """Return the first pair at or above another, on both sides."""
    return next((p for p in pairs if _below(least, p)), None)


def _below(one: Pair, other: Pair) -> bool:
    return one[0] <= other[0] and one[1] <= other[1]
