"""`mirrorwatch once`: observes for a while and prints the verdicts."""

import json
from datetime import timedelta

import click
import structlog
from rich.console import Console
from rich.text import Text

from ..clock import Clock
from ..config import Config
from ..config.notes import check_clients
from ..daemon import Daemon, wait_for_signal
from ..doctor import LONGEST, examine
from ..domain.report import Health
from ..factory import build_agent
from ..log import configure_logging
from ..secrets import hide_in, hide_secrets
from ..state import Database
from ..web.status import Freshness, status_document
from .options import DURATION, config_option
from .status import print_status

__all__ = ["command"]

EXIT_UNHEALTHY = 3
"""It ran, and not every flow is ok."""


@click.command(
    "once",
    short_help="Observe for a while, print the verdicts and exit.",
    epilog="Examples: mirrorwatch once --config config.yaml; "
    "mirrorwatch once --config config.yaml --for 2m --json",
)
@config_option
@click.option(
    "--for",
    "duration",
    default="60s",
    show_default=True,
    type=DURATION,
    metavar="TIME",
    help="How long to observe, for example 90s or 5m.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print it as /api/status does.",
)
@click.pass_context
def command(
    ctx: click.Context, config: Config, duration: timedelta, *, as_json: bool
) -> None:
    """Observe for a while, print the verdicts and exit with the status.

    It keeps its state in memory, so it can run beside a daemon. Why a cluster
    cannot be reached is said at once, on stderr. Exit status 0 if every flow
    is ok, 3 if not, or if the last report is too old.
    """
    check_clients(config)
    configure_logging(json=False, level="warning")
    logger = structlog.get_logger("mirrorwatch")
    clock = Clock()
    agent = build_agent(
        config,
        database=Database(None),
        clock=clock,
        logger=logger,
        serve=False,
        audits=False,
    )
    stderr = Console(stderr=True, highlight=False)
    with Daemon(agent, logger=logger):
        # A line on a terminal, and nothing anywhere else.
        with stderr.status(f"Observing for {duration}"):
            diagnosis = examine(
                config,
                logger=logger,
                longest=min(duration, LONGEST),
                clusters_only=True,
            )
            for finding in diagnosis.findings:
                text = f"{finding.subject}: {finding.cause}. {finding.remedy}."
                stderr.print(Text(hide_secrets(text)), soft_wrap=True)
            left = duration - timedelta(seconds=diagnosis.seconds)
            wait_for_signal(max(left, timedelta()))
        # Before it is closed: clients without a broker take a while to close.
        report, now = agent.latest.get(), clock.label()
    fresh = Freshness.of(report, now, config.interval)
    status = hide_in(status_document(report, {}, fresh, now))
    if as_json:
        click.echo(json.dumps(status, indent=2))
    elif report is None:
        text = (
            "Nothing was measured yet: observe for longer, such as --for 60s"
        )
        Console(highlight=False).print(Text(text))
    else:
        print_status(status, Console(highlight=False))
    # As printed: a flow is not ok where the last report is too old.
    flows = status["flows"]
    if not flows or any(flow["health"] != Health.OK.label for flow in flows):
        ctx.exit(EXIT_UNHEALTHY)
