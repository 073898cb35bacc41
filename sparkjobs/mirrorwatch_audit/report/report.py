"""The report as a page."""

from collections import Counter
from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from mirrorwatch import __version__
from mirrorwatch.domain.audit.plan import StatedKind
from mirrorwatch.domain.audit.result import (
    AuditResult,
    FinishedAudit,
    answer,
    as_duration,
    as_ranges,
    as_size,
    as_time,
)
from mirrorwatch.domain.report import counted

__all__ = ["report_page"]


STATED: dict[StatedKind, str] = {
    "in_flight": "in flight: at or above the mirror's proved position",
    "carried": "left to the next night: their copies may lie beyond the cut",
    "compacted": "removed by compaction on one side",
    "expired": "expired on one side before they could be compared",
}
"""Wording of differences with a known reason, which are no errors."""

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


def report_page(result: AuditResult, finished: Sequence[FinishedAudit]) -> str:
    """Return the report as one HTML file that needs nothing else.

    Parameters
    ----------
    result
        Audit result.
    finished
        The runs that found it, for what they cost.
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
        finished=finished,
        version=__version__,
    )
