"""What one tick adds to a flow's history."""

import json
from collections.abc import Iterable
from sqlite3 import Connection

from ..domain.observations import CanaryObservation, CanaryPartition, canaries
from ..ports import Report
from .bucket import Bucket
from .sketch import LatencySketch

__all__ = ["change_of", "make_table"]

COUNTERS = ("delivered", "late", "lost", "duplicates")


def make_table(db: Connection) -> None:
    """Make the table of what was last seen of each flow."""
    db.execute(
        "CREATE TABLE IF NOT EXISTS history_seen (flow TEXT PRIMARY KEY, "
        "observed_at TEXT NOT NULL, counts TEXT NOT NULL)"
    )


def change_of(db: Connection, report: Report, flow: str) -> Bucket:
    """Return what a report adds to the history of one flow.

    Parameters
    ----------
    db
        Open transaction.
    report
        What was learned in this tick.
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
            change.add(_of_canary(db, seen))
    return change


def _of_canary(db: Connection, seen: CanaryObservation) -> Bucket:
    """Return what an observation adds; nothing if it was counted before."""
    row = db.execute(
        "SELECT observed_at, counts FROM history_seen WHERE flow = ?",
        (seen.flow,),
    ).fetchone()
    observed_at = seen.at.isoformat()
    if row is not None and row[0] == observed_at:
        return Bucket()
    before: dict[str, list[int]] = {} if row is None else json.loads(row[1])
    counts = {str(p.partition): _counts(p) for p in seen.partitions}
    db.execute(
        "INSERT OR REPLACE INTO history_seen VALUES (?, ?, ?)",
        (seen.flow, observed_at, json.dumps(before | counts)),
    )
    zero = [0] * len(COUNTERS)
    risen = zero
    for partition, now in counts.items():
        rise = _rise(before.get(partition, zero), now)
        risen = [a + b for a, b in zip(risen, rise, strict=True)]
    delivered, late, lost, duplicates = risen
    latencies = [arrival.latency for arrival in seen.arrivals]
    return Bucket(
        latencies=LatencySketch.of(latencies),
        worst=max(latencies, default=None),
        delivered=delivered,
        late=late,
        lost=lost,
        duplicates=duplicates,
        outstanding=_outstanding(seen.partitions),
    )


def _counts(partition: CanaryPartition) -> list[int]:
    return [getattr(partition.counts, name) for name in COUNTERS]


def _outstanding(partitions: Iterable[CanaryPartition]) -> int | None:
    """Return the probes on their way; `None` where there is no partition."""
    outstanding = [p.outstanding for p in partitions]
    return sum(outstanding) if outstanding else None


def _rise(before: list[int], now: list[int]) -> list[int]:
    """Return by how much counters rose; a lower one began again at zero."""
    if any(new < old for old, new in zip(before, now, strict=True)):
        return now
    return [new - old for old, new in zip(before, now, strict=True)]
