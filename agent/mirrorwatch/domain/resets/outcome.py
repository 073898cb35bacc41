"""What becomes of a position: it went back, or on in another log."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..positions import Sync
from ..view import ClusterView
from .books import ResetBooks
from .event import Kind, Reset
from .place import Place

__all__ = ["Outcome"]

ONE_REWIND = timedelta(minutes=10)
"""Steps back within this time are one rewind: two mirrors that write at once
take turns for minutes."""


@dataclass(slots=True)
class Outcome:
    """Opens and settles what a sync or a commit decides.

    Parameters
    ----------
    books
        The books.
    source
        The source, asked after all of them were read.
    at
        The time.
    counted
        Tells of a source topic whether the target's offsets count its copies.
    """

    books: ResetBooks
    source: ClusterView
    at: datetime
    counted: Callable[[str], bool]

    def decide(self, waiting: Reset, place: Place, sync: Sync) -> bool:
        """Settle what the mirror made of a topic that was made again."""
        end = self.source.ends.get((sync.topic, sync.partition))
        if end is not None and sync.upstream >= end:
            return False  # late, and of the topic that is no more
        old = waiting.end or 0
        copied = sync.downstream - (waiting.target_end or 0)
        if copied < 0 and place.origin_of(sync.downstream) == sync.upstream:
            end = max(old, sync.upstream + 1)
            self.books.change(waiting, end=end)
            return True  # written late, of what was copied before
        counted = waiting.target_end is not None and self.counted(sync.topic)
        if not counted or copied < 0:
            # The copies cannot be counted: it went on where it was at most.
            first = min(sync.upstream, old)
        else:
            first = sync.upstream - copied
        self.settle(waiting, end=first)
        place.reached = sync.upstream + 1
        return True

    def decide_by_commit(
        self, waiting: Reset, place: Place, position: int
    ) -> None:
        """Settle what the mirror made of another log, if it has no syncs.

        A commit says where the mirror is, not where it began: below the old
        position, it has begun anew.
        """
        end = self.source.ends.get((waiting.topic, waiting.partition or 0))
        if end is not None and position > end:
            return  # late, and of the log that is no more
        old = waiting.end or 0
        self.settle(waiting, end=waiting.first if position < old else old)
        place.reached = position

    def go_back(
        self, reached: int | None, topic: str, partition: int, to: int
    ) -> None:
        """Note that the mirror copies again from an offset."""
        reached = reached or to
        known = self.books.newest(Kind.REWIND, topic, partition)
        if known is not None and (
            known.settled is None
            # Not one that lies apart: what is between was not copied again.
            or (
                self.at - known.settled < ONE_REWIND and to <= (known.end or 0)
            )
        ):
            self.books.change(
                known,
                first=min(to, known.first or 0),
                end=max(reached, known.end or 0),
                settled=None,
            )
            return
        self.books.begin(
            Kind.REWIND,
            topic,
            self.at,
            partition=partition,
            first=to,
            end=reached,
        )

    def catch_up(self, topic: str, partition: int, position: int) -> None:
        """Note that the mirror is where it had been, if it had gone back."""
        known = self.books.open(Kind.REWIND, topic, partition)
        if known is not None and (known.end or 0) <= position:
            self.settle(known)

    def note_cut(
        self, place: Place, topic: str, partition: int, end: int
    ) -> None:
        """Note that a mirror has begun anew in a log that was cut.

        One that runs does that at once, long before a position beyond the end
        is believed.
        """
        cut = self.books.begin(
            Kind.BEYOND,
            topic,
            self.at,
            partition=partition,
            first=end,
            end=place.reached,
            log_end=end,
        )
        self.settle(cut, end=end)

    def settle(self, reset: Reset, **what: int | None) -> None:
        """Close a reset, harmless if it left nothing out."""
        settled = self.books.change(reset, settled=self.at, **what)
        self.books.change(settled, harmless=settled.count == 0)
