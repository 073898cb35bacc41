"""`mirrorwatch maintenance`: silences notifications for a while."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import click

from ..clock import utc_now
from ..config import Config
from ..domain.report import MaintenanceWindow, seconds
from ..state import Database
from ..state.documents import VerdictStore
from ..state.maintenance import MaintenanceStore
from .options import DURATION, choose_flows, config_option, flows_option
from .status import plain

__all__ = ["command"]

LONGEST = timedelta(days=7)
"""A silence that nobody ends must not last for ever."""

MISSED_TICKS = 3
"""After so many the agent counts as stopped, as at ``/healthz``."""


@click.command(
    "maintenance",
    short_help="Silence notifications during maintenance.",
    epilog="Examples: mirrorwatch maintenance --for 2h "
    '--reason "MM2 3.9 to 4.3"; mirrorwatch maintenance --end',
)
@config_option
@click.option(
    "--for",
    "duration",
    type=DURATION,
    metavar="TIME",
    help="Silence notifications for so long, from now on, for example 2h.",
)
@click.option(
    "--reason", metavar="TEXT", help="What is being done; shown on the page."
)
@flows_option
@click.option("--end", is_flag=True, help="End the silence now.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    config: Config,
    duration: timedelta | None,
    reason: str | None,
    names: tuple[str, ...],
    *,
    end: bool,
    as_json: bool,
) -> None:
    """Silence notifications during maintenance, or list active silences.

    Verdicts, the page, /metrics and InfluxDB are not affected. The running
    agent notices at its next tick. Run it as the agent's user, on the
    agent's machine: both write to the state file.
    """
    _check(duration, reason, end=end)
    flows = [flow.name for flow in choose_flows(config, names)]
    database = Database(config.state.path, beside=True)
    try:
        store, now = MaintenanceStore(database), utc_now()
        windows: Sequence[MaintenanceWindow]
        if duration is not None:
            windows = store.announce(flows, now, now + duration, reason or "")
        elif end:
            windows = store.end(flows, now)
        else:
            windows = [w for w in store.in_force(now) if w.flow in flows]
        if as_json:
            click.echo(json.dumps([_document(w) for w in windows], indent=2))
        else:
            _print(windows, now, end=end)
        _warn_if_stopped(VerdictStore(database).newest(), now, config)
    finally:
        database.close()


def _check(
    duration: timedelta | None, reason: str | None, *, end: bool
) -> None:
    if duration is not None and end:
        raise click.UsageError("Use --for or --end.")
    if duration is None:
        if reason is not None:
            raise click.UsageError("--reason goes with --for.")
        return
    if not (reason or "").strip():
        raise click.UsageError(
            "--for needs --reason: the page shows why notifications are "
            "silenced."
        )
    if not timedelta() < duration <= LONGEST:
        raise click.BadParameter(
            f"more than 0 and at most {LONGEST.days}d; repeat the command "
            "if it takes longer",
            param_hint="--for",
        )


def _print(
    windows: Sequence[MaintenanceWindow], now: datetime, *, end: bool
) -> None:
    if not windows:
        click.echo("No flow is in maintenance.")
    for window in windows:
        if end:
            lasted = seconds(now - window.since)
            click.echo(
                f"{window.flow}: maintenance has ended, after {lasted} "
                f"({plain(window.reason)})"
            )
        else:
            left = seconds(window.until - now)
            click.echo(
                f"{window.flow}: notifications are silenced until "
                f"{window.until:%Y-%m-%d %H:%M} UTC, for {left} "
                f"({plain(window.reason)})"
            )


def _warn_if_stopped(
    newest: datetime | None, now: datetime, config: Config
) -> None:
    if newest is None:
        seen = "No agent has ever written to"
    elif now - newest > MISSED_TICKS * config.interval:
        seen = f"For {seconds(now - newest)} no agent has written to"
    else:
        return
    click.echo(
        f"{seen} the state file {config.state.path}: check that mirrorwatch "
        "run is running with this configuration",
        err=True,
    )


def _document(window: MaintenanceWindow) -> dict[str, Any]:
    return {
        "flow": window.flow,
        "since": window.since.isoformat(),
        "until": window.until.isoformat(),
        "reason": window.reason,
    }
