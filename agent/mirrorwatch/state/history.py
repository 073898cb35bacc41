"""History behind the charts: bounded buckets in the state file."""

import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from sqlite3 import Connection
from statistics import median_high
from typing import Any, Self, TypeVar

from ..domain.canary.model import CanaryObservation, canaries
from ..domain.report import Health
from ..ports import Report
from .database import Database
from .documents import DocumentStore

__all__ = ["Bucket", "History", "LatencySketch", "Series"]


RATIO = 1.02
"""Width of a cell: an answer is within 1 % of the true duration, well below
what a person or a limit can distinguish, at six bytes for each cell in use."""

UNIT_SECONDS = 1e-6
"""Durations below this are counted as zero: clocks are not finer."""

CELL = struct.Struct("<hI")
"""Layout of a stored histogram cell: its index and its count."""


class LatencySketch:
    """Counts of durations by logarithmic cell, negative ones too.

    This is not the `Histogram` of the domain with other bounds. That one has
    the few fixed buckets that Prometheus is promised, and a sum: exact counts
    up to its bounds cannot be derived from these cells, nor percentiles
    within 1 % from its buckets.

    Parameters
    ----------
    cells
        Counts by index of the cell.

    Notes
    -----
    Adding up the sketches of several stretches of time gives the sketch of
    the whole, so that a percentile of a day is that of all its probes and not
    an average of percentiles. Indices grow with the duration; negative
    durations have negative indices, because they are shown, never clamped.
    """

    def __init__(self, cells: Mapping[int, int] | None = None) -> None:
        self._cells = dict(cells or {})

    @classmethod
    def of(cls, durations: Iterable[timedelta]) -> "LatencySketch":
        """Count durations."""
        sketch = cls()
        for duration in durations:
            index = _index(duration.total_seconds())
            sketch._cells[index] = sketch._cells.get(index, 0) + 1
        return sketch

    @classmethod
    def decode(cls, stored: bytes) -> "LatencySketch":
        """Restore what `encode` returned."""
        return cls(dict(CELL.iter_unpack(stored)))

    def encode(self) -> bytes:
        """Return the sketch as bytes."""
        return b"".join(CELL.pack(*cell) for cell in self._cells.items())

    @property
    def cells(self) -> Mapping[int, int]:
        """Counts by index of the cell."""
        return self._cells

    @property
    def count(self) -> int:
        """Number of counted durations."""
        return sum(self._cells.values())

    def add(self, other: "LatencySketch") -> None:
        """Take in everything that another sketch has counted."""
        for index, count in other.cells.items():
            self._cells[index] = self._cells.get(index, 0) + count

    def quantile(self, share: float) -> timedelta | None:
        """Return the duration that a share of all stay at or below.

        Parameters
        ----------
        share
            Between 0 and 1: 0.5 is the median.

        Returns
        -------
        datetime.timedelta or None
            Nearest rank, within 1 % (or 1 µs), `None` if nothing was counted.
        """
        rank = max(1, math.ceil(share * self.count))
        for index in sorted(self._cells):
            rank -= self._cells[index]
            if rank <= 0:
                return timedelta(seconds=_middle(index))
        return None


def _index(seconds: float) -> int:
    size = abs(seconds) / UNIT_SECONDS
    if size < 1:
        return 0
    cell = 1 + math.floor(math.log(size, RATIO))
    return cell if seconds > 0 else -cell


def _middle(index: int) -> float:
    if index == 0:
        return 0.0
    low = UNIT_SECONDS * RATIO ** (abs(index) - 1)
    return math.copysign(low * (1 + RATIO) / 2, index)


COLUMNS = (
    "latencies",
    "worst_us",
    "delivered",
    "late",
    "lost",
    "duplicates",
    "outstanding",
    "health",
)
"""Columns of a stored bucket, in the order of `Bucket.row`."""

_Ordered = TypeVar("_Ordered", timedelta, int, Health)

MICROSECOND = timedelta(microseconds=1)


@dataclass(kw_only=True, slots=True)
class Bucket:
    """Bucket of one flow's history: latencies, counters and health of one
    interval.

    Notes
    -----
    Adding two gives the bucket of both stretches together, in any order: the
    durations are counted, not averaged; counters add up; of `outstanding`,
    `worst` and `health` the highest stays. So a roll-up of any width says
    the same as the ticks that it was made of.
    """

    latencies: LatencySketch = field(default_factory=LatencySketch)
    """Durations from send to arrival, by the time of the tick that saw the
    arrival."""

    worst: timedelta | None = None
    delivered: int = 0
    late: int = 0
    """Probes that arrived after the deadline."""

    lost: int = 0
    duplicates: int = 0
    outstanding: int | None = None
    """Most probes that were on their way at once, `None` if not seen."""

    health: Health | None = None
    """Worst health of the flow, `None` if there was no tick."""

    def add(self, other: "Bucket") -> None:
        """Take in another stretch of time."""
        self.latencies.add(other.latencies)
        self.worst = _highest(self.worst, other.worst)
        self.delivered += other.delivered
        self.late += other.late
        self.lost += other.lost
        self.duplicates += other.duplicates
        self.outstanding = _highest(self.outstanding, other.outstanding)
        self.health = _highest(self.health, other.health)

    def quantile(self, share: float) -> timedelta | None:
        """Return the duration that a share of all stay at or below.

        Within 1 %, and never above the longest, which is known exactly.
        """
        near = self.latencies.quantile(share)
        if near is None or self.worst is None:
            return near
        return min(near, self.worst)

    def row(self) -> tuple[Any, ...]:
        """Return the values to store."""
        return (
            self.latencies.encode(),
            None if self.worst is None else self.worst // MICROSECOND,
            self.delivered,
            self.late,
            self.lost,
            self.duplicates,
            self.outstanding,
            None if self.health is None else int(self.health),
        )

    @classmethod
    def of_row(cls, row: Sequence[Any]) -> Self:
        """Restore what `row` returned."""
        latencies, worst, delivered, late, lost, duplicates, most, health = row
        return cls(
            latencies=LatencySketch.decode(latencies),
            worst=None if worst is None else worst * MICROSECOND,
            delivered=int(delivered),
            late=int(late),
            lost=int(lost),
            duplicates=int(duplicates),
            outstanding=None if most is None else int(most),
            health=None if health is None else Health(health),
        )


def _highest(a: _Ordered | None, b: _Ordered | None) -> _Ordered | None:
    return a if b is None else b if a is None else max(a, b)


VALUES = ", ".join(COLUMNS)
PLACES = ", ".join("?" for _ in COLUMNS)


@dataclass(frozen=True, kw_only=True, slots=True)
class BucketTable:
    """A table of buckets of one width.

    Notes
    -----
    Every method runs in the transaction of its caller.
    """

    name: str
    """Name of the table: a constant of this module, never input."""

    width: int
    """Seconds in a bucket."""

    kept: timedelta

    def make(self, db: Connection) -> None:
        """Make the table if it is not there."""
        db.execute(
            f"CREATE TABLE IF NOT EXISTS {self.name} (flow TEXT NOT NULL, "
            "at INTEGER NOT NULL, latencies BLOB NOT NULL, "
            "worst_us INTEGER, delivered INTEGER NOT NULL, "
            "late INTEGER NOT NULL, lost INTEGER NOT NULL, "
            "duplicates INTEGER NOT NULL, outstanding INTEGER, "
            "health INTEGER, PRIMARY KEY (flow, at)) WITHOUT ROWID"
        )
        # Finds what is too old without reading the rest, also of flows that
        # are no longer configured.
        db.execute(
            f"CREATE INDEX IF NOT EXISTS {self.name}_at ON {self.name} (at)"
        )

    def add(
        self, database: Database, flow: str, seconds: float, change: Bucket
    ) -> None:
        """Add a change to the bucket that a time falls into."""
        at = int(seconds // self.width * self.width)
        found = self.read(database, flow, at, at + 1)
        bucket = found[0][1] if found else Bucket()
        bucket.add(change)
        with database.transaction() as db:
            db.execute(
                f"INSERT OR REPLACE INTO {self.name} "  # noqa: S608
                f"(flow, at, {VALUES}) VALUES (?, ?, {PLACES})",
                (flow, at, *bucket.row()),
            )

    def read(
        self, database: Database, flow: str, first: int, end: int
    ) -> list[tuple[int, Bucket]]:
        """Return the buckets that start in ``[first, end)``, in order."""
        with database.transaction() as db:
            rows = db.execute(
                f"SELECT at, {VALUES} FROM {self.name} "  # noqa: S608
                "WHERE flow = ? AND at >= ? AND at < ? ORDER BY at",
                (flow, first, end),
            ).fetchall()
            buckets = [
                (
                    at,
                    database.decode(
                        self.name,
                        {"flow": flow, "at": at},
                        partial(Bucket.of_row, row),
                    ),
                )
                for at, *row in rows
            ]
        return [(at, bucket) for at, bucket in buckets if bucket is not None]

    def reaches(self, db: Connection, seconds: float) -> bool:
        """Return whether buckets of that time are still kept."""
        newest = db.execute(
            f"SELECT max(at) FROM {self.name}"  # noqa: S608
        ).fetchone()[0]
        return newest is None or seconds >= newest - self.kept.total_seconds()

    def prune(self, db: Connection, seconds: float) -> None:
        """Drop what is too old at that time."""
        oldest = seconds - self.kept.total_seconds() - self.width
        db.execute(
            f"DELETE FROM {self.name} WHERE at <= ?",  # noqa: S608
            (oldest,),
        )


FINE = BucketTable(name="history_10s", width=10, kept=timedelta(days=1))
"""For a look at the last hours; about 4 MB a flow when full."""

COARSE = BucketTable(name="history_300s", width=300, kept=timedelta(days=30))
"""For the weeks before, and for what is usual; about as large."""


COUNTERS = ("delivered", "late", "lost", "duplicates")


@dataclass(frozen=True, kw_only=True, slots=True)
class _SeenDocument:
    """Canary counters of one flow as last recorded, to take the difference."""

    at: datetime | None = None
    counts: dict[str, list[int]] = field(default_factory=dict)


def change_of(database: Database, report: Report, flow: str) -> Bucket:
    """Return what a report adds to the history of one flow.

    Parameters
    ----------
    database
        State file; in a transaction of the caller's.
    report
        Report of this tick.
    flow
        Name of the flow.

    Notes
    -----
    A report may repeat a fact that is kept from an earlier tick; each
    observation is counted once, by its time. Nothing is taken from a repeated
    one: a gap on a chart is true, a frozen line is not.
    """
    change = Bucket(health=report.health_of(flow))
    for seen in canaries(report.observations):
        if seen.flow == flow:
            # Labels may be corrected meanwhile; its own time is not.
            at = seen.at - report.agent.clock_offset
            change.add(_of_canary(database, replace(seen, at=at)))
    return change


def _of_canary(database: Database, seen: CanaryObservation) -> Bucket:
    """Return what an observation adds; nothing if it was counted before."""
    document = DocumentStore(
        database, seen.flow, "history_seen", _SeenDocument
    )
    last = document.load()
    if last.at == seen.at:
        return Bucket()
    before = last.counts
    counts = {
        str(partition.partition): [
            getattr(partition.counts, name) for name in COUNTERS
        ]
        for partition in seen.partitions
    }
    document.save(_SeenDocument(at=seen.at, counts=before | counts))
    zero = [0] * len(COUNTERS)
    risen = zero
    for partition, now in counts.items():
        rise = _rise(before.get(partition, zero), now)
        risen = [a + b for a, b in zip(risen, rise, strict=True)]
    delivered, late, lost, duplicates = risen
    latencies = [arrival.latency for arrival in seen.arrivals]
    outstanding = [p.outstanding for p in seen.partitions]
    return Bucket(
        latencies=LatencySketch.of(latencies),
        worst=max(latencies, default=None),
        delivered=delivered,
        late=late,
        lost=lost,
        duplicates=duplicates,
        outstanding=sum(outstanding) if outstanding else None,
    )


def _rise(before: list[int], now: list[int]) -> list[int]:
    """Return by how much counters rose; a lower one began again at zero."""
    if any(new < old for old, new in zip(before, now, strict=True)):
        return now
    return [new - old for old, new in zip(before, now, strict=True)]


USUAL_WINDOW = timedelta(hours=24)
"""A day, so that what is usual covers every hour of an observing day."""

USUAL_EXCLUDED = timedelta(minutes=5)
"""Left out of what is usual: the stretch that is compared with it."""

USUAL_LEAST = 6
"""Buckets of 5 minutes: half an hour. Less is an accident, not a habit."""

STEPS = (10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600)
"""Widths of a point in seconds. Asking for the same number of points of the
same stretch later gives the same width, so a reader can fetch what is new."""

DAY = 86400
MOST_POINTS = 1000
"""As many as a screen has pixels for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryPoint:
    """Bucket of one interval on a chart."""

    at: datetime
    bucket: Bucket


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """A part of a flow's history."""

    step: timedelta
    points: tuple[HistoryPoint, ...]
    """Every point without a break, also where nothing was seen."""


class History:
    """History behind the charts, by flow and interval.

    Parameters
    ----------
    database
        State file.
    interval
        Time between ticks: no point is narrower than two of them, else ticks
        that come a little late would look like gaps.

    Notes
    -----
    Every tick is added to its 10 s and to its 5 min bucket in one
    transaction: there is no roll-up to run later, and none to lose.
    """

    def __init__(
        self, database: Database, interval: timedelta = timedelta(seconds=5)
    ) -> None:
        self._database = database
        self._narrowest = 2 * interval.total_seconds()
        self._usual: dict[str, tuple[int, timedelta | None]] = {}
        with database.transaction() as db:
            for table in (FINE, COARSE):
                table.make(db)

    def record(self, report: Report) -> None:
        """Add what a tick has seen, and drop what is too old.

        Raises
        ------
        StateError
            Raised if the state file cannot be written.
        """
        # By the agent's own time: no tick is counted twice, or left out.
        now = report.own_at.timestamp()
        with self._database.transaction() as db:
            for flow in report.flows:
                change = change_of(self._database, report, flow.name)
                for table in (FINE, COARSE):
                    table.add(self._database, flow.name, now, change)
            for table in (FINE, COARSE):
                table.prune(db, now)

    def series(
        self, flow: str, start: datetime, end: datetime, points: int
    ) -> Series:
        """Return a part of a flow's history.

        Parameters
        ----------
        flow
            Name of the flow.
        start, end
            Stretch of time, widened to whole points.
        points
            Limit of points, give or take one at the ends.

        Raises
        ------
        StateError
            Raised if the state file cannot be read.
        """
        first, last = start.timestamp(), max(start, end).timestamp()
        points = max(1, min(points, MOST_POINTS))
        step = _step(max((last - first) / points, self._narrowest))
        with self._database.transaction() as db:
            table = COARSE
            if step < COARSE.width and FINE.reaches(db, first):
                table = FINE
            step = max(step, table.width)
            begin = int(first // step * step)
            end_seconds = int(-(-last // step) * step)
            rows = table.read(self._database, flow, begin, end_seconds)
        buckets = {at: Bucket() for at in range(begin, end_seconds, step)}
        for at, bucket in rows:
            buckets[at // step * step].add(bucket)
        return Series(
            step=timedelta(seconds=step),
            points=tuple(
                HistoryPoint(at=datetime.fromtimestamp(at, UTC), bucket=bucket)
                for at, bucket in buckets.items()
            ),
        )

    def summary(self, flow: str, start: datetime, end: datetime) -> Bucket:
        """Return a recent stretch of time as one bucket.

        Parameters
        ----------
        flow
            Name of the flow.
        start, end
            Stretch of time within the last day, cut to whole 10 s.

        Raises
        ------
        StateError
            Raised if the state file cannot be read.
        """
        whole = Bucket()
        rows = FINE.read(
            self._database,
            flow,
            int(start.timestamp()),
            int(end.timestamp()) + 1,
        )
        for _, bucket in rows:
            whole.add(bucket)
        return whole

    def usual_p99(self, flow: str, now: datetime) -> timedelta | None:
        """Return the latency that a flow usually keeps to.

        Returns
        -------
        datetime.timedelta or None
            Median over the 99th percentiles of the 5-minute buckets of the
            last 24 hours that were complete 5 minutes ago; `None` with less
            than half an hour of arrivals.

        Raises
        ------
        StateError
            Raised if the state file cannot be read.
        """
        before = (now - USUAL_EXCLUDED).timestamp()
        last = int(before // COARSE.width * COARSE.width)
        known = self._usual.get(flow)
        # Asked at every tick, but changed only by a completed bucket.
        if known is not None and known[0] == last:
            return known[1]
        first = int(last - USUAL_WINDOW.total_seconds())
        rows = COARSE.read(self._database, flow, first, last)
        seen = [
            p99
            for _, bucket in rows
            if (p99 := bucket.quantile(0.99)) is not None
        ]
        usual = median_high(seen) if len(seen) >= USUAL_LEAST else None
        self._usual[flow] = (last, usual)
        return usual


def _step(least: float) -> int:
    for step in STEPS:
        if step >= least:
            return step
    return int(-(-least // DAY) * DAY)
