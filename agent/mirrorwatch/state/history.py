"""What the charts show: bounded, in the state file."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median_high

from ..ports import Report
from .bucket import Bucket
from .bucket_table import COARSE, FINE
from .database import Database
from .increments import change_of, make_table

__all__ = ["History", "Point", "Series"]

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
class Point:
    """One stretch of time on a chart."""

    at: datetime
    """Its start (UTC)."""

    bucket: Bucket
    """What happened in it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """A part of a flow's history."""

    step: timedelta
    """Width of a point."""

    points: tuple[Point, ...]
    """Every point without a break, also where nothing was seen."""


class History:
    """What the charts show.

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
            make_table(db)
            for table in (FINE, COARSE):
                table.make(db)

    def record(self, report: Report) -> None:
        """Add what a tick has seen, and drop what is too old.

        Raises
        ------
        StateError
            Raised if the state file cannot be written.
        """
        now = report.at.timestamp()
        with self._database.transaction() as db:
            for flow in report.flows:
                change = change_of(db, report, flow.name)
                for table in (FINE, COARSE):
                    table.add(db, flow.name, now, change)
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
            How many points at most, give or take one at the ends.

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
            rows = table.read(db, flow, begin, end_seconds)
        buckets = {at: Bucket() for at in range(begin, end_seconds, step)}
        for at, bucket in rows:
            buckets[at // step * step].add(bucket)
        return Series(
            step=timedelta(seconds=step),
            points=tuple(
                Point(at=datetime.fromtimestamp(at, UTC), bucket=bucket)
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
        with self._database.transaction() as db:
            rows = FINE.read(
                db, flow, int(start.timestamp()), int(end.timestamp()) + 1
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
        with self._database.transaction() as db:
            rows = COARSE.read(db, flow, first, last)
        seen = [
            p99
            for _, bucket in rows
            if (p99 := bucket.quantile(0.99)) is not None
        ]
        usual = median_high(seen) if len(seen) >= USUAL_LEAST else None
        self._usual[flow] = (last, usual)
        return usual


def _step(least: float) -> int:
    """Return the narrowest width of a point that is wide enough."""
    for step in STEPS:
        if step >= least:
            return step
    return int(-(-least // DAY) * DAY)
