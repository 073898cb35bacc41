"""`mirrorwatch check-config`: says what a configuration means."""

import json

import click
from rich.console import Console

from ..config import Config
from ..config.client_check import check_clients
from .config_page import print_page
from .config_summary import summarize
from .options import config_option

__all__ = ["command"]


@click.command(
    "check-config",
    epilog="Example: mirrorwatch check-config --config mirrorwatch.yaml",
)
@config_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(config: Config, *, as_json: bool) -> None:
    """Check the configuration and say what it means.

    Nothing is connected to. References to the environment and to files are
    followed, so run it as the agent's user. Exit status 2 if the
    configuration cannot be used.
    """
    check_clients(config)
    summary = summarize(config)
    if as_json:
        click.echo(json.dumps(summary, indent=2))
    else:
        print_page(summary, Console(highlight=False))
