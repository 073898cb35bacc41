"""Options that several commands share."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import click
from pydantic_core import PydanticCustomError

from ..config import Config
from ..config.base import parse_duration

__all__ = ["DURATION", "config_option"]


class _Duration(click.ParamType[timedelta]):
    """A duration with a unit, as in the configuration."""

    name = "duration"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> timedelta:
        try:
            duration: timedelta = parse_duration(value)
        except PydanticCustomError as e:
            self.fail(e.message(), param, ctx)
        return duration


DURATION = _Duration()
"""``--for 90s``: the command gets a `timedelta`."""

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
