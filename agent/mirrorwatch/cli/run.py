"""`mirrorwatch run`: the daemon."""

import faulthandler
import gc
import os
import signal
import sys
from threading import Event

import click
import structlog

from ..clock import Clock
from ..config import Config
from ..config.notes import check_clients
from ..daemon import Daemon, end_by_force, signalled, start_again
from ..factory import build_agent, check_agent
from ..log import UnblockedStream, configure_logging
from ..rotation import LOOK_SECONDS, Rotation
from ..state import use_state
from .options import config_option

__all__ = ["command"]

YOUNG_OBJECTS = 50_000
"""New objects before a garbage collection, of 700 by default: a survey of a
thousand topics makes tens of thousands, and the next one replaces them. Full
collections took a seventh of the agent's processor time."""


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
    API and /metrics are served where web.listen says. It starts again by
    itself when a file changes that the configuration names for a secret or a
    certificate, and on SIGHUP.
    """
    check_clients(config)
    with UnblockedStream(sys.stderr.fileno()) as stream:
        # A crash within the Kafka library ends the process: the log says
        # where.
        faulthandler.enable()
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
        gc.set_threshold(YOUNG_OBJECTS)
        stop = signalled(signal.SIGINT, signal.SIGTERM)
        # Where a terminal is closed, the agent ends with it.
        reload = Event() if sys.stderr.isatty() else signalled(signal.SIGHUP)
        # One that came while this process took over.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})
        rotation = Rotation(
            config, logger, lambda changed: check_agent(changed, logger)
        )

        def end() -> None:
            if stop.is_set():
                os._exit(0)
            start_again()

        with Daemon(agent, logger=logger):
            if agent.server is not None:
                logger.info("Serving", url=agent.server.url)
            while not stop.wait(LOOK_SECONDS):
                asked = reload.is_set()
                reload.clear()
                if rotation.look(asked=asked, busy=agent.is_busy()):
                    break
            end_by_force(how=end)
    # What was logged is written. Python would take itself apart, and threads
    # of the Kafka library still come back to it with answers of what hung: now
    # and then that was a segmentation fault, exit status 139.
    end()
