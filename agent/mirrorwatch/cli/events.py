"""`mirrorwatch events`: lists what happened, from a running agent."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import click

from ..clock import utc_now
from .agent import Agent, agent_options
from .options import DURATION
from .status import plain

__all__ = ["command"]


@click.command(
    "events",
    short_help="List what began, ended or was lost.",
    epilog="Examples: mirrorwatch events; mirrorwatch events --since 7d; "
    "mirrorwatch events --json",
)
@agent_options
@click.option(
    "--since",
    type=DURATION,
    default="1d",
    show_default=True,
    metavar="TIME",
    help="List events of so long, up to now.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print it as /api/events does."
)
def command(*, agent: Agent, since: timedelta, as_json: bool) -> None:
    """List the events of a running agent, the newest first.

    An event is a finding or a cause that began or ended, or records that were
    lost. At most 1,000 are listed; they are kept for 90 days. Times are UTC.
    Numbers (#) are those of `mirrorwatch ack`.
    """
    begin = (utc_now() - since).isoformat()
    answer = agent.ask("/api/events", "events", {"since": begin})
    if as_json:
        click.echo(json.dumps(answer, indent=2))
        return
    for event in answer["events"]:
        click.echo(plain(_line(event)))
    if not answer["events"]:
        click.echo("No events.")


def _line(event: Mapping[str, Any]) -> str:
    begin = datetime.fromisoformat(event["at"])
    when = f"{begin:%Y-%m-%d %H:%M:%S}"
    if event["until"] is None:
        when += " UTC, not over"
    else:
        end = datetime.fromisoformat(event["until"])
        date = "" if end.date() == begin.date() else f"{end:%Y-%m-%d} "
        is_moment = f"{end:%F %T}" == f"{begin:%F %T}"
        when += " UTC" if is_moment else f" to {date}{end:%H:%M:%S} UTC"
    times = event["numbers"].get("times")
    often = f" ({times} times)" if times else ""
    title = f"{event['title']}{often}"
    where = f"{event['health']}  {event['flow']}"
    return f"#{event['id']}  {when}  {where}: {title}"
