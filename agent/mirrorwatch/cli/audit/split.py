"""`mirrorwatch audit digest` and `compare`: over a slow link."""

import json
from datetime import datetime
from pathlib import Path
from typing import cast

import click
from rich.console import Console

from ...config import Config
from ...domain.audit import Side
from ...domain.audit.document import result_document
from ...log import configure_logging
from ..options import config_option
from .options import (
    as_request,
    flow_option,
    from_option,
    html_option,
    master_option,
    to_option,
    topics_option,
)
from .page import print_crossing, print_result
from .run import EXIT_UNHEALTHY
from .spark import report_page, spark_job

__all__ = ["compare", "digest"]

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
    so both must be reached from here. It says what `run` would say.

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
