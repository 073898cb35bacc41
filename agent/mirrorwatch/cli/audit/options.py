"""Options that the audit's commands share."""

from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import click

from ...config import Config
from ...domain.audit import Request, Window
from ...domain.selection import PatternError, compile_pattern

__all__ = ["TIME", "as_request", "flow_option", "from_option", "html_option"]
__all__ += ["master_option", "out_option", "to_option", "topics_option"]

F = TypeVar("F", bound=Callable[..., Any])

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

from_option = click.option(
    "--from",
    "start",
    type=TIME,
    metavar="TIME",
    help=f"First record timestamp, with its zone, such as {EXAMPLE}.",
)
to_option = click.option(
    "--to",
    "end",
    type=TIME,
    metavar="TIME",
    help="Timestamp after the last one.",
)
out_option = click.option(
    "--out",
    metavar="URL",
    help="Folder of all runs, a path or a Hadoop URL; else audit.out.",
)
master_option = click.option(
    "--master",
    metavar="MASTER",
    help="Spark's master, such as local[4]; else audit.master.",
)
html_option = click.option(
    "--html",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Write the report here, as one HTML file.",
)


def _check_topics(
    _ctx: click.Context, _param: click.Parameter, pattern: str | None
) -> str | None:
    if pattern is not None:
        try:
            compile_pattern(pattern)
        except PatternError as e:
            raise click.BadParameter(f"{pattern!r} is no regex: {e}") from e
    return pattern


flow_option = click.option("--flow", metavar="NAME", help="Only this flow.")
topics_option = click.option(
    "--topics",
    metavar="REGEX",
    callback=_check_topics,
    help="Only source topics whose whole name matches.",
)


def as_request(
    config: Config,
    *,
    start: datetime | None,
    end: datetime | None,
    flow: str | None,
    topics: str | None,
    night: date | None = None,
) -> Request:
    """Return what is asked for.

    Raises
    ------
    click.UsageError
        Raised if it makes no sense.
    """
    names = [known.name for known in config.flows]
    if flow is not None and flow not in names:
        raise click.BadParameter(
            f"no flow is called {flow!r}; there are {', '.join(names)}",
            param_hint="--flow",
        )
    window = _window(start, end)
    if window is not None and night is not None:
        raise click.UsageError("--date names a night, --from and --to do not")
    return Request(window=window, night=night, flow=flow, topics=topics)


def _window(start: datetime | None, end: datetime | None) -> Window | None:
    if start is None and end is None:
        return None
    if start is None or end is None:
        raise click.UsageError("--from and --to need each other")
    if start >= end:
        raise click.UsageError(
            f"--from {start.isoformat()} is not before --to {end.isoformat()}"
        )
    return Window(_to_millisecond(start), _to_millisecond(end))


def _to_millisecond(time: datetime) -> datetime:
    """Return the first whole millisecond that is not before a time: records
    have no finer timestamps, so that it parts them in the same way.
    """
    return time + timedelta(microseconds=-time.microsecond % 1000)
