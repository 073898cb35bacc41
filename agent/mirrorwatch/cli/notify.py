"""`mirrorwatch notify`: tests the receivers of notifications."""

from collections.abc import Sequence

import click

from ..clock import utc_now
from ..config import Config
from ..domain.notices.model import Line, NoticeMessage
from ..exceptions import SinkError
from ..sinks.notify import Receiver
from ..wiring import to_receivers
from .options import config_option

__all__ = ["command"]

EXIT_FAILED = 1
"""A receiver did not accept the message."""


@click.command(
    "notify",
    short_help="Send a test notification to every receiver.",
    epilog="Example: mirrorwatch notify --test",
)
@config_option
@click.option(
    "--test",
    is_flag=True,
    required=True,
    help="Send a notification, marked as a test, to every receiver.",
)
@click.pass_context
def command(ctx: click.Context, config: Config, *, test: bool) -> None:
    """Send a test notification to every receiver, and print its answer.

    Exit status 0 if all of them accepted it, 1 if one did not.
    """
    del test  # there is no other option yet
    if config.sinks.notify is None:
        raise click.UsageError(
            "No receivers are configured: add sinks.notify."
        )
    receivers = to_receivers(config.sinks.notify)
    if not _send(receivers, _message(config)):
        ctx.exit(EXIT_FAILED)


def _message(config: Config) -> NoticeMessage:
    now, page = utc_now(), config.web.address
    flows = ", ".join(flow.name for flow in config.flows)
    return NoticeMessage(
        id=f"test@{now.isoformat()}",
        at=now,
        title="Test of mirrorwatch: nothing is wrong",
        lines=(
            Line(text=f"Notifications of {flows} will arrive here"),
            Line(text=page, link=page),
        ),
        document={
            "version": 1,
            "id": f"test@{now.isoformat()}",
            "kind": "test",
            "at": now.isoformat(),
            "page": page,
        },
    )


def _send(receivers: Sequence[Receiver], message: NoticeMessage) -> bool:
    accepted = True
    for receiver in receivers:
        try:
            receiver.post(message)
        except SinkError as e:
            click.echo(f"Error: {e}", err=True)
            accepted = False
        else:
            click.echo(f"{receiver.receiver} accepted it")
        finally:
            receiver.close()
    return accepted
