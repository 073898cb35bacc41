"""`mirrorwatch notify`: tries whether notices arrive."""

from collections.abc import Sequence

import click

from ..clock import utc_now
from ..config import Config
from ..domain.notices.model import Line, NoticeMessage
from ..exceptions import SinkError
from ..sinks.notify import WebhookReceiver
from ..wiring import to_receivers
from .options import config_option

__all__ = ["command"]

EXIT_FAILED = 1
"""A receiver did not take the message."""


@click.command(
    "notify",
    short_help="Send a test message to every receiver of notices.",
    epilog="Example: mirrorwatch notify --test",
)
@config_option
@click.option(
    "--test",
    is_flag=True,
    required=True,
    help="Send a message, marked as a test, to every receiver.",
)
@click.pass_context
def command(ctx: click.Context, config: Config, *, test: bool) -> None:
    """Send every receiver of notices a test message, and tell its answer.

    Exit status 0 if all of them took it, 1 if one did not.
    """
    del test  # nothing else can be asked for yet
    if config.sinks.notify is None:
        raise click.UsageError(
            "The configuration has no receivers: give it sinks.notify."
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
        title="Test of mirrorwatch: nothing has happened",
        lines=(
            Line(text=f"Notices of {flows} will come here"),
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


def _send(
    receivers: Sequence[WebhookReceiver], message: NoticeMessage
) -> bool:
    """Send a message to all; return whether all took it."""
    taken = True
    for receiver in receivers:
        try:
            receiver.post(message)
        except SinkError as e:
            click.echo(f"Error: {e}", err=True)
            taken = False
        else:
            click.echo(f"{receiver.receiver} took it")
        finally:
            receiver.close()
    return taken
