"""`mirrorwatch run`: the daemon."""

import sys

import click
import structlog

from ..clock import Clock
from ..config import Config
from ..config.notes import check_clients
from ..daemon import Daemon, end_by_force, wait_for_signal
from ..factory import build_agent
from ..gc_tuning import calm_collector, share_arenas
from ..log import UnblockedStream, configure_logging
from ..state import use_state
from .options import config_option

__all__ = ["command"]


@click.command(
    "run",
    epilog="Example: mirrorwatch run --config /etc/mirrorwatch/config.yaml",
)
@config_option
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="Least level that is logged.",
)
def command(config: Config, log_level: str) -> None:
    """Watch every configured flow until SIGTERM or Ctrl-C.

    Logs to stderr: JSON lines, or plain ones on a terminal. The page, the
    API and /metrics are served where web.listen says.
    """
    share_arenas()
    check_clients(config)
    with UnblockedStream(sys.stderr.fileno()) as stream:
        configure_logging(
            json=not sys.stderr.isatty(), level=log_level, stream=stream
        )
        logger = structlog.get_logger("mirrorwatch")
        agent = use_state(
            config.state.path,
            lambda database: build_agent(
                config, database=database, clock=Clock(), logger=logger
            ),
        )
        calm_collector()
        with Daemon(agent, logger=logger):
            if agent.server is not None:
                logger.info("Serving", url=agent.server.url)
            wait_for_signal()
            end_by_force()
