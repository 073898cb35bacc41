"""A mirror with all its faults, and the books that follow it.

The mirror knows what every target record is a copy of. The books only see
what an agent could: ends, committed positions, pairs of offsets that come
late or not at all, and the records of the stretches that they ask for.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Self

from mirrorwatch.domain.cluster_view import (
    ClusterView,
    FlowView,
    PartitionView,
    TopicFacts,
    TopicPartition,
)
from mirrorwatch.domain.copies.journal import CopyCounters
from mirrorwatch.domain.copies.pair import LogPair
from mirrorwatch.domain.copies.ranges import RangeContent, RangeRequest
from mirrorwatch.domain.copies.tracker import CopyTracker
from mirrorwatch.domain.mirror_records import Committed, Sync
from mirrorwatch.state import Database
from mirrorwatch.state.copies import CopiesStore

__all__ = [
    "KEY",
    "START",
    "TOPIC",
    "AlikeWorld",
    "AlteredWorld",
    "HarshWorld",
    "World",
]

SURVEYED_EACH = timedelta(seconds=15)


START = datetime(2026, 1, 1, tzinfo=UTC)
TOPIC = "t"
KEY = (TOPIC, 0)

MARK = -1
"""A control record, or an aborted one where the reader leaves those out."""

LAG_MAX = 4
"""MirrorMaker 2's offset.lag.max is 100; a smaller one says the same."""


@dataclass
class Writer:
    """One life of a task, by the rules of OffsetSyncWriter."""

    at: int
    synced: int | None = None
    up_before: int = -2
    down_before: int = -1
    pending: tuple[int, int] | None = None

    def is_due(self, up: int, down: int) -> bool:
        due = (
            self.synced is None
            or down - (self.synced + 1) >= LAG_MAX
            or up - self.up_before != 1
            or down < self.down_before
        )
        self.up_before, self.down_before = up, down
        if due:
            self.synced = down
            self.pending = None
        else:
            self.pending = (up, down)
        return due


@dataclass
class Mirror:
    """What is in both logs, and what every target record is a copy of."""

    now: datetime = START
    source: list[int | None] = field(default_factory=list)
    """Looks of the records; `MARK`, or `None` where one was removed."""

    start: int = 0
    target: list[int | None] = field(default_factory=list)
    """Source offset of each copy; `MARK`, or `None` for a stranger."""

    writers: list[Writer] = field(default_factory=lambda: [Writer(0)])
    committed: int | None = None
    to_commit: int | None = None
    told: list[Sync] = field(default_factory=list)
    """Every sync that was written, for the newest one."""

    unread: list[Sync] = field(default_factory=list)
    ids: tuple[str, str] = ("s1", "t1")
    source_compacted: bool = False
    target_compacted: bool = False
    passed: int = 0
    """Source offset that a writer went past."""

    jumped: list[int] = field(default_factory=list)
    """Records that no writer read: it went on at an offset that it had
    committed of a topic that was deleted."""

    former: int = 0
    """Target offset before which copies are of a topic that was deleted."""

    @property
    def missing(self) -> set[int]:
        """Records that are still there, were passed, and never copied."""
        copied = set(self.target[self.former :])
        return {
            offset
            for offset in range(self.start, min(self.passed, len(self.source)))
            if self.source[offset] not in {MARK, None} and offset not in copied
        }

    @property
    def repeated(self) -> int:
        copies = [up for up in self.target if up is not None and up >= 0]
        return len(copies) - len(set(copies))

    def write(self) -> None:
        self.source.append(len(self.source) + 1000)

    def mark(self) -> None:
        self.source.append(MARK)

    def stranger(self) -> None:
        self.target.append(None)

    def commit_target(self) -> None:
        """An exactly-once mirror ends a transaction."""
        self.target.append(MARK)

    def remove(self) -> None:
        """Compaction takes a record away that was copied."""
        copied = min(self.writers[0].at, len(self.source))
        for offset in range(self.start, copied):
            if self.source[offset] not in {MARK, None}:
                self.source[offset] = None
                self.source_compacted = True
                return

    def remove_ahead(self) -> None:
        """Compaction takes one away before the mirror came to it."""
        for offset in range(self.writers[0].at, len(self.source)):
            if self.source[offset] not in {MARK, None}:
                self.source[offset] = None
                self.source_compacted = True
                return

    def expire(self) -> None:
        """Retention takes the oldest record, read or not."""
        self.start = min(self.start + 1, len(self.source))

    def recreate_source(self) -> None:
        """The topic is deleted and made again; the mirror begins anew."""
        self.source, self.start, self.ids = [], 0, ("s2", self.ids[1])
        self.writers, self.passed = [Writer(0)], 0
        self.former = len(self.target)

    def recreate_target(self) -> None:
        """The copies are gone; the mirror goes on where it was."""
        self.target, self.ids = [], (self.ids[0], "t2")
        self.former = 0

    def truncate_target(self) -> None:
        """The newest copy is lost with the end of the log, if there is one."""
        del self.target[-1:]

    def copy(self, writer: int = 0) -> None:
        self._move(self.writers[min(writer, len(self.writers) - 1)], keep=True)

    def copy_other(self) -> None:
        self.copy(1)

    def drop(self) -> None:
        self._move(self.writers[0], keep=False)

    def fail(self) -> None:
        """A tolerated error: the position moves on at once."""
        writer = self.writers[0]
        before = self.passed
        self._move(writer, keep=False)
        if self.passed > before:
            self.to_commit = max(self.to_commit or 0, writer.at)

    def flush(self) -> None:
        """Commit what was copied, and tell where every writer is."""
        if self.to_commit is not None:
            self.committed = self.to_commit
        for writer in self.writers:
            if writer.pending is not None:
                self._tell(*writer.pending)
                writer.synced, writer.pending = writer.pending[1], None

    def crash(self) -> None:
        """All tasks die; one begins where the mirror last committed."""
        again = Writer(
            self.start if self.committed is None else self.committed
        )
        self.writers = [again]
        # Further than it came, if it committed that of a deleted topic.
        self.jumped += range(self.passed, again.at)
        self.passed = max(self.passed, again.at)
        self.to_commit = self.committed

    def crash_hard(self) -> None:
        """The same, and what it was about to tell is lost."""
        if self.unread and self.told and self.unread[-1] is self.told[-1]:
            self.unread.pop()
            self.told.pop()
        self.crash()

    def takeover(self) -> None:
        """A second task begins, while the first one still writes."""
        if len(self.writers) == 1:
            self.writers.insert(0, Writer(self.committed or self.start))

    def fence(self) -> None:
        """The older of two tasks ends."""
        del self.writers[1:]

    def _move(self, writer: Writer, *, keep: bool) -> None:
        writer.at = max(writer.at, self.start)
        while writer.at < len(self.source) and self.source[writer.at] in {
            MARK,
            None,
        }:
            writer.at += 1
        if writer.at >= len(self.source):
            return
        up = writer.at
        writer.at += 1
        self.passed = max(self.passed, writer.at)
        if not keep:
            return
        self.target.append(up)
        self.to_commit = writer.at
        if writer.is_due(up, len(self.target) - 1):
            self._tell(up, len(self.target) - 1)

    def _tell(self, up: int, down: int) -> None:
        sync = Sync(
            topic=TOPIC,
            partition=0,
            upstream=up,
            downstream=down,
            written_at=self.now,
        )
        self.told.append(sync)
        self.unread.append(sync)


@dataclass
class World(Mirror):
    """Truth, and the tracker that follows it."""

    books: CopyTracker = field(default_factory=CopyTracker)
    store: CopiesStore = field(
        default_factory=lambda: CopiesStore(Database(None), "f")
    )
    refuse: bool = False
    anew: bool = False
    """Whether a survey has every partition as a new one, moved or not."""

    was_late: bool = False
    looked: set[int] = field(default_factory=set)
    _seen: Mapping[TopicPartition, PartitionView | None] = field(
        default_factory=dict
    )
    _commit: Committed | None = None

    def do(self, *actions: str) -> Self:
        for action in actions:
            name, _, times = action.partition(" ")
            for _ in range(int(times or 1)):
                self.now += timedelta(milliseconds=1)
                getattr(self, name)()
        return self

    def crash_hard(self) -> None:
        told = len(self.told)
        super().crash_hard()
        self.was_late |= len(self.told) < told

    def forget(self) -> None:
        """Syncs are compacted before the agent reads them."""
        if len(self.unread) > 1:
            self.unread = self.unread[-1:]
            self.was_late = True

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
        self.now += SURVEYED_EACH
        view = self.view()
        self.books.follow(view)
        self._seen = {} if self.anew else view.partitions
        self.unread = []
        for _ in range(50):
            for end in self.books.end_requests():
                log = self.target if end.at_target else self.source
                if end.offset > len(log):
                    self.books.confirm(end)
            requests = self.books.requests()
            if not requests:
                break
            for request in requests:
                self.books.answer(request, self.read(request), self.now)
        else:
            raise AssertionError("asks for ever")
        self.check()

    def restart(self) -> None:
        """The agent dies, and goes on from what it wrote down."""
        self.books = self.store.load()
        # The syncs topic is read from its start.
        self.unread = list(self.told)

    def view(self) -> FlowView:
        return FlowView(
            flow="f",
            at=self.now,
            before=self._seen,
            committed=self._commits(),
            syncs={KEY: self.told[-1]} if self.told else {},
            caught_up=True,
            target=_cluster("b", self.ids[1], 0, len(self.target), self.now),
            source=_cluster(
                "a", self.ids[0], self.start, len(self.source), self.now
            ),
            names={TOPIC: TOPIC},
            new_syncs=tuple(self.unread),
        )

    def _commits(self) -> dict[TopicPartition, Committed]:
        position, known = self.committed, self._commit
        if position is None:
            return {}
        if known is None or known.position != position:
            known = self._commit = Committed(
                topic=TOPIC,
                partition=0,
                position=position,
                written_at=self.now,
            )
        return {KEY: known}

    def read(self, request: RangeRequest) -> RangeContent | None:
        if self.refuse:
            return None
        self.looked.update(request.target)
        source = {
            offset: look
            for span in request.source
            for offset in range(max(span.start, self.start), span.stop)
            if (look := self.source[offset]) not in {MARK, None}
        }
        target = {
            down: self._look_of(down)
            for down in request.target
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
    def pair(self) -> LogPair:
        return self.books.pairs[KEY]

    @property
    def counters(self) -> CopyCounters:
        return self.books.counters.get(TOPIC, CopyCounters())

    @property
    def lost(self) -> int:
        """Records that are counted as lost and were not copied since."""
        return self.counters.skipped - self.counters.recovered

    @property
    def named(self) -> set[int]:
        """Records that are lost by name."""
        spans = self.pair.absent
        return {n for span in spans for n in range(span.first, span.end)}

    @property
    def present(self) -> set[int]:
        """Those that the source still holds."""
        there = range(self.start, len(self.source))
        return {n for n in self.named if n in there and self.source[n]}

    def check(self) -> None:
        """What holds at any time: no name that is not lost."""
        assert all(n < self.passed for n in self.present)
        # The books are behind: pairs wait for one more look.
        cursor = self.pair.cursor
        assert not self.present & self.booked(
            cursor.target + 1 if cursor else 0
        )

    def booked(self, end: int) -> set[int | None]:
        """Return what is known to have a copy before a target offset."""
        return {*self.target[self.former : end]} - self.unseen

    @property
    def unseen(self) -> set[int | None]:
        """Records of which no copy shows where syncs were lost.

        Where both sides went on alike from one sync to the next nothing is
        read: one that was skipped there, and one that two tasks or tries
        copied, cancel each other. And a copy that is gone is of any record
        between those beside it, but not of one that another task was at. As
        many are missing as are reported; which they are is for the audit.
        """
        if not self.was_late:
            return set()
        seen = {
            up
            for down, up in enumerate(self.target)
            if down in self.looked and self._shows(down)
        }
        return {*self.target} - seen

    def _shows(self, down: int) -> bool:
        return True

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


@dataclass
class HarshWorld(World):
    """Retries, records out of order, and logs that shrink while read."""

    gone_here: set[int] = field(default_factory=set)
    start_here: int = 0
    looked_at: str = ""
    """Id of the topic at the target when it was last looked at."""

    vanished: list[int] = field(default_factory=list)
    """Records that were copied to a topic which was deleted before anybody had
    looked: nothing shows that they were."""

    incarnation: int = 2
    """Of the topic that was made last."""

    meanwhile: list[Callable[[], None]] = field(default_factory=list)
    """What happens before the next answer."""

    def _shows(self, down: int) -> bool:
        """Return whether a copy is there, or in order between two that are."""
        if not self._is_gone(down):
            return True
        there = [
            up for n, up in enumerate(self.target) if not self._is_gone(n)
        ]
        before = sum(not self._is_gone(n) for n in range(down))
        up = self.target[down]
        beside = [*there[max(0, before - 1) : before], up]
        beside += there[before : before + 1]
        order = [-2 if offset is None else offset for offset in beside]
        return order == sorted({*order})

    def _is_gone(self, down: int) -> bool:
        return down in self.gone_here or down < self.start_here

    def look(self) -> None:
        super().look()
        self.looked_at = self.ids[1]

    def recreate_source(self) -> None:
        self.incarnation += 1
        super().recreate_source()
        self.ids = f"s{self.incarnation}", self.ids[1]

    def recreate_target(self) -> None:
        self.incarnation += 1
        if self.looked_at != self.ids[1]:
            self.vanished += (up for up in self.target if up is not None)
        super().recreate_target()
        self.ids = self.ids[0], f"t{self.incarnation}"

    def retry(self) -> None:
        """A copy is written twice: the answer to the first try was lost."""
        writer = self.writers[0]
        before = writer.at
        self._move(writer, keep=False)
        up = writer.at - 1
        if writer.at == before or self.source[up] in {MARK, None}:
            return
        self.target += [up, up]
        self.to_commit = writer.at
        if writer.is_due(up, len(self.target) - 1):
            self._tell(up, len(self.target) - 1)

    def remove_here(self) -> None:
        """Compaction takes a copy away."""
        for down in range(self.start_here, len(self.target)):
            if down not in self.gone_here:
                self.gone_here.add(down)
                self.target_compacted = True
                return

    def remove_last_here(self) -> None:
        """Compaction takes one of the newest copies away."""
        if len(self.target) > self.start_here + 1:
            self.gone_here.add(len(self.target) - 2)
            self.target_compacted = True

    def expire_here(self) -> None:
        """Retention takes the oldest copy."""
        self.start_here = min(self.start_here + 1, len(self.target))

    def expire_meanwhile(self) -> None:
        """Retention takes records of both sides just before an answer."""
        self.meanwhile += [self.expire, self.expire, self.expire_here]

    def restart_late(self) -> None:
        """The agent dies, and only the newest pair is left of those told."""
        self.told = self.told[-1:]
        self.was_late = True
        self.restart()

    def read(self, request: RangeRequest) -> RangeContent | None:
        for happens in self.meanwhile:
            happens()
        self.meanwhile = []
        reading = super().read(request)
        if reading is None:
            return None
        return replace(
            reading,
            target={
                down: look
                for down, look in reading.target.items()
                if not self._is_gone(down)
            },
            target_start=self.start_here,
        )


@dataclass
class AlikeWorld(World):
    """Few records differ, as where the target sets timestamps itself."""

    looks: list[int] = field(default_factory=list)

    def write(self) -> None:
        look = 1000 + len(self.source) * len(self.source) % 7 % 3
        self.source.append(look)
        self.looks = [*self.looks, look]

    def mark(self) -> None:
        super().mark()
        self.looks = [*self.looks, MARK]

    def check(self) -> None:
        """No more is told to be missing than there is, as far as is told."""
        cursor = self.pair.cursor
        booked = set(self.target[: cursor.target + 1 if cursor else 0])
        missing = {
            n
            for n in range(self.start, self.passed)
            if self.source[n] not in {MARK, None} and n not in booked
        }
        assert self.lost <= len(missing)

    def _look_of(self, down: int) -> int:
        up = self.target[down]
        return super()._look_of(down) if up is None else self.looks[up]


@dataclass
class AlteredWorld(AlikeWorld):
    """The mirror alters what it copies: no copy looks like its record."""

    def _look_of(self, down: int) -> int:
        return -100 - super()._look_of(down)
