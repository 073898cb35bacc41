"""`mirrorwatch ack`: acknowledges a loss, so that it is critical no more."""

import click

from ..config import Config
from ..exceptions import StateError
from ..state import Database
from ..state.events import Acknowledgements, EventStore
from .options import config_option
from .status import plain

__all__ = ["command"]


@click.command(
    "ack",
    short_help="Acknowledge a loss.",
    epilog="Examples: mirrorwatch events; mirrorwatch ack 12",
)
@config_option
@click.argument("ids", metavar="ID...", type=int, nargs=-1, required=True)
def command(config: Config, ids: tuple[int, ...]) -> None:
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
            Acknowledgements(database).add(event)
            click.echo(f"Acknowledged {number}: {plain(event.title)}")
    finally:
        database.close()
