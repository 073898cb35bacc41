"""The report as a page."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import log

from jinja2 import Environment, PackageLoader, StrictUndefined

from mirrorwatch import __version__
from mirrorwatch.domain.audit.plan import StatedKind
from mirrorwatch.domain.audit.result import (
    AuditResult,
    FinishedAudit,
    HourCount,
    Hours,
    answer,
    as_duration,
    as_ranges,
    as_size,
    as_time,
)
from mirrorwatch.domain.report import counted

__all__ = ["report_page"]


TOPICS = 40
"""Most topics with a line of their own: what is wrong first, then what is
largest. More would be a wall."""

COLUMNS = 72
"""Most hours with a column of their own; a window that is longer is shown in
steps of several hours."""

LEVELS = 5
"""Shades, by the logarithm of the records: topics differ by powers of ten."""

HOUR = timedelta(hours=1)

_TopicKey = tuple[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class HeatCell:
    """One topic in one step of time."""

    at: datetime
    source_count: int = 0
    target_count: int = 0
    level: int = 0
    """Shade: 0 without records, then 1 to `LEVELS`."""

    differs: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class HeatMap:
    """Topics by hours."""

    step: timedelta
    columns: tuple[datetime, ...]
    rows: tuple[tuple[_TopicKey, tuple[HeatCell, ...]], ...]
    left_out: int
    without_time: int


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
    timed: dict[_TopicKey, dict[datetime, HourCount]] = {}
    untimed = 0
    for count in hours:
        if count.hour is None:
            untimed += count.source_count
        else:
            key = (count.flow, count.topic)
            timed.setdefault(key, {})[count.hour] = count
    begins = {hour for counts in timed.values() for hour in counts}
    if not begins:
        return None
    first, last = min(begins), max(begins)
    step = HOUR * -(-((last - first) // HOUR + 1) // COLUMNS)
    columns = [first + step * n for n in range((last - first) // step + 1)]
    chosen = _chosen(result, timed)
    cells = {
        key: [_cell(timed[key], at, step) for at in columns] for key in chosen
    }
    most = max(max(c.source_count for c in row) for row in cells.values())
    return HeatMap(
        step=step,
        columns=tuple(columns),
        rows=tuple(
            (key, tuple(_shaded(cell, most) for cell in row))
            for key, row in cells.items()
        ),
        left_out=len(timed) - len(chosen),
        without_time=untimed,
    )


def _chosen(
    result: AuditResult,
    timed: Mapping[_TopicKey, Mapping[datetime, HourCount]],
) -> list[_TopicKey]:
    wrong = {(f.flow, f.topic) for f in result.findings}
    unsure = {(gap.flow, gap.topic) for gap in result.unverifiable}

    def weight(key: _TopicKey) -> tuple[bool, bool, bool, int]:
        counts = timed[key].values()
        return (
            key in wrong,
            key in unsure,
            any(count.differs for count in counts),
            sum(count.source_count for count in counts),
        )

    return sorted(timed, key=weight, reverse=True)[:TOPICS]


def _cell(
    counts: Mapping[datetime, HourCount], at: datetime, step: timedelta
) -> HeatCell:
    found = [
        c for hour, c in counts.items() if timedelta() <= hour - at < step
    ]
    return HeatCell(
        at=at,
        source_count=sum(count.source_count for count in found),
        target_count=sum(count.target_count for count in found),
        differs=any(count.differs for count in found),
    )


def _shaded(cell: HeatCell, most: int) -> HeatCell:
    if not cell.source_count:
        return cell
    share = log(cell.source_count + 1) / log(most + 1)
    return replace(cell, level=min(LEVELS, 1 + int(share * LEVELS)))


STATED: dict[StatedKind, str] = {
    "in_flight": "in flight: at or above the mirror's proved position",
    "carried": "left to the next night: their copies may lie beyond the cut",
    "compacted": "removed by compaction on one side",
    "expired": "expired on one side before they could be compared",
}
"""What differs and is not wrong, in words."""

KINDS = {
    "dropped": "at the source and not at the target",
    "duplicated": "at the target more often than at the source",
    "corrupted": "between the same neighbours, with other bytes",
    "extra": "at the target and never at the source",
    "filtered": "at the source and not at the target, as topics.filtered says",
}

_pages = Environment(
    loader=PackageLoader(__package__, "."),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_pages.filters |= {
    "duration": as_duration,
    "ranges": as_ranges,
    "size": as_size,
    "time": as_time,
    "number": "{:,}".format,
    "rate": "{:,.0f}".format,
    "counted": counted,
}


def report_page(
    result: AuditResult, finished: Sequence[FinishedAudit], hours: Hours
) -> str:
    """Return the report as one HTML file that needs nothing else.

    Parameters
    ----------
    result
        What was found.
    finished
        The runs that found it, for what they cost.
    hours
        Records by topic and hour.
    """
    wrong = Counter[tuple[str, str]]()
    for finding in result.errors:
        wrong[finding.flow, finding.topic] += finding.count
    unsure = {(gap.flow, gap.topic) for gap in result.unverifiable}
    stated = Counter[str]()
    for what in result.stated:
        stated[what.kind] += what.count
    return _pages.get_template("report.html.j2").render(
        answer=answer(result),
        state="critical"
        if result.errors
        else "unknown"
        if result.unverifiable
        else "ok",
        result=result,
        several_flows=len({topic.flow for topic in result.topics}) > 1,
        wrong=wrong,
        unsure=unsure,
        topics=sorted(
            result.topics,
            key=lambda t: (
                -wrong[t.flow, t.topic],
                (t.flow, t.topic) not in unsure,
                t.flow,
                t.topic,
            ),
        ),
        stated=[(text, stated[kind]) for kind, text in STATED.items()],
        kinds=KINDS,
        heat=heat_map(result, hours.counts),
        finished=finished,
        version=__version__,
    )
