"""Topics by hours: when what was written, and where both sides differ."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import log

from mirrorwatch.domain.audit import AuditResult, HourCount

__all__ = ["Cell", "HeatMap", "heat_map"]

TOPICS = 40
"""Most topics with a line of their own: what is wrong first, then what is
largest. More would be a wall."""

COLUMNS = 72
"""Most hours with a column of their own; a window that is longer is shown in
steps of several hours."""

LEVELS = 5
"""Shades, by the logarithm of the records: topics differ by powers of ten."""

HOUR = timedelta(hours=1)

_Place = tuple[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One topic in one step of time."""

    at: datetime
    """Begin of the step."""

    source_count: int = 0
    """Records at the source."""

    target_count: int = 0
    """Records at the target."""

    level: int = 0
    """Shade: 0 without records, then 1 to `LEVELS`."""

    differs: bool = False
    """Whether both sides differ."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HeatMap:
    """Topics by hours."""

    step: timedelta
    """Length of time of a column."""

    columns: tuple[datetime, ...]
    """Begin of each column, in UTC."""

    rows: tuple[tuple[_Place, tuple[Cell, ...]], ...]
    """Flows and topics, each with a cell for each column."""

    left_out: int
    """Topics without a line."""

    without_time: int
    """Records that no hour can be told of, at the source."""


def heat_map(
    result: AuditResult, hours: Iterable[HourCount]
) -> HeatMap | None:
    """Return the map; `None` if no record has a time.

    Parameters
    ----------
    result
        What was found: its topics come first.
    hours
        Records by topic and hour.
    """
    timed: dict[_Place, dict[datetime, HourCount]] = {}
    untimed = 0
    for count in hours:
        if count.hour is None:
            untimed += count.source_count
        else:
            place = (count.flow, count.topic)
            timed.setdefault(place, {})[count.hour] = count
    begins = {hour for counts in timed.values() for hour in counts}
    if not begins:
        return None
    first, last = min(begins), max(begins)
    step = HOUR * -(-((last - first) // HOUR + 1) // COLUMNS)
    columns = [first + step * n for n in range((last - first) // step + 1)]
    chosen = _chosen(result, timed)
    cells = {
        place: [_cell(timed[place], at, step) for at in columns]
        for place in chosen
    }
    most = max(max(c.source_count for c in row) for row in cells.values())
    return HeatMap(
        step=step,
        columns=tuple(columns),
        rows=tuple(
            (place, tuple(_shaded(cell, most) for cell in row))
            for place, row in cells.items()
        ),
        left_out=len(timed) - len(chosen),
        without_time=untimed,
    )


def _chosen(
    result: AuditResult, timed: Mapping[_Place, Mapping[datetime, HourCount]]
) -> list[_Place]:
    """Return the topics that get a line: wrong ones, then the largest."""
    wrong = {(f.flow, f.topic) for f in result.findings}
    unsure = {(gap.flow, gap.topic) for gap in result.unverifiable}

    def weight(place: _Place) -> tuple[bool, bool, bool, int]:
        counts = timed[place].values()
        return (
            place in wrong,
            place in unsure,
            any(count.differs for count in counts),
            sum(count.source_count for count in counts),
        )

    return sorted(timed, key=weight, reverse=True)[:TOPICS]


def _cell(
    counts: Mapping[datetime, HourCount], at: datetime, step: timedelta
) -> Cell:
    found = [c for hour, c in counts.items() if at <= hour < at + step]
    return Cell(
        at=at,
        source_count=sum(count.source_count for count in found),
        target_count=sum(count.target_count for count in found),
        differs=any(count.differs for count in found),
    )


def _shaded(cell: Cell, most: int) -> Cell:
    if not cell.source_count:
        return cell
    share = log(cell.source_count + 1) / log(most + 1)
    return replace(cell, level=min(LEVELS, 1 + int(share * LEVELS)))
