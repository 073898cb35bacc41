"""Options that several commands share."""

from pathlib import Path

import click

from ..config import Config

__all__ = ["config_option"]

config_option = click.option(
    "--config",
    "config",
    type=click.Path(path_type=Path),
    envvar="MIRRORWATCH_CONFIG",
    show_envvar=True,
    required=True,
    metavar="FILE",
    callback=lambda _, __, path: Config.from_file(path),
    help="Configuration file (YAML).",
)
"""``--config FILE``: the command gets the loaded `Config` as ``config``; its
``file`` says where it came from. A bad file is a `ConfigError`."""
