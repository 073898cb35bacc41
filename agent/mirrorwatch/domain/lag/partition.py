"""Lag of one partition."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from ..cluster_view import PartitionView, Position, PositionSource
from .model import EstimateBounds, FirstRecord

__all__ = ["EndHistory", "PartitionLag"]


KEPT = 64
"""Entries for each partition. When there are more, every other one becomes
part of the next but the first, whose record is the one that waits."""


@dataclass(slots=True)
class EndHistory:
    """The ends of one partition that were seen, and when first."""

    entries: list[tuple[int, float, float]] = field(default_factory=list)
    """End offset, time in seconds since 1970, both growing, and when the first
    of the ends was seen that became part of it."""

    floor: int | None = None
    """Highest end that was seen before those; `None` at first."""

    @property
    def last(self) -> int:
        """The end that was seen last."""
        return self.entries[-1][0] if self.entries else 0

    @property
    def has_grown(self) -> bool:
        """Return whether any log end was seen after the first one."""
        return len(self.entries) > 1 or self.floor is not None

    def see(self, end: int, now: float) -> None:
        """Take an end; one below the last starts afresh."""
        if self.entries and end < self.entries[-1][0]:
            self.entries.clear()
            self.floor = None
        if not self.entries or end > self.entries[-1][0]:
            self.entries.append((end, now, now))
        if len(self.entries) > KEPT:
            pairs = zip(self.entries[1::2], self.entries[2::2], strict=True)
            self.entries[1:] = [
                (end, at, first) for (_, _, first), (end, at, _) in pairs
            ]

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
        found = self._find(position)
        if found is None:
            return None
        before, (_, at, _) = found
        return at, before is None or before > position

    def written_about(self, position: int) -> float | None:
        """Return about when the record at a position was written: as if all
        had come evenly, where several ends became one.
        """
        found = self._find(position)
        if found is None:
            return None
        before, (end, at, first) = found
        if before is None or before > position:
            return at
        return first + (at - first) * (position - before) / (end - before)

    def _find(
        self, position: int
    ) -> tuple[int | None, tuple[int, float, float]] | None:
        """Return the entry of a record, and the end before it."""
        before = self.floor
        for entry in self.entries:
            if entry[0] > position:
                return before, entry
            before = entry[0]
        return None


@dataclass(slots=True)
class PartitionLag:
    """Lag state of one partition, kept between two surveys."""

    epoch: tuple[str, str | None]
    moved_at: datetime
    """Time at which the position last advanced; at first, when it was first
    seen."""

    rewound_at: datetime | None = None
    """Time at which the position was last rewound, or since when records had
    been pending then: it has been stalled for no longer. `None` if it has
    advanced since."""

    position: Position | None = None
    """Position of the mirror, as it reports it."""

    end: int = 0
    ends: EndHistory = field(default_factory=EndHistory)
    """Earlier log ends."""

    claim: EstimateBounds = field(default_factory=EstimateBounds)
    nothing_until: int = 0
    """Offset up to which no data record follows the position: only markers
    of transactions, or offsets that compaction emptied."""

    lowest: int = 0
    """Offset below which nothing can be copied any more: the log start, or
    the first data record behind it. What expired unread is no lag."""

    expired_since: float | None = None
    """Since when records have waited without a pause, in seconds since 1970,
    where the first of them expired; `None` if none did."""

    head_at: float | None = None
    """Timestamp of the record that is next, in seconds since 1970."""

    passed: tuple[int, float] | None = None
    """Offset and timestamp of the record that was read last, once the position
    went on from it."""

    read_for: int | None = None
    """Position for which the record that is next was read."""

    started: tuple[int, float | None] | None = None
    """Log start that was read last, and the timestamp of its record."""

    settled: PartitionView | None = None
    """View of the last survey, if time alone changes nothing of it: as long as
    the view stays the same, so do its position and end."""

    def move(
        self,
        position: Position,
        end: int,
        now: datetime,
        moved_at: datetime | None = None,
        *,
        start: int = 0,
    ) -> None:
        """Take where the mirror and the source are.

        Parameters
        ----------
        position
            Position of the mirror.
        end
            End at the source.
        now
            Time at which both were requested.
        moved_at
            After a time in which nobody could look: when the mirror last
            moved, if it did meanwhile. `None` if there was a look just before.
        start
            Log start at the source, if it is known.
        """
        before = self.position
        if position == before and end == self.end and start <= self.lowest:
            return  # most partitions, most of the time
        if before is None or position.offset != before.offset:
            if before is not None and position.offset > before.offset:
                self.moved_at, self.rewound_at = moved_at or now, None
                if self.head_at is not None and self.read_for is not None:
                    self.passed = self.read_for, self.head_at
            elif before is not None:
                self.passed = None
                self._note_rewind(before, moved_at or now)
            self._forget_head()
            self.expired_since = None
        elif end < self.end:
            self._forget_head()  # truncated: other records may come there
        self._expire(start)
        self.position, self.end = position, end
        self.lowest = min(self.lowest, end)
        if not self.records:
            self.expired_since = None
        if moved_at is not None and self.ends.last <= self.next_offset:
            # The record that is next came meanwhile: it has to be read.
            self.ends = EndHistory()
        self.ends.see(end, now.timestamp())
        self.ends.pass_(self.next_offset)

    def _forget_head(self) -> None:
        self.nothing_until, self.head_at, self.read_for = 0, None, None

    def _expire(self, start: int) -> None:
        """Take a log start: records below it wait no more."""
        since = self.waiting_since() if start > self.next_offset else None
        if since is not None:
            self.expired_since = self.expired_since or since[0]
            if self.head_at is not None and self.read_for is not None:
                self.passed = self.read_for, self.head_at
            self.head_at = self.read_for = None
        self.lowest = max(self.lowest, start)

    def _note_rewind(self, before: Position, at: datetime) -> None:
        """Take that the position went back: what it has to copy again has
        not waited since it was first copied.
        """
        if before.origin is PositionSource.ESTIMATE:
            return  # it claimed too much, and nothing moved
        since = self.waiting_since()
        if since is not None:
            at = min(at, datetime.fromtimestamp(since[0], UTC))
        self.rewound_at = max(self.stands_since, at)

    def pass_over(self, gap: timedelta, now: datetime) -> None:
        """Count a time in which nobody could move as none."""
        self.moved_at = min(now, self.moved_at + gap)
        if self.rewound_at is not None:
            self.rewound_at = min(now, self.rewound_at + gap)

    @property
    def stands_since(self) -> datetime:
        """Time at which the position last moved to its present offset."""
        return max(self.moved_at, self.rewound_at or self.moved_at)

    def wants_head(self, at: datetime | None) -> bool:
        """Return whether the next record to copy should be read.

        Parameters
        ----------
        at
            Time at which the position was last requested.
        """
        return (
            self.records > 0
            and self.read_for != self.next_offset
            and (self.moved_at != at or self._was_there)
        )

    def take_head(self, head: FirstRecord) -> None:
        """Take what was read; it is void if the position moved meanwhile."""
        if self.next_offset != head.wanted.position:
            return
        until = head.wanted.end if head.offset is None else head.offset
        if self.lowest > self.reached:
            # What had expired before it may have been records.
            self.lowest = until
        else:
            self.nothing_until = until
        if head.offset is not None:
            self.read_for = head.offset
        if head.written_at is not None:
            self.head_at = head.written_at.timestamp()
        self.ends.pass_(self.next_offset)

    @property
    def reached(self) -> int:
        """Position of the mirror, past offsets that need no copy."""
        position = 0 if self.position is None else self.position.offset
        return max(self.nothing_until, position)

    @property
    def next_offset(self) -> int:
        """Next source offset to copy: nothing below the log start can be."""
        return max(self.reached, self.lowest)

    @property
    def records(self) -> int:
        """Offsets that wait."""
        return max(0, self.end - self.next_offset)

    @property
    def origin(self) -> str:
        """Source of the position; empty if the position is not known."""
        return self.position.origin if self.position else ""

    @property
    def begun(self) -> bool:
        """Return whether any record of the partition was ever copied."""
        return self.position is not None and (
            self.position.origin is not PositionSource.START
        )

    def waiting_since(self) -> tuple[float, bool] | None:
        """Return when the oldest record that waits was written.

        Returns
        -------
        tuple or None
            Seconds since 1970, and whether it may be earlier; `None` if
            nothing waits.
        """
        found = self._seen_first()
        if found is None:
            return None
        at, may_be_older = found
        if may_be_older:
            written = self.head_at or self._written_since_passed(at)
            if written is not None:
                return min(at, written), False
        return at, may_be_older

    def _written_since_passed(self, seen_at: float) -> float | None:
        """Return about when the record that is next was written, after the
        one that was read last: as if all had come evenly until they were
        seen.

        Notes
        -----
        A mirror that goes on slowly has gone on again whenever the record that
        is next was read: without this nothing would be known of how old what
        it copies is, until all of it is copied that was there at first.
        """
        if self.passed is None or self.passed[0] > self.next_offset:
            return None  # the position moved back
        offset, written = self.passed
        end = next(e for e, _, _ in self.ends.entries if e > self.next_offset)
        share = (self.next_offset - offset) / (end - offset)
        return written + (seen_at - written) * share

    def waiting_about(self) -> tuple[float, bool] | None:
        """Return the same as near as is known: it may be earlier or later."""
        found = self.waiting_since()
        if found is None or found[1]:
            return found
        about = self.ends.written_about(self.next_offset)
        return (found[0] if about is None else min(found[0], about)), False

    def seen_since(self) -> float | None:
        """Return when the oldest record that waits was first seen to be
        there, in seconds since 1970; `None` if nothing waits.
        """
        found = self._seen_first()
        return None if found is None else found[0]

    def newest_copied(self) -> float | None:
        """Return the time after which the newest copied record was not
        written, in seconds since 1970; `None` if none came since the first
        survey.
        """
        if not self.begun or not self.ends.has_grown:
            return None
        since = self.seen_since()
        if since is None:
            return self.ends.entries[-1][1]
        return min(since, self.moved_at.timestamp())

    def expires_by_time(self, now: float, kept: float) -> bool:
        """Return whether the log was shortened by time: its oldest record is
        as old as records become, in seconds.
        """
        written = None if self.started is None else self.started[1]
        return written is not None and now - written >= kept

    def grew_after(self, at: datetime) -> bool:
        """Return whether anything was written after a time, and not only
        seen for the first time.
        """
        ends = self.ends
        return ends.has_grown and ends.entries[-1][1] > at.timestamp()

    @property
    def _was_there(self) -> bool:
        """Return whether the next record was there before the agent's first
        survey, so that only reading it shows its age.
        """
        found = self._seen_first()
        return found is not None and found[1]

    def _seen_first(self) -> tuple[float, bool] | None:
        return self.ends.written_at(self.next_offset) if self.records else None

    @property
    def waits_unseen(self) -> bool:
        """Return whether pending records were there before the agent's first
        survey.
        """
        since = self.waiting_since()
        return since is not None and since[1]
