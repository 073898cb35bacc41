"""A source, a mirror and its target as plain lists, and the coverage that an
agent keeps of them.
"""

from dataclasses import dataclass, field

from mirrorwatch.domain.copies.coverage import Coverage, OffsetPair, State

__all__ = ["History"]


@dataclass
class History:
    """One partition and its copy."""

    source: list[bool] = field(default_factory=list)
    """Whether each offset holds a record: others are markers."""

    target: list[int | None] = field(default_factory=list)
    """Source offset of each copy, `None` of what is none."""

    tasks: list[int] = field(default_factory=lambda: [0])
    """Position of each task that copies, the first of them alone mostly."""

    passed: int = 0
    coverage: Coverage = field(default_factory=Coverage)
    cursor: OffsetPair = field(default_factory=lambda: OffsetPair(-1, -1))
    done: list[str] = field(default_factory=list)
    is_mixed: bool = False
    """Whether a task may copy again what was copied before, or did so since
    the range before was read."""

    def do(self, *actions: str) -> "History":
        """Take actions by their names, each with its number: `copy 3`."""
        self.done += actions
        for action in actions:
            name, _, number = action.partition(" ")
            for _ in range(int(number or 1)):
                getattr(self, name)()
        return self

    def write(self) -> None:
        self.source.append(True)

    def mark(self) -> None:
        self.source.append(False)

    def copy(self, task: int = 0) -> None:
        at = self.tasks[task]
        while at < len(self.source) and not self.source[at]:
            at += 1
        if at < len(self.source):
            self.target.append(at)
            at += 1
        self.tasks[task] = at
        self.passed = max(self.passed, at)

    def drop(self) -> None:
        self.tasks[0] = min(self.tasks[0] + 1, len(self.source))
        self.passed = max(self.passed, self.tasks[0])

    def rewind(self) -> None:
        self.tasks[0] = max(0, self.tasks[0] - 3)
        self.is_mixed = True

    def take_over(self) -> None:
        """Let another task copy, too, from somewhat before."""
        self.tasks = [self.tasks[0], max(0, self.tasks[0] - 3)]
        self.is_mixed = True

    def copy_other(self) -> None:
        if len(self.tasks) > 1:
            self.copy(1)
            self.is_mixed = True

    def foreign(self) -> None:
        self.target.append(None)

    def read(self) -> None:
        """Account for all that the mirror has passed."""
        for target in range(self.cursor.target + 1, len(self.target)):
            source = self.target[target]
            if source is not None:
                self.coverage.put(source, source + 1, State.COPIED, target)
                self.cursor = OffsetPair(target, source)
        for gap in self.coverage.gaps(0, self.passed):
            for offset in gap:
                state = State.ABSENT if self.source[offset] else State.EMPTY
                self.coverage.put(offset, offset + 1, state)
        self._note_tasks()

    def give_up(self) -> None:
        """Account for it without reading it."""
        lowest = self.cursor.target + 1
        unread = self.coverage.gaps(0, self.passed)
        unread += [
            range(span.first, span.end)
            for span in self.coverage.of(State.ABSENT)
        ]
        for gap in unread:
            self.coverage.put(gap.start, gap.stop, State.UNKNOWN, lowest)
        last = max(self.cursor.source, self.passed - 1)
        self.cursor = OffsetPair(len(self.target) - 1, last)
        self._note_tasks()

    def _note_tasks(self) -> None:
        self.coverage.join_old(self.passed)
        self.is_mixed = min(self.tasks) < self.passed

    @property
    def is_shared(self) -> bool:
        """Whether what follows the cursor may be anything."""
        return self.is_mixed or None in self.target

    def copied(self, first: int = 0) -> set[int]:
        """Return the source offsets from one on that were copied."""
        return {at for at in self.target if at is not None and at >= first}

    def read_from(self, start: int, committed: int) -> tuple[int, int]:
        """Return the copies that a group misses at a start, and the records
        that it reads again.
        """
        records = [at for at in self.target[start:] if at is not None]
        left = self.copied(committed)
        missed = len(left.difference(records))
        return missed, len(records) - len(left) + missed
