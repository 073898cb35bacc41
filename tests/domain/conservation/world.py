"""A mirror with all its faults, and the books that follow it.

The mirror knows what every target record is a copy of. The books only see
what an agent could: ends, committed positions, pairs of offsets that come
late or not at all, and the records of the stretches that they ask for.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Self

from mirrorwatch.domain.cluster_view import ClusterView, FlowView, TopicFacts
from mirrorwatch.domain.mirror_records import Committed
from mirrorwatch.domain.skips.matching import RangeContent
from mirrorwatch.domain.skips.model import RangeRequest, SkipCounters
from mirrorwatch.domain.skips.tracker import SkipTracker
from mirrorwatch.state import Database
from mirrorwatch.state.skips import SkipsStore
from tests.domain.conservation.mirror import KEY, MARK, TOPIC, Mirror

__all__ = ["World"]


@dataclass
class World(Mirror):
    """Truth, and books that follow it."""

    books: SkipTracker = field(default_factory=SkipTracker)
    store: SkipsStore = field(
        default_factory=lambda: SkipsStore(Database(None), "f")
    )
    refuse: bool = False

    def do(self, *actions: str) -> Self:
        for action in actions:
            name, _, times = action.partition(" ")
            for _ in range(int(times or 1)):
                self.now += timedelta(milliseconds=1)
                getattr(self, name)()
        return self

    def forget(self) -> None:
        """Syncs are compacted before the agent reads them."""
        if len(self.unread) > 1:
            self.unread = self.unread[-1:]

    def deny(self) -> None:
        """From now on nothing can be read, or all again."""
        self.refuse = not self.refuse

    def look(self) -> None:
        """Survey both sides, and write down what that tells."""
        self.see()
        self.store.save(self.books)

    def die(self) -> None:
        """Be killed before anything of a survey is written down."""
        self.see()
        self.restart()

    def see(self) -> None:
        self.now += timedelta(seconds=1)
        view = self.view()
        fresh, self.unread = self.unread, []
        self.books.follow(view, fresh)
        for _ in range(50):
            inquiries = self.books.inquiries()
            if not inquiries:
                break
            for inquiry in inquiries:
                self.books.answer(inquiry, self.read(inquiry), self.now)
        else:
            raise AssertionError("asks for ever")
        self.check()

    def restart(self) -> None:
        """The agent dies, and goes on from what it wrote down."""
        self.books = self.store.load()
        # The syncs topic is read from its start.
        self.unread = list(self.told)

    def view(self) -> FlowView:
        position = self.committed
        return FlowView(
            flow="f",
            at=self.now,
            committed={}
            if position is None
            else {
                KEY: Committed(
                    topic=TOPIC,
                    partition=0,
                    position=position,
                    written_at=self.now,
                )
            },
            syncs={KEY: self.told[-1]} if self.told else {},
            caught_up=True,
            target=_cluster("b", self.ids[1], 0, len(self.target), self.now),
            source=_cluster(
                "a", self.ids[0], self.start, len(self.source), self.now
            ),
            names={TOPIC: TOPIC},
        )

    def read(self, inquiry: RangeRequest) -> RangeContent | None:
        if self.refuse:
            return None
        source = {
            offset: look
            for span in inquiry.source
            for offset in range(max(span.first, self.start), span.end)
            if (look := self.source[offset]) not in {MARK, None}
        }
        target = {
            down: self._look_of(down)
            for down in range(inquiry.target.first, inquiry.target.end)
            if self.target[down] != MARK
        }
        return RangeContent(
            source=source,
            target=target,
            source_start=self.start,
            source_compacted=self.source_compacted,
            target_compacted=self.target_compacted,
        )

    def _look_of(self, down: int) -> int:
        up = self.target[down]
        return -100 - down if up is None else up + 1000

    @property
    def tally(self) -> SkipCounters:
        return self.books.tallies.get(TOPIC, SkipCounters())

    @property
    def skipped(self) -> set[int]:
        epoch = self.books.epochs.get(KEY)
        ranges = epoch.skipped if epoch else ()
        return {n for first, last in ranges for n in range(first, last + 1)}

    def check(self) -> None:
        """What holds at any time: no more loss than there is."""
        gone = set(range(self.start)) | {
            n for n, look in enumerate(self.source) if look is None
        }
        assert all(n < self.passed for n in self.skipped - gone)
        # The books are behind: pairs wait for one more look.
        epoch = self.books.epochs[KEY]
        booked = set(self.target[: epoch.downstream + 1])
        assert not (self.skipped - gone) & booked
        left = self.tally.skipped - self.tally.recovered
        many = len(list(epoch.skipped)) == 200
        assert many or left == len(self.skipped)

    def finish(self) -> None:
        """Copy the rest and one more record, and tell it."""
        self.do("fence", "write")
        while self.writers[0].at < len(self.source):
            self.copy()
        self.do("flush", "look", "look", "look", "look")


def _cluster(
    alias: str, topic_id: str, start: int, end: int, at: datetime
) -> ClusterView:
    return ClusterView(
        alias=alias,
        id=alias,
        at=at,
        topics={
            TOPIC: TopicFacts(id=topic_id, partitions=1, replication_factor=1)
        },
        ends={KEY: end},
        starts={KEY: start},
    )
