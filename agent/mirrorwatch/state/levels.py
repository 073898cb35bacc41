"""Service levels over time: bounded, in the state file."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from ..domain.canary.model import CanaryObservation
from ..domain.levels.model import MONTH, LevelCounts, ServiceLevel
from ..domain.report import Observation
from ..domain.skips.model import SkipCounters, SkipsObservation
from ..ports import Report
from .database import Database
from .documents import DocumentStore

__all__ = ["LevelHistory"]


WIDTH = 300
"""Seconds in a row: the shortest window of a burn rate. 30 days of a flow are
8,640 rows for each level, about half a megabyte."""

_TABLE = """
CREATE TABLE IF NOT EXISTS level_300s (
    flow TEXT NOT NULL, level TEXT NOT NULL, at INTEGER NOT NULL,
    good INTEGER NOT NULL, bad INTEGER NOT NULL, unknown INTEGER NOT NULL,
    PRIMARY KEY (flow, level, at)) WITHOUT ROWID
"""

_ADD = """
INSERT INTO level_300s (flow, level, at, good, bad, unknown)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (flow, level, at) DO UPDATE SET
    good = good + excluded.good, bad = bad + excluded.bad,
    unknown = unknown + excluded.unknown
"""

_TOPICS = """
CREATE TABLE IF NOT EXISTS level_topic (
    flow TEXT NOT NULL, topic TEXT NOT NULL,
    good INTEGER NOT NULL, bad INTEGER NOT NULL, unknown INTEGER NOT NULL,
    PRIMARY KEY (flow, topic)) WITHOUT ROWID
"""


def counts_of(
    seen: Observation, counted: Mapping[str, SkipCounters]
) -> Iterator[tuple[ServiceLevel, str, LevelCounts]]:
    """Yield what an observation says of service levels, by partition of the
    canary or by topic.

    Parameters
    ----------
    seen
        The observation.
    counted
        Counters of topics that are known: those that are the same objects
        are left out.
    """
    if isinstance(seen, CanaryObservation):
        for partition in seen.partitions:
            part = str(partition.partition)
            yield ServiceLevel.DELIVERED, part, partition.level
    elif isinstance(seen, SkipsObservation):
        for topic, tally in seen.tallies:
            if counted.get(topic) is not tally:
                yield ServiceLevel.VERIFIED, topic, _of_records(tally)


def _of_row(row: Sequence[int]) -> LevelCounts:
    return LevelCounts(*map(int, row))


def _of_records(tally: SkipCounters) -> LevelCounts:
    """Return what became of a topic's records.

    Notes
    -----
    One that was missing counts as bad for good, also if it is copied later.
    What a transform drops as configured does not count at all.
    """
    bad = max(0, tally.skipped - tally.filtered)
    # Below zero where some were counted before it was known what was passed:
    # only the rise of it counts.
    good = tally.passed - tally.skipped - tally.unverifiable
    return LevelCounts(good=good, bad=bad, unknown=tally.unverifiable)


@dataclass(frozen=True, kw_only=True, slots=True)
class _LevelsDocument:
    seen: dict[str, LevelCounts] = field(default_factory=dict)
    """What was last seen of the canary, by partition."""

    total: dict[str, LevelCounts] = field(default_factory=dict)
    """Everything that was counted, by level."""


class LevelHistory:
    """What was counted for the service levels of every flow.

    Parameters
    ----------
    database
        State file.

    Notes
    -----
    Only what rises is counted, by partition and by topic, so that a topic
    that is seen for the first time counts from there on. What was last seen
    is kept: what the mirror does while the agent is down counts, too.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._topics: dict[tuple[str, str], LevelCounts] = {}
        self._counted: dict[str, dict[str, SkipCounters]] = {}
        """Counters of topics in the report before, by flow."""

        with database.transaction() as sql:
            sql.execute(_TABLE)
            sql.execute(
                "CREATE INDEX IF NOT EXISTS level_300s_at ON level_300s (at)"
            )
            sql.execute(_TOPICS)
            for flow, topic, *counts in sql.execute(
                "SELECT flow, topic, good, bad, unknown FROM level_topic"
            ).fetchall():
                last = database.decode(
                    "level_topic",
                    {"flow": flow, "topic": topic},
                    partial(_of_row, counts),
                )
                if last is not None:
                    self._topics[flow, topic] = last

    def record(self, report: Report) -> None:
        """Take in what was counted since the report before.

        Raises
        ------
        StateError
            Raised if the state file cannot be written.
        """
        now = int(report.own_at.timestamp())
        with self._database.transaction() as sql:
            for flow in report.flows:
                for level, risen in self._risen(report, flow.name).items():
                    if risen != LevelCounts():
                        counts = (risen.good, risen.bad, risen.unknown)
                        at = now // WIDTH * WIDTH
                        sql.execute(_ADD, (flow.name, level, at, *counts))
            oldest = now - MONTH.total_seconds() - WIDTH
            sql.execute("DELETE FROM level_300s WHERE at <= ?", (oldest,))

    def _risen(self, report: Report, flow: str) -> Mapping[str, LevelCounts]:
        store = self._document(flow)
        before = store.load()
        seen = dict(before.seen)
        topics: dict[tuple[str, str], LevelCounts] = {}
        risen: dict[str, LevelCounts] = {}
        counted_last = self._counted.get(flow, {})
        counted: dict[str, SkipCounters] = {}
        for observation in report.observations:
            if observation.flow != flow:
                continue
            if isinstance(observation, SkipsObservation):
                counted = dict(observation.tallies)
            for level, part, counts in counts_of(observation, counted_last):
                of_level = risen.setdefault(level.value, LevelCounts())
                if level is ServiceLevel.DELIVERED:
                    last = seen.get(part, LevelCounts())
                    seen[part] = counts
                else:
                    known = self._topics.get((flow, part))
                    last = counts if known is None else known
                    if counts != known:
                        topics[flow, part] = counts
                of_level.add(counts.risen_since(last))
        if not risen:
            return risen
        with self._database.transaction() as sql:
            sql.executemany(
                "INSERT OR REPLACE INTO level_topic VALUES (?, ?, ?, ?, ?)",
                [
                    (*key, seen_now.good, seen_now.bad, seen_now.unknown)
                    for key, seen_now in topics.items()
                ],
            )
        # Only then: what could not be written rises once more.
        self._database.after_commit(partial(self._topics.update, topics))
        self._database.after_commit(
            partial(self._counted.update, {flow: counted})
        )
        total = {level: c.copy() for level, c in before.total.items()}
        for name, counts in risen.items():
            total.setdefault(name, LevelCounts()).add(counts)
        after = _LevelsDocument(seen=seen, total=total)
        if after != before:
            store.save(after)
        return risen

    def totals(self, flow: str) -> Mapping[str, LevelCounts]:
        """Return everything that was counted of a flow, by level.

        Raises
        ------
        StateError
            Raised if the state file cannot be read.
        """
        with self._database.transaction():
            return self._document(flow).load().total

    def windows(
        self, flow: str, now: datetime, lengths: Iterable[timedelta]
    ) -> Mapping[tuple[str, timedelta], LevelCounts]:
        """Return what was counted in the last time, by level and length.

        Parameters
        ----------
        flow
            Name of the flow.
        now
            The time.
        lengths
            How far back to look; each is widened to whole rows.

        Raises
        ------
        StateError
            Raised if the state file cannot be read.
        """
        found: dict[tuple[str, timedelta], LevelCounts] = {}
        seconds = int(now.timestamp())
        with self._database.transaction() as sql:
            for length in lengths:
                first = seconds - int(length.total_seconds())
                rows = sql.execute(
                    "SELECT level, sum(good), sum(bad), sum(unknown) "
                    "FROM level_300s WHERE flow = ? AND at >= ? "
                    "GROUP BY level",
                    (flow, first // WIDTH * WIDTH),
                ).fetchall()
                for level, *counts in rows:
                    found[level, length] = LevelCounts(*map(int, counts))
        return found

    def _document(self, flow: str) -> DocumentStore[_LevelsDocument]:
        return DocumentStore(self._database, flow, "levels", _LevelsDocument)
