"""`mirrorwatch audit run`: compares both sides."""

import json
from datetime import datetime
from pathlib import Path

import click
from rich.console import Console

from ...config import Config
from ...domain.audit.document import combined, result_document
from ...log import configure_logging
from ..options import config_option
from .options import (
    as_request,
    flow_option,
    from_option,
    html_option,
    master_option,
    out_option,
    to_option,
    topics_option,
)
from .page import print_result
from .spark import spark_job

__all__ = ["EXIT_UNHEALTHY", "run"]

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
    end. Nights that were missed are made up for.

    With --from and --to it takes the records with these timestamps, the last
    one excluded, and leaves no trace for the nights.

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
