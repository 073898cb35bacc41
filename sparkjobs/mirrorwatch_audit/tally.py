"""Outcomes of single records, counted."""

from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit import Side

from .digest import LANE
from .lanes import LaneName

__all__ = ["Place", "Tally", "tallied"]

Place = tuple[LaneName, str | None, str | None, str]
"""Lane, flow and topic at the source (if known), and kind."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """How many records of one place had one outcome."""

    place: Place
    """Where, and what."""

    side: Side
    """Which side they were found on."""

    count: int
    """Records."""

    bytes: int
    """Their keys, values and headers."""

    start: datetime | None
    """Earliest timestamp, if they have any."""

    end: datetime | None
    """Latest timestamp."""


def tallied(outcomes: DataFrame) -> list[Tally]:
    """Return the outcomes, counted.

    Parameters
    ----------
    outcomes
        What became of records, as in `OUTCOME`.
    """
    times = sf.when(sf.col("timestamp") >= 0, sf.col("timestamp"))
    rows = outcomes.groupBy(*LANE, "origin", "topic", "kind", "side").agg(
        sf.count(sf.lit(1)).alias("records"),
        sf.sum("bytes").alias("bytes"),
        sf.min(times).alias("start"),
        sf.max(times).alias("end"),
    )
    return [_tally(row) for row in rows.collect()]


def _tally(row: Row) -> Tally:
    lane = (row["flow"], row["target_topic"], row["partition"])
    return Tally(
        place=(lane, row["origin"], row["topic"], row["kind"]),
        side=row["side"],
        count=row["records"],
        bytes=row["bytes"],
        start=_time(row["start"]),
        end=_time(row["end"]),
    )


def _time(milliseconds: int | None) -> datetime | None:
    if milliseconds is None:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, tz=UTC)
