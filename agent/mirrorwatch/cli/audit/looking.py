"""`mirrorwatch audit report` and `history`: what earlier runs found."""

from pathlib import Path

import click
from rich.console import Console

from ...config import Config
from ...domain.audit import FinishedAudit, Hours
from ...exceptions import AuditError
from ...state.audit_folder import local_path
from ...state.audits import (
    latest_audit,
    read_audit,
    read_audits,
    read_hours,
)
from ..options import config_option
from .options import html_option, out_option
from .page import print_history, print_result
from .run import EXIT_UNHEALTHY
from .spark import report_page, spark_job

__all__ = ["history", "report"]


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
