"""Messages to whatever Apprise knows: PagerDuty, Opsgenie, Teams, e-mail."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import get_ident
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ..domain.notices.model import Line, NoticeMessage
from ..exceptions import ConfigError, SinkError
from ..state.documents import from_json
from ..state.queue import Batch
from .notify import TIMEOUT_SECONDS

__all__ = ["AppriseReceiver"]


LOGGER = logging.getLogger("apprise")

STATUS = re.compile(r"error[ =:]+(\d{3})\b")
"""Pattern of the HTTP status in Apprise's log."""

TYPES = {
    "unknown": "warning",
    "warning": "warning",
    "critical": "failure",
    "ok": "success",
}
"""Apprise's kinds of messages, by the health that is notified."""

OTHER_TYPES = {"test": "warning"}
"""And by the kind of other notices; else ``info``. A test must go the way of
what wakes somebody."""

BETTER_THAN = {
    "ok": ("unknown", "warning", "critical"),
    "warning": ("critical",),
}
"""Healths whose incident a notified health ends, of those that may have been
notified before. An unknown flow ends nothing."""

KEYS = ("dedup", "external_id", "thirdparty")
"""Services' parameters for the incident's name; all take it as ``dedup``."""

MAPPED, NEW, NOTE = "map", "new", "note"
"""Actions of services that have incidents, as Apprise names them."""


class AppriseReceiver:
    """Sends messages to one service by Apprise.

    Parameters
    ----------
    receiver
        Name of the receiver in the configuration.
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
                "the extra apprise: pip install '.[apprise]' in a checkout"
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
                "such as opsgenie://API_KEY"
            )
        service.overflow_mode = apprise.OverflowMode.TRUNCATE
        self._service: Any = service  # what it has depends on the service
        self._key = _prepare(service, url)
        self._usual = getattr(service, self._key, None) if self._key else None
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
        with _heard() as lines:
            taken = all(
                service.notify(
                    title=message.title,
                    body="\n".join(map(_to_text, message.lines)),
                    notify_type=kind,
                    body_format=self._text,
                )
                for kind in self._kinds(message)
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

    def _kinds(self, message: NoticeMessage) -> Iterator[str]:
        """Yield as what a message is sent: once, but for a service that is
        to resolve incidents. There each flow has an incident for each health,
        so that a warning that is open does not hide that it became critical.
        """
        document = message.document
        flow, health = document.get("flow"), str(document.get("health", ""))
        other = OTHER_TYPES.get(str(document.get("kind", "")), "info")
        kind = TYPES.get(health, other)
        if self._key is None:
            yield kind
            return
        setattr(self._service, self._key, self._usual)
        if flow is None:
            yield kind
            return
        if health != "ok":
            setattr(self._service, self._key, f"mirrorwatch {flow} {health}")
            yield kind
        for ended in BETTER_THAN.get(health, ()):
            setattr(self._service, self._key, f"mirrorwatch {flow} {ended}")
            yield TYPES["ok"]


def _prepare(service: Any, url: str) -> str | None:
    """Let a service get every message; return which attribute names an
    incident, where it is to resolve them and the URL names none.

    Notes
    -----
    Opsgenie and Jira make notes of some messages and close alerts by others,
    unless the URL says otherwise. They find them by the title, which differs,
    in memory, which ends: nothing is sent then, and Apprise says that all is
    well. So each message is an alert there.
    """
    asked = parse_qs(urlsplit(url).query)
    chosen = any(
        name.lower() == "action" or name.startswith(":") for name in asked
    )
    mapping = getattr(service, "mapping", None)
    if not chosen and isinstance(mapping, dict) and NOTE in mapping.values():
        service.action = NEW
    if getattr(service, "action", None) != MAPPED:
        return None
    unset = [key for key in KEYS if getattr(service, key, "") is None]
    # Splunk has one name for all messages, so that one flow that is ok again
    # would resolve what is wrong with another.
    common = f"{service.app_id}/{getattr(service, 'routing_key', '')}"
    if getattr(service, "entity_id", None) == common:
        unset.append("entity_id")
    return next(iter(unset), None)


def _to_text(line: Line) -> str:
    if line.link is None or line.link in line.text:
        return line.text
    return f"{line.text} (what to do: {line.link})"


class _Listener(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines
        self._thread = get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        # Other receivers send at the same time.
        if record.thread == self._thread:
            self._lines.append(record.getMessage())


@contextmanager
def _heard() -> Iterator[list[str]]:
    lines: list[str] = []
    listener = _Listener(lines)
    LOGGER.addHandler(listener)
    try:
        yield lines
    finally:
        LOGGER.removeHandler(listener)
