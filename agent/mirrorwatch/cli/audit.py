"""`mirrorwatch audit`: proves what was dropped, duplicated or altered."""

from datetime import datetime
from heapq import nlargest
from itertools import chain
from pathlib import Path

import click
from rich.console import Console

from ..config import Config
from ..domain.audit.result import FinishedAudit
from ..exceptions import AuditError
from ..state.audits import read_audits, read_named
from .audit_options import (
    NightName,
    as_request,
    flow_option,
    from_option,
    html_option,
    json_option,
    local_runs,
    master_option,
    night_option,
    opened_job,
    out_option,
    to_option,
    topics_option,
)
from .audit_page import print_history, show_result
from .audit_split import compare, digest, freeze
from .options import config_option

__all__: list[str] = []


@click.command(
    epilog="Examples: mirrorwatch audit run --config config.yaml; "
    "mirrorwatch audit run --config config.yaml --from 2026-11-20T00:00Z "
    "--to 2026-11-21T00:00Z --topics 'lsst[.].*' --html report.html"
)
@config_option
@night_option
@from_option
@to_option
@flow_option
@topics_option
@out_option
@master_option
@json_option
@html_option
@click.pass_context
def run(
    ctx: click.Context,
    config: Config,
    *,
    night: NightName | None,
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
        night=night,
    )
    with opened_job(config, out=out, master=master) as audits:
        finished = audits.run(request)
    show_result(ctx, finished, as_json=as_json, html=html)


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
    """Show what RUN found: the name of a run, else the last night's, in all
    of its pieces.

    Exit status 0 if the run was clean, 3 if not.
    """
    finished = _kept(local_runs(config, out), run)
    show_result(ctx, finished, html=html)


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
    folder = local_runs(config, out)
    audits = read_audits(folder)
    first = next(audits, None)
    if first is None:
        raise AuditError(
            f"No run is finished in {folder}: begin with mirrorwatch audit "
            "run, or name another folder with --out"
        )
    # One at a time: of every hour there are thousands.
    newest = nlargest(
        last, chain([first], audits), key=lambda a: a.result.began_at
    )
    print_history(newest[::-1], Console(highlight=False))


def _kept(folder: Path, run: str | None) -> list[FinishedAudit]:
    """Return a run that was finished, or the last night with all pieces."""
    finished = read_named(folder, run)
    if finished:
        return finished
    if run is None:
        raise AuditError(
            f"No nightly run is finished in {folder}: begin with mirrorwatch "
            "audit run, or name another folder with --out"
        )
    raise AuditError(
        f"There is no finished run {run!r} in {folder}: mirrorwatch audit "
        "history lists them"
    )


@click.group(
    "audit",
    epilog="Examples: mirrorwatch audit run --config config.yaml; "
    "mirrorwatch audit report --config config.yaml",
)
def command() -> None:
    """Compare both sides record by record, on Spark.

    Needs the extra `spark` (pip install '.[spark]' in a checkout) and Java 17
    or newer. Exit status 0 if everything was verified and nothing is wrong, 3
    if not, 1 if it failed: then nothing is known of the records.
    """


for _command in (run, freeze, digest, compare, report, history):
    command.add_command(_command)
