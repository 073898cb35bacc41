"""Messages to whatever Apprise knows: PagerDuty, Opsgenie, Teams, e-mail."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from ..domain.notices.model import Line, NoticeMessage
from ..exceptions import ConfigError, SinkError
from ..state.documents import from_json
from ..state.queue import Batch
from .notify import TIMEOUT_SECONDS

__all__ = ["AppriseReceiver"]


LOGGER = logging.getLogger("apprise")

STATUS = re.compile(r"error[ =:]+(\d{3})\b")
"""How Apprise's log names the status of an answer."""

TYPES = {"ok": "success", "critical": "failure", "unknown": "warning"}
"""Apprise's kinds of messages, by the health that is notified."""


class AppriseReceiver:
    """Sends messages to one service by Apprise.

    Parameters
    ----------
    receiver
        What the configuration calls it.
    url
        Apprise's URL of it, which holds its secrets; never shown.

    Raises
    ------
    ConfigError
        Raised if Apprise is not installed, or does not know the URL.
    """

    def __init__(self, receiver: str, *, url: str) -> None:
        self.receiver = receiver
        self.name = f"notify {receiver}"
        try:
            import apprise  # noqa: PLC0415 - an extra, and slow to import
        except ImportError as e:
            raise ConfigError(
                f"sinks.notify.receivers: kind apprise of {receiver} needs "
                "the extra apprise: pip install 'mirrorwatch[apprise]'"
            ) from e
        # What it logs may hold parts of the URL; what helps is in the errors.
        LOGGER.propagate = False
        asset = apprise.AppriseAsset(
            app_id="mirrorwatch",
            app_desc="Monitoring of Kafka replication",
            app_url="",
            async_mode=False,
        )
        service = apprise.Apprise.instantiate(url, asset=asset)
        if service is None:
            raise ConfigError(
                f"sinks.notify.receivers: Apprise does not know the url of "
                f"{receiver}. Its documentation has one for each service, "
                "such as pagerduty://INTEGRATION_KEY@API_KEY"
            )
        service.overflow_mode = apprise.OverflowMode.TRUNCATE
        self._service = service
        self._text = apprise.NotifyFormat.TEXT

    def send(self, batch: Batch, timeout: timedelta) -> None:
        """Send a message of the outbox."""
        message = from_json(NoticeMessage, batch.body)
        self.post(message, timeout.total_seconds())

    def post(
        self,
        message: NoticeMessage,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        """Send a message.

        Raises
        ------
        SinkError
            Raised if the service did not take it. Apprise does not tell a
            message that it refuses from a service that is away, so every
            message is tried again.
        """
        service = self._service
        service.socket_connect_timeout = timeout_seconds
        service.socket_read_timeout = timeout_seconds
        health = str(message.document.get("health", ""))
        with _heard() as lines:
            taken = service.notify(
                title=message.title,
                body="\n".join(map(_to_text, message.lines)),
                notify_type=TYPES.get(health, "info"),
                body_format=self._text,
            )
        if taken:
            return
        status = next(filter(None, map(STATUS.search, lines)), None)
        answer = (
            "no usable answer" if status is None else f"status {status[1]}"
        )
        raise SinkError(
            f"{self.receiver} did not take it ({answer}). Check its url and "
            "the service behind it",
            sink=self.name,
        )

    def close(self) -> None:
        """Let go of it; Apprise keeps no connection."""


def _to_text(line: Line) -> str:
    if line.link is None or line.link in line.text:
        return line.text
    return f"{line.text} (what to do: {line.link})"


class _Listener(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(record.getMessage())


@contextmanager
def _heard() -> Iterator[list[str]]:
    """Give what Apprise logs, which is shown nowhere as it is."""
    lines: list[str] = []
    listener = _Listener(lines)
    LOGGER.addHandler(listener)
    try:
        yield lines
    finally:
        LOGGER.removeHandler(listener)
