"""`mirrorwatch audit` where each site sums up its own side."""

from pathlib import Path
from typing import cast

import click
from rich.console import Console

from ..config import Config
from ..domain.audit.plan import Side
from .audit_options import (
    NightName,
    as_request,
    html_option,
    json_option,
    master_option,
    night_option,
    opened_job,
    out_option,
)
from .audit_page import print_crossing, print_frozen, show_result
from .options import config_option

__all__ = ["compare", "digest", "freeze"]


@click.command(
    epilog="Example: mirrorwatch audit freeze --config config.yaml plan"
)
@config_option
@click.argument("plan")
@night_option
@out_option
@master_option
def freeze(
    config: Config,
    *,
    plan: str,
    night: NightName | None,
    out: str | None,
    master: str | None,
) -> None:
    """Freeze what a night compares, for two sites that digest it.

    PLAN is a folder to make, a path or a Hadoop URL. Take it to both sites,
    where `digest --plan` sums up a side. Nothing but offsets is asked of both
    clusters here. Until `compare` has finished the night, the same ranges are
    frozen again.
    """
    request = as_request(
        config, start=None, end=None, flow=None, topics=None, night=night
    )
    with opened_job(config, out=out, master=master) as audits:
        frozen = audits.freeze(request, plan)
    print_frozen(frozen, plan, Console(highlight=False))


@click.command(
    epilog="Example: mirrorwatch audit digest --config config.yaml --side "
    "source --plan plan --out digest-source"
)
@config_option
@click.option(
    "--side",
    type=click.Choice(["source", "target"]),
    required=True,
    help="Which side of the flows is read.",
)
@click.option(
    "--plan",
    required=True,
    metavar="URL",
    help="Folder that `freeze` made.",
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
    plan: str,
    out: str,
    master: str | None,
) -> None:
    """Sum up one side of a frozen night, on its own site.

    Only the clusters of that side are asked. What is written is some bytes
    for each partition and bucket of time; take it to where `compare` runs.
    """
    with opened_job(config, master=master) as audits:
        crossing = audits.digest(cast("Side", side), plan, out)
    print_crossing(crossing, Console(highlight=False))


@click.command(
    epilog="Example: mirrorwatch audit compare --config config.yaml "
    "digest-of-source digest-of-target --html report.html"
)
@config_option
@click.argument("source")
@click.argument("target")
@out_option
@master_option
@json_option
@html_option
@click.pass_context
def compare(
    ctx: click.Context,
    config: Config,
    *,
    source: str,
    target: str,
    out: str | None,
    master: str | None,
    as_json: bool,
    html: Path | None,
) -> None:
    """Compare the folders SOURCE and TARGET that `digest` made.

    Where they differ, the records of that bucket are read from both clusters,
    so both must be reached from here. The result is that of `run`. It
    finishes the night that was frozen: the next one goes on from there.

    Exit status 0 if everything was verified and nothing is wrong, 3 if not.
    """
    with opened_job(config, out=out, master=master) as audits:
        finished, crossings = audits.compare(source, target)
    for crossing in crossings:
        print_crossing(crossing, Console(stderr=True, highlight=False))
    show_result(ctx, [finished], as_json=as_json, html=html)
