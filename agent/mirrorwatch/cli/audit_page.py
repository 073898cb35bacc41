"""Prints what audits found, for a person at a terminal."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..domain.audit.plan import Plan, Stated, Unverifiable
from ..domain.audit.result import (
    AuditFinding,
    AuditResult,
    Crossing,
    FinishedAudit,
    answer,
    as_duration,
    as_ranges,
    as_size,
    as_time,
    combined,
)
from ..domain.report import counted
from ..state.audits import to_document
from .audit_options import EXIT_UNHEALTHY, report_page

__all__ = [
    "print_crossing",
    "print_frozen",
    "print_history",
    "print_result",
    "show_result",
]


LINES = 20
"""Most lines of a table; the report and the JSON have them all."""


def show_result(
    ctx: click.Context,
    finished: Sequence[FinishedAudit],
    *,
    as_json: bool = False,
    html: Path | None = None,
) -> None:
    """Show what runs found, and end with status 3 if it is not clean.

    Parameters
    ----------
    ctx
        The command.
    finished
        The runs.
    as_json
        Print JSON.
    html
        File for the report, if one is wanted.
    """
    result = combined([audit.result for audit in finished])
    if html is not None:
        html.write_text(report_page(result, finished), encoding="utf-8")
    if as_json:
        click.echo(to_document(result))
    else:
        print_result(result, finished, Console(highlight=False))
    if not result.clean:
        ctx.exit(EXIT_UNHEALTHY)


def print_result(
    result: AuditResult, finished: Sequence[FinishedAudit], console: Console
) -> None:
    """Print a result.

    Parameters
    ----------
    result
        Result to print.
    finished
        The runs that found it.
    console
        Console to print it on.
    """
    style = "green" if result.clean else "bold red"
    if not result.clean and not result.errors:
        style = "yellow"
    sign = "✓" if result.clean else "✗" if result.errors else "?"
    console.print(
        Text(_plain(f"{sign} {answer(result)}"), style=style), soft_wrap=True
    )
    span = f"{as_time(result.start)} to {as_time(result.end)} UTC"
    console.print(Text(f"  {result.id}, {span}", style="dim"))
    if result.findings:
        _print_findings(result.findings, console)
    if result.unverifiable:
        _print_gaps(result.unverifiable, console)
    for line in _stated(result.stated):
        console.print(Text(f"  {line}"), soft_wrap=True)
    for audit in finished:
        speed = audit.speed
        per_second = (speed.records_per_second, speed.bytes_per_second)
        if per_second[0] is None or per_second[1] is None:
            continue
        line = (
            f"  read {counted(speed.records, 'record')} of both sides in "
            f"{as_duration(speed.reading)}: {per_second[0]:,.0f} records/s, "
            f"{as_size(per_second[1])}/s; {as_duration(speed.total)} in all"
        )
        console.print(Text(line, style="dim"), soft_wrap=True)


def print_history(audits: Iterable[FinishedAudit], console: Console) -> None:
    """Print one line for each run."""
    table = _table("run", "began (UTC)", "took", "records", "result")
    for audit in audits:
        result = audit.result
        table.add_row(
            _plain(result.id),
            as_time(result.began_at),
            as_duration(audit.speed.total),
            f"{sum(topic.source_count for topic in result.topics):,}",
            Text(
                _plain(answer(result)),
                style="green" if result.clean else "bold red",
            ),
        )
    console.print(table)


def print_frozen(plan: Plan, folder: str, console: Console) -> None:
    """Print what both sites are to digest."""
    offsets = sum(
        len(source.span) for pair in plan.pairs for source in pair.sources
    )
    line = (
        f"{plan.id}: {counted(offsets, 'offset')} of "
        f"{counted(len(plan.pairs), 'partition')} frozen at "
        f"{as_time(plan.at)} UTC; the plan is in {folder}"
    )
    console.print(Text(_plain(line)), soft_wrap=True)


def print_crossing(crossing: Crossing, console: Console) -> None:
    """Print what a digest saves on the way to the other site."""
    line = (
        f"Digest of the {crossing.side}: {as_size(crossing.digest_bytes)} "
        f"for {counted(crossing.records, 'record')} of "
        f"{as_size(crossing.read_bytes)}"
    )
    if crossing.percent is not None:
        line += f", {crossing.percent:.3g} % of what was read"
    console.print(Text(line), soft_wrap=True)


def _print_findings(
    findings: Sequence[AuditFinding], console: Console
) -> None:
    table = _table(
        *("topic", "partition", "what", "records"),
        *("source offsets", "target offsets", "timestamps (UTC)"),
    )
    for finding in findings[:LINES]:
        table.add_row(
            _plain(finding.topic),
            str(finding.partition),
            Text(
                finding.kind,
                style="" if finding.kind == "filtered" else "bold red",
            ),
            f"{finding.count:,}",
            as_ranges(finding.source_offsets),
            as_ranges(finding.target_offsets),
            _span(finding.start, finding.end),
        )
    console.print(table)
    _print_rest(len(findings) - LINES, console)


def _print_gaps(gaps: Sequence[Unverifiable], console: Console) -> None:
    table = _table("topic", "partition", "not verified, because")
    for gap in gaps[:LINES]:
        where = "all" if gap.partition is None else str(gap.partition)
        table.add_row(_plain(gap.topic), where, _plain(gap.reason))
    console.print(table)
    _print_rest(len(gaps) - LINES, console)


def _print_rest(number: int, console: Console) -> None:
    if number > 0:
        console.print(Text(f"  … and {number:,} more", style="dim"))


def _stated(stated: Iterable[Stated]) -> Iterable[str]:
    sums: Counter[str] = Counter()
    for what in stated:
        sums[what.kind] += what.count
    words = {
        "in_flight": "in flight",
        "carried": "left to the next night",
        "compacted": "removed by compaction",
        "expired": "expired",
    }
    for kind, count in sorted(sums.items()):
        yield f"{counted(count, 'record')} {words.get(kind, kind)}"


def _span(start: datetime | None, end: datetime | None) -> str:
    if start is None or end is None:
        return "none"
    if start == end:
        return as_time(start)
    return f"{as_time(start)} to {as_time(end)}"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, header_style="dim", overflow="fold")
    return table


def _plain(text: str) -> str:
    return "".join(
        c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text
    )
