"""`mirrorwatch events` lists events; `mirrorwatch ack` acknowledges losses."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import click

from ..clock import utc_now
from ..config import Config
from ..exceptions import StateError
from ..state import Database
from ..state.events import EventStore
from .agent import Agent, agent_options
from .options import DURATION, config_option
from .status import plain

__all__ = ["ack_command", "command"]


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


@click.command(
    "ack",
    short_help="Acknowledge a loss.",
    epilog="Examples: mirrorwatch events; mirrorwatch ack 12",
)
@config_option
@click.argument("ids", metavar="ID...", type=int, nargs=-1, required=True)
def ack_command(config: Config, ids: tuple[int, ...]) -> None:
    """Acknowledge losses by the numbers of their events.

    The flow is critical because of them no more, from the next tick, until
    they grow. They stay in the list of events and in the totals. Run it as the
    agent's user, on the agent's machine: both write to the state file.
    """
    database = Database(config.state.path, beside=True)
    try:
        store = EventStore(database, {})
        for number in ids:
            event = store.find(number)
            if event is None:
                raise StateError(
                    f"There is no event {number}: mirrorwatch events lists "
                    "them, with their numbers"
                )
            if event.until is None:
                raise StateError(
                    f"Event {number} is not over: {plain(event.title)}. Only "
                    "what is over can be acknowledged"
                )
            store.acknowledge(event)
            click.echo(f"Acknowledged {number}: {plain(event.title)}")
    finally:
        database.close()
