"""A table of buckets of one width, bounded by their age."""

from dataclasses import dataclass
from datetime import timedelta
from sqlite3 import Connection

from .bucket import COLUMNS, Bucket

__all__ = ["COARSE", "FINE", "BucketTable"]

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
    """How far back buckets are kept."""

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
        self, db: Connection, flow: str, seconds: float, change: Bucket
    ) -> None:
        """Add a change to the bucket that a time falls into."""
        at = int(seconds // self.width * self.width)
        found = self.read(db, flow, at, at + 1)
        bucket = found[0][1] if found else Bucket()
        bucket.add(change)
        db.execute(
            f"INSERT OR REPLACE INTO {self.name} "  # noqa: S608
            f"(flow, at, {VALUES}) VALUES (?, ?, {PLACES})",
            (flow, at, *bucket.row()),
        )

    def read(
        self, db: Connection, flow: str, first: int, end: int
    ) -> list[tuple[int, Bucket]]:
        """Return the buckets that start in ``[first, end)``, in order."""
        rows = db.execute(
            f"SELECT at, {VALUES} FROM {self.name} "  # noqa: S608
            "WHERE flow = ? AND at >= ? AND at < ? ORDER BY at",
            (flow, first, end),
        )
        return [(row[0], Bucket.of_row(row[1:])) for row in rows]

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
