"""Whether every report is in InfluxDB, once."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from tests.support.influx import InfluxServer

__all__ = ["lost_points", "missing_ticks"]

NEAR_SECONDS = 0.005
"""The API gives milliseconds, InfluxDB has microseconds."""


def missing_ticks(
    seen: Iterable[str], written: Sequence[float], excused: Iterable[str]
) -> list[str]:
    """Return ticks that were seen and are not written.

    Parameters
    ----------
    seen
        Ticks, as the API named them.
    written
        Times of what was written, in seconds.
    excused
        The last ticks before a kill, whose points may have been in flight.
    """
    times, let_go = sorted(written), set(excused)
    return [
        tick
        for tick in sorted(set(seen) - let_go)
        if not _has(times, datetime.fromisoformat(tick).timestamp())
    ]


def _has(times: Sequence[float], at: float) -> bool:
    index = bisect_left(times, at - NEAR_SECONDS)
    return index < len(times) and times[index] <= at + NEAR_SECONDS


def lost_points(
    server: InfluxServer, seen: Iterable[str], excused: Iterable[str]
) -> tuple[int, list[str]]:
    """Return how many reports are written, and what is wrong with them."""
    found = _rows(server, "SELECT last_tick_timestamp_seconds FROM agent")
    times = [row[0] / 1e9 for series in found for row in series["values"]]
    wrong = [
        f"tick {tick} is not in InfluxDB"
        for tick in missing_ticks(seen, times, excused)
    ]
    if len(times) != len(set(times)):
        wrong.append(f"{len(times) - len(set(times))} ticks are there twice")
    # A report is whole: the health of every check is in each.
    checks = _rows(
        server, 'SELECT count(check_health) FROM health GROUP BY "check"'
    )
    for series in checks:
        number = series["values"][0][1]
        if series["tags"]["check"] and number != len(times):
            wrong.append(
                f"{number} points of {series['tags']['check']}, "
                f"{len(times)} reports"
            )
    return len(times), wrong


def _rows(server: InfluxServer, query: str) -> list[dict[str, Any]]:
    response = server.query(query)
    response.raise_for_status()
    return list(response.json()["results"][0].get("series", ()))
