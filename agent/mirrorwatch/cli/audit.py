"""`mirrorwatch audit`: proves what was dropped, duplicated or altered."""

import importlib
import json
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar, cast

import click
from rich.console import Console

from ..config import Config
from ..domain.audit.plan import Request, Side, TimeWindow
from ..domain.audit.result import (
    AuditResult,
    FinishedAudit,
    Hours,
    combined,
    result_document,
)
from ..domain.topics import PatternError, compile_pattern
from ..exceptions import AuditError
from ..log import configure_logging
from ..state.audits import (
    latest_audit,
    local_path,
    read_audit,
    read_audits,
    read_hours,
)
from .audit_page import print_crossing, print_history, print_result
from .options import EXAMPLE, TIME, choose_flows, config_option

__all__ = ["as_request", "require"]


F = TypeVar("F", bound=Callable[..., Any])

from_option = click.option(
    "--from",
    "start",
    type=TIME,
    metavar="TIME",
    help=f"First record timestamp, with its zone, such as {EXAMPLE}.",
)
to_option = click.option(
    "--to",
    "end",
    type=TIME,
    metavar="TIME",
    help="Timestamp after the last one.",
)
out_option = click.option(
    "--out",
    metavar="URL",
    help="Folder of all runs, a path or a Hadoop URL; else audit.out.",
)
master_option = click.option(
    "--master",
    metavar="MASTER",
    help="Spark's master, such as local[4]; else audit.master.",
)
html_option = click.option(
    "--html",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Write the report here, as one HTML file.",
)


def _check_topics(
    _ctx: click.Context, _param: click.Parameter, pattern: str | None
) -> str | None:
    if pattern is not None:
        try:
            compile_pattern(pattern)
        except PatternError as e:
            raise click.BadParameter(f"{pattern!r} is no regex: {e}") from e
    return pattern


flow_option = click.option("--flow", metavar="NAME", help="Only this flow.")
topics_option = click.option(
    "--topics",
    metavar="REGEX",
    callback=_check_topics,
    help="Only source topics whose whole name matches.",
)


def as_request(
    config: Config,
    *,
    start: datetime | None,
    end: datetime | None,
    flow: str | None,
    topics: str | None,
    night: date | None = None,
) -> Request:
    """Return what is asked for.

    Raises
    ------
    click.UsageError
        Raised if it makes no sense.
    """
    if flow is not None:
        (chosen,) = choose_flows(config, [flow])
        if chosen not in config.audited_flows:
            raise click.BadParameter(
                f"records of {flow} cannot be compared: its mirror does not "
                "keep what that needs (docs/mirrors.md)",
                param_hint="--flow",
            )
    window = _window(start, end)
    if window is not None and night is not None:
        raise click.UsageError("--date names a night, --from and --to do not")
    return Request(window=window, night=night, flow=flow, topics=topics)


def _window(start: datetime | None, end: datetime | None) -> TimeWindow | None:
    if start is None and end is None:
        return None
    if start is None or end is None:
        raise click.UsageError("--from and --to need each other")
    if start >= end:
        raise click.UsageError(
            f"--from {start.isoformat()} is not before --to {end.isoformat()}"
        )
    return TimeWindow(_to_millisecond(start), _to_millisecond(end))


def _to_millisecond(time: datetime) -> datetime:
    """Return the first whole millisecond that is not before a time: records
    have no finer timestamps, so that it parts them in the same way.
    """
    return time + timedelta(microseconds=-time.microsecond % 1000)


def spark_job() -> Any:
    """Return the module that runs audits.

    Raises
    ------
    AuditError
        Raised with the remedy if it cannot be loaded.
    """
    require("pyspark", "jinja2")
    return importlib.import_module("mirrorwatch_audit.entry")


def report_page(
    result: AuditResult, finished: Sequence[FinishedAudit], hours: Hours
) -> str:
    """Return the report of runs as HTML.

    Raises
    ------
    AuditError
        Raised with the remedy if the template library is missing.
    """
    require("jinja2")
    module = importlib.import_module("mirrorwatch_audit.report.report")
    page: str = module.report_page(result, finished, hours)
    return page


def require(*needed: str) -> None:
    """Refuse to go on without packages of the extra `spark`.

    Raises
    ------
    AuditError
        Raised with the remedy.
    """
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise AuditError(
            f"The audit needs {' and '.join(missing)}: "
            "pip install 'mirrorwatch[spark]'"
        )


EXIT_UNHEALTHY = 3
"""It ran, and found something wrong or could not verify everything."""


@click.command(
    epilog="Examples: mirrorwatch audit run --config config.yaml; "
    "mirrorwatch audit run --config config.yaml --from 2026-11-20T00:00Z "
    "--to 2026-11-21T00:00Z --topics 'lsst[.].*' --html report.html"
)
@config_option
@click.option(
    "--date",
    "night",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="Which night's run; one that was run is run again with its ranges. "
    "Default: today's.",
)
@from_option
@to_option
@flow_option
@topics_option
@out_option
@master_option
@click.option("--json", "as_json", is_flag=True, help="Print the result.")
@html_option
@click.pass_context
def run(
    ctx: click.Context,
    config: Config,
    *,
    night: datetime | None,
    start: datetime | None,
    end: datetime | None,
    flow: str | None,
    topics: str | None,
    out: str | None,
    master: str | None,
    as_json: bool,
    html: Path | None,
) -> None:
    """Compare what was written since the last run, or in a window.

    Without --from and --to it is a nightly run: it takes every record since
    the last one, whatever its timestamp, and the next one goes on from its
    end. Missed nights are included.

    With --from and --to it takes the records with these timestamps, the last
    one excluded, and does not move the audited end.

    Exit status 0 if everything was verified and nothing is wrong, 3 if not.
    """
    request = as_request(
        config,
        start=start,
        end=end,
        flow=flow,
        topics=topics,
        night=None if night is None else night.date(),
    )
    configure_logging(json=False, level="warning")
    job = spark_job()
    console = Console(stderr=True, highlight=False)
    with job.opened(config, out=out, master=master, console=console) as audits:
        finished = audits.run(request)
        if html is not None:
            html.write_text(audits.page(finished), encoding="utf-8")
    result = combined([audit.result for audit in finished])
    if as_json:
        click.echo(json.dumps(result_document(result), indent=2))
    else:
        print_result(result, finished, Console(highlight=False))
    if not result.clean:
        ctx.exit(EXIT_UNHEALTHY)


@click.command(
    epilog="Examples: mirrorwatch audit report --config config.yaml; "
    "mirrorwatch audit report --config config.yaml nightly-2026-11-21 "
    "--html report.html"
)
@config_option
@click.argument("run", required=False)
@out_option
@html_option
@click.pass_context
def report(
    ctx: click.Context,
    config: Config,
    *,
    run: str | None,
    out: str | None,
    html: Path | None,
) -> None:
    """Show what RUN found: the name of a run, else the last night's.

    Spark is started only if the folder of the runs is on no disk of this
    machine. Exit status 0 if the run was clean, 3 if not.
    """
    folder = out or config.audit_out
    audit, hours = _kept(config, folder, run)
    if html is not None:
        page = report_page(audit.result, [audit], hours)
        html.write_text(page, encoding="utf-8")
    print_result(audit.result, [audit], Console(highlight=False))
    if not audit.result.clean:
        ctx.exit(EXIT_UNHEALTHY)


@click.command(
    epilog="Example: mirrorwatch audit history --config config.yaml --last 7"
)
@config_option
@out_option
@click.option(
    "--last",
    type=click.IntRange(min=1),
    default=30,
    show_default=True,
    metavar="N",
    help="How many runs.",
)
def history(config: Config, *, out: str | None, last: int) -> None:
    """List the runs that came to their end, the newest last."""
    folder = out or config.audit_out
    local = local_path(folder)
    if local is not None:
        audits = list(read_audits(local))
    else:
        console = Console(stderr=True, highlight=False)
        with spark_job().opened(config, out=out, console=console) as job:
            audits = job.results()
    audits.sort(key=lambda audit: audit.result.began_at)
    if not audits:
        raise AuditError(
            f"No run is finished in {folder}: begin with mirrorwatch audit "
            "run, or name another folder with --out"
        )
    print_history(audits[-last:], Console(highlight=False))


def _kept(
    config: Config, folder: str, run: str | None
) -> tuple[FinishedAudit, Hours]:
    """Return a run that was finished, with its hours."""
    local = local_path(folder)
    if local is None:
        console = Console(stderr=True, highlight=False)
        with spark_job().opened(config, out=folder, console=console) as job:
            kept: tuple[FinishedAudit, Hours] | None = job.kept(run)
        if kept is not None:
            return kept
    else:
        audit = latest_audit(local) if run is None else read_audit(local, run)
        if audit is not None:
            return audit, read_hours(local, audit.result.id)
    if run is None:
        raise AuditError(
            f"No nightly run is finished in {folder}: begin with mirrorwatch "
            "audit run, or name another folder with --out"
        )
    raise AuditError(
        f"There is no finished run {run!r} in {folder}: mirrorwatch audit "
        "history lists them"
    )


LEVELS = ("read_uncommitted", "read_committed")
"""Kafka's own default first, which is MirrorMaker 2's too."""


@click.command(
    epilog="Example: mirrorwatch audit digest --config config.yaml --side "
    "source --from 2026-11-20T00:00Z --to 2026-11-21T00:00Z --out digest"
)
@config_option
@click.option(
    "--side",
    type=click.Choice(["source", "target"]),
    required=True,
    help="Which side of the flows is read.",
)
@from_option
@to_option
@flow_option
@topics_option
@click.option(
    "--isolation",
    type=click.Choice(LEVELS),
    default=LEVELS[0],
    show_default=True,
    help="How the mirror's consumer reads the source (isolation.level); "
    "of the target, only committed records are read.",
)
@click.option(
    "--out",
    required=True,
    metavar="URL",
    help="Folder to make, a path or a Hadoop URL.",
)
@master_option
def digest(
    config: Config,
    *,
    side: str,
    start: datetime | None,
    end: datetime | None,
    flow: str | None,
    topics: str | None,
    isolation: str,
    out: str,
    master: str | None,
) -> None:
    """Sum up one side, on its own site.

    Only the clusters of that side are asked. What is written is some bytes
    for each partition and bucket of time; take it to where `compare` runs.
    """
    request = as_request(
        config, start=start, end=end, flow=flow, topics=topics
    )
    if request.window is None:
        raise click.UsageError("--from and --to are needed")
    configure_logging(json=False, level="warning")
    job = spark_job()
    console = Console(stderr=True, highlight=False)
    with job.opened(config, master=master, console=console) as audits:
        crossing = audits.digest(
            cast("Side", side),
            request,
            out,
            read_committed=isolation == "read_committed",
        )
    print_crossing(crossing, Console(highlight=False))


@click.command(
    epilog="Example: mirrorwatch audit compare --config config.yaml "
    "digest-of-source digest-of-target --html report.html"
)
@config_option
@click.argument("source")
@click.argument("target")
@master_option
@click.option("--json", "as_json", is_flag=True, help="Print the result.")
@html_option
@click.pass_context
def compare(
    ctx: click.Context,
    config: Config,
    *,
    source: str,
    target: str,
    master: str | None,
    as_json: bool,
    html: Path | None,
) -> None:
    """Compare the folders SOURCE and TARGET that `digest` made.

    Where they differ, the records of that bucket are read from both clusters,
    so both must be reached from here. The result is that of `run`.

    Exit status 0 if everything was verified and nothing is wrong, 3 if not.
    """
    configure_logging(json=False, level="warning")
    job = spark_job()
    console = Console(stderr=True, highlight=False)
    with job.opened(config, master=master, console=console) as audits:
        finished, hours, crossings = audits.compare(source, target)
    if html is not None:
        page = report_page(finished.result, [finished], hours)
        html.write_text(page, encoding="utf-8")
    for crossing in crossings:
        print_crossing(crossing, console)
    if as_json:
        click.echo(json.dumps(result_document(finished.result), indent=2))
    else:
        print_result(finished.result, [finished], Console(highlight=False))
    if not finished.result.clean:
        ctx.exit(EXIT_UNHEALTHY)


@click.group(
    "audit",
    epilog="Examples: mirrorwatch audit run --config config.yaml; "
    "mirrorwatch audit report --config config.yaml",
)
def command() -> None:
    """Compare both sides record by record, on Spark.

    Needs the extra `spark` (pip install 'mirrorwatch[spark]') and Java 17 or
    newer. Exit status 0 if everything was verified and nothing is wrong, 3 if
    not, 1 if it failed: then nothing is known of the records.
    """


for _command in (run, digest, compare, report, history):
    command.add_command(_command)
