"""Two logs, and a mirror with all its faults that copies one to the other."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from mirrorwatch.domain.mirror_records import Sync

__all__ = ["KEY", "MARK", "START", "TOPIC", "Mirror", "Writer"]

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

    @property
    def missing(self) -> set[int]:
        """Records that are still there, were passed, and never copied."""
        copied = set(self.target)
        return {
            offset
            for offset in range(self.start, self.passed)
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
        for offset in range(self.start, self.writers[0].at):
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
        self.writers = [Writer(0)]

    def recreate_target(self) -> None:
        """The copies are gone; the mirror goes on where it was."""
        self.target, self.ids = [], (self.ids[0], "t2")

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
