"""Options and checks that the commands of the audit share."""

import importlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from ..config import Config
from ..domain.audit.plan import Request, TimeWindow
from ..domain.audit.result import AuditResult, FinishedAudit
from ..domain.topics import PatternError, compile_pattern
from ..exceptions import AuditError
from ..log import configure_logging
from ..state.audits import local_path
from .options import EXAMPLE, TIME, choose_flows

__all__ = [
    "EXIT_UNHEALTHY",
    "NIGHT",
    "NightName",
    "as_request",
    "flow_option",
    "from_option",
    "html_option",
    "json_option",
    "local_runs",
    "master_option",
    "night_option",
    "opened_job",
    "out_option",
    "report_page",
    "require",
    "spark_job",
    "to_option",
    "topics_option",
]


F = TypeVar("F", bound=Callable[..., Any])

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


@dataclass(frozen=True, slots=True)
class NightName:
    """Which run of which day."""

    night: date
    clock: str = ""
    """Time of day, as in `0300`, where a day has several runs."""


_NIGHT = re.compile(r"(\d{4}-\d\d-\d\d)(?:T(\d\d):?(\d\d))?", re.ASCII)


class _Night(click.ParamType[NightName]):
    """A day, and the time of a run where a day has several."""

    name = "date"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> NightName:
        try:
            return _night_of(value)
        except ValueError:
            self.fail(
                f"{value!r} is not a date such as 2026-11-21, or "
                "2026-11-21T03:00 where a day has several runs",
                param,
                ctx,
            )


def _night_of(text: str) -> NightName:
    found = _NIGHT.fullmatch(text)
    if found is None:
        raise ValueError(text)
    night = date.fromisoformat(found[1])
    if found[2] is None:
        return NightName(night)
    return NightName(night, f"{time(int(found[2]), int(found[3])):%H%M}")


NIGHT = _Night()
"""``--date 2026-11-21``: the command gets a `NightName`."""

night_option = click.option(
    "--date",
    "night",
    type=NIGHT,
    metavar="DATE",
    help="Which night's run; one that was run is run again with its ranges. "
    "With a time, as in 2026-11-21T03:00, where a day has several. "
    "Default: today's.",
)
json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the result.",
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
    night: NightName | None = None,
) -> Request:
    """Return what is asked for.

    Raises
    ------
    click.UsageError
        Raised if it makes no sense.
    """
    if flow is not None:
        (chosen,) = choose_flows(config, [flow])
        if chosen not in config.audited_flows:
            raise click.BadParameter(
                f"records of {flow} cannot be compared: its mirror does not "
                "keep what that needs (docs/mirrors.md)",
                param_hint="--flow",
            )
    window = _window(start, end)
    if window is not None and night is not None:
        raise click.UsageError("--date names a night, --from and --to do not")
    if window is None and (flow is not None or topics is not None):
        raise click.UsageError(
            "--flow and --topics need --from and --to: a night is of all"
        )
    return Request(
        window=window,
        night=None if night is None else night.night,
        clock="" if night is None else night.clock,
        flow=flow,
        topics=topics,
    )


def _window(start: datetime | None, end: datetime | None) -> TimeWindow | None:
    if start is None and end is None:
        return None
    if start is None or end is None:
        raise click.UsageError("--from and --to need each other")
    if start >= end:
        raise click.UsageError(
            f"--from {start.isoformat()} is not before --to {end.isoformat()}"
        )
    return TimeWindow(_to_millisecond(start), _to_millisecond(end))


def _to_millisecond(at: datetime) -> datetime:
    """Return the first whole millisecond that is not before a time: records
    have no finer timestamps, so that it parts them in the same way.
    """
    return at + timedelta(microseconds=-at.microsecond % 1000)


def local_runs(config: Config, out: str | None) -> Path:
    """Return the folder of all runs.

    Raises
    ------
    AuditError
        Raised if it is not on this machine.
    """
    url = out or config.audit_out
    folder = local_path(url)
    if folder is None:
        raise AuditError(
            f"{url} is not on this machine: mount it, or copy the runs and "
            "name the copy by --out"
        )
    return folder


def spark_job() -> Any:
    """Return the module that runs audits.

    Raises
    ------
    AuditError
        Raised with the remedy if it cannot be loaded.
    """
    require("pyspark", "jinja2")
    return importlib.import_module("mirrorwatch_audit.entry")


@contextmanager
def opened_job(
    config: Config, *, out: str | None = None, master: str | None = None
) -> Iterator[Any]:
    """Start Spark for the audits of a configuration, and stop it at the end.

    Raises
    ------
    AuditError
        Raised with the remedy if it cannot be started.
    """
    configure_logging(json=False, level="warning")
    job = spark_job()
    console = Console(stderr=True, highlight=False)
    with job.opened(config, out=out, master=master, console=console) as audits:
        yield audits


def report_page(result: AuditResult, finished: Sequence[FinishedAudit]) -> str:
    """Return the report of runs as HTML.

    Raises
    ------
    AuditError
        Raised with the remedy if the template library is missing.
    """
    require("jinja2")
    module = importlib.import_module("mirrorwatch_audit.report.report")
    page: str = module.report_page(result, finished)
    return page


def require(*needed: str) -> None:
    """Refuse to go on without packages of the extra `spark`.

    Raises
    ------
    AuditError
        Raised with the remedy.
    """
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise AuditError(
            f"The audit needs {' and '.join(missing)}: "
            "pip install '.[spark]' in a checkout"
        )


EXIT_UNHEALTHY = 3
"""It ran, and found something wrong or could not verify everything."""
