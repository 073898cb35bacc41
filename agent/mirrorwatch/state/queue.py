"""Bounded FIFO queues of pending batches, for each server."""

import zlib
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from sqlite3 import Connection
from threading import Condition, RLock

from ..domain.notices.model import NoticeMessage
from ..exceptions import StateError
from .database import Database
from .documents import to_json

__all__ = ["MOST_TRIES", "MOST_WAITING", "Batch", "DeliveryQueue"]
__all__ += ["DurableQueue", "Outbox", "Rows", "to_batches"]


NAME_LENGTH = 200
"""Characters of a point that name it: its series and time, as a rule."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Points in the format of one server, one a line; or one notice.

    Notes
    -----
    Plain bytes, encoded in the tick: what waits in a queue cannot change any
    more, its size is known, and it can be kept in a file as it is.
    """

    body: bytes
    points: int

    @property
    def name(self) -> str:
        """The first point, for a log."""
        first = self.body.split(b"\n", 1)[0]
        return first.decode(errors="replace")[:NAME_LENGTH]

    def halves(self) -> tuple["Batch", "Batch"]:
        """Return its first and its second half."""
        lines = self.body.split(b"\n")
        half = len(lines) // 2
        parts = lines[:half], lines[half:]
        first, second = (Batch(b"\n".join(p), len(p)) for p in parts)
        return first, second


LEVEL = 1
"""Of compression: line protocol repeats itself, so that the quickest level
leaves an eighth. It is done in the tick."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A range of a queue."""

    first: int
    last: int


NO_ROWS = Rows(0, 0)
"""Rows are counted from 1."""

NO_LIMIT = 2**63 - 1


@dataclass(frozen=True, slots=True)
class _Size:
    points: int = 0
    batches: int = 0
    stored_bytes: int = 0

    def plus(self, other: "_Size", sign: int = 1) -> "_Size":
        return _Size(
            self.points + sign * other.points,
            self.batches + sign * other.batches,
            self.stored_bytes + sign * other.stored_bytes,
        )


class DurableQueue:
    """Batches for one server in the state file; the oldest go for the newest.

    Parameters
    ----------
    database
        The state file.
    name
        Name of the queue in it.
    most_bytes
        Limit of pending bytes, as they are kept: compressed.
    most_batches
        Limit of pending batches.

    Raises
    ------
    StateError
        Raised by every method if the file cannot be used.

    Notes
    -----
    What `append` has returned for survives a kill and a loss of power, once
    the transaction around it is committed. What was sent is removed
    afterwards, so after a kill in between it is sent again. The file keeps
    the size that it once had; its room is used again.
    """

    def __init__(
        self,
        database: Database,
        name: str,
        *,
        most_bytes: int = NO_LIMIT,
        most_batches: int = NO_LIMIT,
    ) -> None:
        self.changed = Condition()

        self._database = database
        self._name = name
        self._most_bytes = most_bytes
        self._most_batches = most_batches
        self._dropped = 0
        with database.transaction() as sql:
            self._size = self._measure(sql, Rows(0, NO_LIMIT))

    @property
    def is_durable(self) -> bool:
        """The queue outlives the process."""
        return self._database.lasts

    @property
    def points(self) -> int:
        """Number of pending points."""
        return self._size.points

    @property
    def batches(self) -> int:
        """Number of pending batches."""
        return self._size.batches

    @property
    def dropped_points(self) -> int:
        """Number of points dropped because the queue was full."""
        return self._dropped

    def append(
        self, batches: Sequence[Batch], in_flight: Rows = NO_ROWS
    ) -> Rows:
        """Keep batches behind all others, whatever their size.

        Parameters
        ----------
        batches
            At least one.
        in_flight
            Rows that are being sent: they are never dropped, as nobody could
            know whether they were lost.

        Returns
        -------
        Rows
            Rows of the batches now.
        """
        bodies = [zlib.compress(batch.body, LEVEL) for batch in batches]
        added = _Size(
            sum(batch.points for batch in batches),
            len(batches),
            sum(map(len, bodies)),
        )
        with self._database.transaction() as sql:
            dropped = self._drop_oldest(sql, added, in_flight)
            ids = [
                sql.execute(
                    "INSERT INTO queue (name, points, body) VALUES (?, ?, ?)",
                    (self._name, batch.points, body),
                ).lastrowid
                or 0
                for batch, body in zip(batches, bodies, strict=True)
            ]
            self._database.after_commit(
                lambda: self._note(added.plus(dropped, -1), dropped.points)
            )
        return Rows(ids[0], ids[-1])

    def newest(self) -> tuple[Rows, Batch] | None:
        """Return the newest batch."""
        with self._database.transaction() as sql:
            (last,) = sql.execute(
                "SELECT max(id) FROM queue WHERE name = ?", (self._name,)
            ).fetchone()
        return None if last is None else self.oldest(1, begin=last)

    def oldest(
        self, most_points: int, *, begin: int = 0
    ) -> tuple[Rows, Batch] | None:
        """Return the oldest batches as one: one, or as many as fit.

        Parameters
        ----------
        most_points
            Limit of points in the batch.
        begin
            Row to begin at.
        """
        taken: list[tuple[int, int, bytes]] = []
        broken: list[int] = []
        total = 0
        with self._database.transaction() as sql:
            for number, points, body in sql.execute(
                "SELECT id, points, body FROM queue WHERE name = ? "
                "AND id >= ? ORDER BY id",
                (self._name, begin),
            ):
                try:
                    whole = (number, int(points), zlib.decompress(body))
                except (TypeError, ValueError, zlib.error):
                    broken.append(number)
                    continue
                total += whole[1]
                if taken and total > most_points:
                    break
                taken.append(whole)
            for number in broken:
                gone = self._measure(sql, Rows(number, number))
                self._database.set_row_aside("queue", {"id": number})
                self._database.after_commit(
                    partial(
                        self._note, _Size().plus(gone, -1), int(gone.points)
                    )
                )
        if not taken:
            return None
        joined = b"\n".join(body for *_, body in taken)
        total = sum(points for _, points, _ in taken)
        return Rows(taken[0][0], taken[-1][0]), Batch(joined, total)

    def remove(self, rows: Rows) -> None:
        """Remove rows: they are settled."""
        with self._database.transaction() as sql:
            removed = self._measure(sql, rows)
            sql.execute(
                "DELETE FROM queue WHERE name = ? AND id BETWEEN ? AND ?",
                (self._name, rows.first, rows.last),
            )
            self._database.after_commit(
                lambda: self._note(_Size().plus(removed, -1), 0)
            )

    def skip(self, row: int) -> int:
        """Set a row aside that cannot be sent; return its points."""
        with self._database.transaction() as sql:
            gone = self._measure(sql, Rows(row, row))
            if gone.batches:
                self._database.set_row_aside("queue", {"id": row})
            self._database.after_commit(
                lambda: self._note(_Size().plus(gone, -1), 0)
            )
        return gone.points

    def _drop_oldest(
        self, sql: Connection, added: _Size, spared: Rows
    ) -> _Size:
        """Drop the oldest until there is room; return how much that was."""
        needed = self._size.plus(added)
        dropped = _Size()
        gone: list[tuple[int]] = []
        for row, points, size in sql.execute(
            "SELECT id, points, length(body) FROM queue WHERE name = ? "
            "AND id NOT BETWEEN ? AND ? ORDER BY id",
            (self._name, spared.first, spared.last),
        ):
            left = needed.plus(dropped, -1)
            if (
                left.stored_bytes <= self._most_bytes
                and left.batches <= self._most_batches
            ):
                break
            gone.append((row,))
            dropped = dropped.plus(_Size(points, 1, size))
        sql.executemany("DELETE FROM queue WHERE id = ?", gone)
        return dropped

    def _measure(self, sql: Connection, rows: Rows) -> _Size:
        return _Size(
            *sql.execute(
                "SELECT coalesce(sum(points), 0), count(*), "
                "coalesce(sum(length(body)), 0) FROM queue "
                "WHERE name = ? AND id BETWEEN ? AND ?",
                (self._name, rows.first, rows.last),
            ).fetchone()
        )

    def _note(self, change: _Size, dropped_points: int) -> None:
        with self.changed:
            self._size = self._size.plus(change)
            self._dropped += dropped_points
            self.changed.notify_all()


MOST_FRESH = 720
"""Batches that wait in memory while the state file cannot be written: an
hour at a tick of 5 s, and at about 10 kB a batch less than 10 MB. While it
can, none does."""

MOST_TRIES = 10
"""Retry limit of a batch that fails while the server takes others each time;
then it is skipped. The probability that this hits a good batch is one in a
million."""


class DeliveryQueue:
    """Batches that wait in the state file; in memory while that fails.

    Parameters
    ----------
    durable
        Queue in the state file.
    most_fresh
        Limit of batches in memory while the state file cannot be written.
    in_order
        Strict order: no batch may overtake another, unless that one alone
        fails.

    Raises
    ------
    StateError
        Raised by every method but `points` and `wait` if the state file
        cannot be used. Nothing is lost by that.

    Notes
    -----
    A batch is in the state file before `put` returns, and until it is
    settled. So an agent that is killed loses none, and sends one again at
    most.

    While the past is drained, a batch that is just put goes before it. If the
    oldest one fails, the newest is tried: if that is taken, each time, the
    oldest itself must be what the server fails on.

    A server that limits requests, or is unavailable, says so. That counts
    against no batch, and the oldest is tried again before the newest: else the
    newest would use up the limit each time. After ten such failures in a row
    the newest is tried.

    In order, the oldest must fail ten times in a row before another is tried,
    and that is the next one: any other would be early. It is tried at once:
    after a pause the server may be back, and would have taken the oldest.
    """

    def __init__(
        self,
        durable: DurableQueue,
        *,
        most_fresh: int = MOST_FRESH,
        in_order: bool = False,
    ) -> None:
        self._durable = durable
        self._most_fresh = most_fresh
        self._in_order = in_order
        self._fresh: deque[Batch] = deque()
        self._taken: Batch | None = None
        self._rows: Rows | None = None
        self._unremoved: Rows | None = None
        self._dropped = 0
        self._closed = False
        self._away = False
        self._untried = False
        self._overtakes = False
        self._failed: Rows | None = None
        self._suspect = 0
        self._tries = 0
        self._busy = 0
        self._failures = 0
        self._lock = RLock()

    @property
    def points(self) -> int:
        """Points that are not written yet, those in flight included."""
        with self._lock:
            return self._durable.points + self.fresh_points

    @property
    def fresh_points(self) -> int:
        """Pending points in memory only."""
        with self._lock:
            return sum(batch.points for batch in self._fresh)

    @property
    def dropped_points(self) -> int:
        """Points dropped because there was no room."""
        return self._dropped + self._durable.dropped_points

    @property
    def suspects(self) -> bool:
        """A pending batch failed while others were taken."""
        return self._tries > 0

    def put(self, batch: Batch) -> None:
        """Add the newest batch."""
        with self._lock:
            self._fresh.append(batch)
            with self._durable.changed:
                self._durable.changed.notify_all()
            try:
                self._save()
                self._untried = not self._away
            finally:
                # Drop the oldest in memory that is not in flight.
                while len(self._fresh) > self._most_fresh:
                    oldest = 1 if self._taken is self._fresh[0] else 0
                    self._dropped += self._fresh[oldest].points
                    del self._fresh[oldest]

    def flush(self) -> None:
        """Write down what is in memory."""
        with self._lock:
            self._save()

    def wait(self, timeout_seconds: float) -> bool:
        """Wait until there is a batch; return whether there is one."""
        with self._durable.changed:
            return self._durable.changed.wait_for(
                lambda: bool(self._fresh or self._durable.points),
                timeout_seconds,
            )

    def take(self, most_points: int) -> Batch | None:
        """Take the next batch, as long as there is one.

        Parameters
        ----------
        most_points
            Limit of points from the state file, if more than one batch.

        Notes
        -----
        What was settled and could not be removed is not taken again: else a
        full disk would send the same notice every second.
        """
        with self._lock:
            self._taken = self._rows = None
            waiting: tuple[Rows, Batch] | None = None
            if not self._fresh or self._in_order:
                try:
                    waiting = self._next_durable(most_points)
                except StateError:
                    # What is in memory need not wait for the file.
                    if not self._fresh:
                        raise
            if waiting is not None:
                self._rows, self._taken = waiting
            elif self._fresh:
                self._taken = self._fresh[0]
            return self._taken

    def _next_durable(self, most_points: int) -> tuple[Rows, Batch] | None:
        if self._unremoved is not None:
            self._remove(self._unremoved)
        return self._next(most_points)

    def done(self) -> int:
        """Remove the batch that was taken: it is settled.

        Returns
        -------
        int
            Points of another that is skipped, as only it is not taken.
        """
        with self._lock:
            taken, rows = self._taken, self._rows
            self._taken = self._rows = None
            if taken is None or self._closed:
                return 0
            self._away = False
            busy, self._busy = self._busy, 0
            if rows is None:
                if self._fresh and self._fresh[0] is taken:
                    self._fresh.popleft()
                return 0
            self._remove(rows)
            failed, self._failed = self._failed, None
            if failed is not None and failed.first < rows.first:
                if busy < MOST_TRIES:
                    return self._suspect_of(failed)
                return 0
            if not self._overtakes:
                self._tries = self._failures = 0
            return 0

    def put_back(self, *, busy: bool = False) -> bool:
        """Keep the batch that was taken, and all others, for later.

        Parameters
        ----------
        busy
            The server gives a reason of its own, whatever it was sent.

        Returns
        -------
        bool
            Another batch is to be tried at once.
        """
        with self._lock:
            try:
                self._save()
                rows = self._rows
            finally:
                self._taken = self._rows = None
                self._away, self._untried = True, False
            self._busy = self._busy + 1 if busy else 0
            if rows is None:
                return False
            if self._failed is None:
                return self._note_failure(rows, busy=busy)
            if rows.first > self._failed.first and not busy:
                # Others fail as well: that is the server's own trouble.
                self._failed, self._tries, self._failures = None, 0, 0
            return False

    def close(self) -> int:
        """Write down what is in memory. Nothing is touched any more.

        Returns
        -------
        int
            Number of points that end with the process: none, unless the state
            is kept in memory.

        Notes
        -----
        What is in flight beyond this is sent again by the next agent.
        """
        with self._lock:
            try:
                self._save()
            finally:
                self._closed = True
            return 0 if self._durable.is_durable else self._durable.points

    def _next(self, most_points: int) -> tuple[Rows, Batch] | None:
        # One or two are not yet the past.
        overtakes = self._untried and self._durable.batches > 2
        overtakes = overtakes and not self._in_order
        self._untried = self._overtakes = False
        behind = self._failed or (NO_ROWS if overtakes else None)
        if behind and (newer := self._newer(behind)):
            self._overtakes = self._failed is None
            return newer
        alone = self._tries or self._failures
        return self._durable.oldest(1 if alone else most_points)

    def _newer(self, rows: Rows) -> tuple[Rows, Batch] | None:
        """Return what is tried in place of rows: the next, or the newest."""
        if self._in_order:
            return self._durable.oldest(1, begin=rows.last + 1)
        newest = self._durable.newest()
        return newest if newest and newest[0].first > rows.last else None

    def _note_failure(self, rows: Rows, *, busy: bool) -> bool:
        """Decide whether another is tried next; return whether at once."""
        if not self._in_order:
            if not self._overtakes and not 0 < self._busy < MOST_TRIES:
                self._failed = rows
            return False
        self._failures += not busy
        if busy or self._failures < MOST_TRIES or not self._newer(rows):
            return False
        self._failed = rows
        return not self._tries

    def _suspect_of(self, failed: Rows) -> int:
        if failed.first != self._suspect:
            self._suspect, self._tries = failed.first, 0
        self._tries += 1
        if self._tries < MOST_TRIES or failed.first != failed.last:
            return 0
        self._tries = self._failures = 0
        return self._durable.skip(failed.first)

    def _remove(self, rows: Rows) -> None:
        self._unremoved = rows
        self._durable.remove(rows)
        self._unremoved = None

    def _save(self) -> None:
        if not self._fresh or self._closed:
            return
        taken_is_fresh = self._taken is not None and self._rows is None
        rows = self._durable.append(tuple(self._fresh), self._rows or NO_ROWS)
        if taken_is_fresh:
            self._rows = Rows(rows.first, rows.first)
        self._fresh.clear()


MOST_WAITING = 100
"""Notices that wait for one receiver: five hours at the usual limit. More
would bury anyone who returns under what is over."""


def to_batches(messages: Iterable[NoticeMessage]) -> list[Batch]:
    """Return messages as they wait."""
    return [Batch(to_json(message).encode(), 1) for message in messages]


class Outbox:
    """Notices that wait for their receivers, a queue for each.

    Parameters
    ----------
    database
        The state file.
    receivers
        Names of all receivers; what waits for others is removed.

    Raises
    ------
    StateError
        Raised by every method if the file cannot be used.

    Notes
    -----
    A notice is written in the transaction of what caused it, and removed
    after its receiver took it. So none is lost, and one is sent twice if the
    agent is killed in between: each has an id that stays the same.
    """

    def __init__(self, database: Database, receivers: Iterable[str]) -> None:
        names = {receiver: f"notify {receiver}" for receiver in receivers}
        marks = ", ".join("?" for _ in names)
        with database.transaction() as sql:
            sql.execute(
                "DELETE FROM queue WHERE name LIKE 'notify %' "  # noqa: S608
                f"AND name NOT IN ({marks})",
                tuple(names.values()),
            )
        self.queues = {
            receiver: DurableQueue(database, name, most_batches=MOST_WAITING)
            for receiver, name in names.items()
        }

    @property
    def waiting(self) -> int:
        """Number of pending notices, each counted for each receiver."""
        return sum(queue.points for queue in self.queues.values())

    @property
    def dropped(self) -> int:
        """Number of notices dropped because a queue was full."""
        return sum(queue.dropped_points for queue in self.queues.values())

    def put(self, messages: Sequence[NoticeMessage]) -> None:
        """Add messages for every receiver."""
        batches = to_batches(messages)
        if batches:
            for queue in self.queues.values():
                queue.append(batches)
