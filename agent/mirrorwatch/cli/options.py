"""Options that several commands share."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click
from pydantic_core import PydanticCustomError

from ..config import Config, FlowConfig
from ..config.base import parse_duration

__all__ = [
    "DURATION",
    "EXAMPLE",
    "TIME",
    "choose_flows",
    "config_option",
    "config_path_option",
    "flows_option",
]


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

EXAMPLE = "2026-11-21T00:00Z"


class _Time(click.ParamType[datetime]):
    """A time with a zone: without one it means another time elsewhere."""

    name = "time"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> datetime:
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            self.fail(
                f"{value!r} is not a time of ISO 8601, such as {EXAMPLE}",
                param,
                ctx,
            )
        if time.tzinfo is None:
            self.fail(
                f"{value!r} has no time zone: write {value}Z for UTC, or its "
                "offset, such as +02:00",
                param,
                ctx,
            )
        return time


TIME = _Time()
"""``--from 2026-11-21T00:00Z``: the command gets a `datetime`."""

_CONFIG: Mapping[str, Any] = {
    "type": click.Path(path_type=Path),
    "envvar": "MIRRORWATCH_CONFIG",
    "show_envvar": True,
    "required": True,
    "metavar": "FILE",
    "help": "Configuration file (YAML).",
}

config_path_option = click.option("--config", "path", **_CONFIG)
"""``--config FILE``: the command gets its ``path``, and reads it itself."""

config_option = click.option(
    "--config",
    "config",
    callback=lambda _, __, path: Config.from_file(path),
    **_CONFIG,
)
"""``--config FILE``: the command gets the loaded `Config` as ``config``; its
``file`` says where it came from. A bad file is a `ConfigError`."""

flows_option = click.option(
    "--flow",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only this flow; may be given several times. Default: all.",
)
"""``--flow NAME``: the command gets the ``names`` for `choose_flows`."""


def choose_flows(config: Config, names: Iterable[str]) -> Sequence[FlowConfig]:
    """Return the flows of ``--flow``, all if it names none.

    Raises
    ------
    click.BadParameter
        Raised if there is no flow of a name.
    """
    known = {flow.name: flow for flow in config.flows}
    chosen = dict.fromkeys(names)
    if unknown := [name for name in chosen if name not in known]:
        raise click.BadParameter(
            f"there is no flow {unknown[0]!r}; there are {', '.join(known)}",
            param_hint="--flow",
        )
    return [known[name] for name in chosen or known]
