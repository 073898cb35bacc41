"""Notifies people of what changed: the sink."""

import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx
from structlog.typing import FilteringBoundLogger

from ..clock import shifted
from ..domain.notices.model import Line, NoticeMessage, NotificationState
from ..domain.notices.notifier import Notifier
from ..domain.notices.text import Links, to_message
from ..exceptions import ConfigError, SinkError, SinkRejectedError, StateError
from ..http import (
    BUSY,
    bounded_client,
    read_beginning,
    read_retry_after,
    trust,
)
from ..ports import Report
from ..state import Database
from ..state.documents import DocumentStore, from_json
from ..state.queue import (
    MOST_WAITING,
    Batch,
    DeliveryQueue,
    Outbox,
    to_batches,
)
from .queued import BatchSize, DeliveryEvents, DeliveryWorker, LogOnce

__all__ = [
    "FORMS",
    "NotifySink",
    "Receiver",
    "WebhookReceiver",
    "to_slack",
    "to_webhook",
]


LONGEST_BLOCK = 2900
"""Characters of a block: Slack refuses a message with one above 3000."""

Form = Callable[[NoticeMessage], Mapping[str, Any]]


def to_slack(message: NoticeMessage) -> dict[str, Any]:
    """Return a message as Slack's incoming webhooks take it.

    Notes
    -----
    Mattermost and Rocket.Chat read ``text``, and so does Slack for what a
    phone shows of it; ``blocks`` is what Slack shows.
    """
    title = f"*{_escape(message.title)}*"
    shown = [title, *(_linked(line) for line in message.lines)]
    return {
        "text": "\n".join(shown)[: 10 * LONGEST_BLOCK],
        "blocks": [
            {
                "type": "section",
                "text": {"type": "mrkdwn", "text": text[:LONGEST_BLOCK]},
            }
            for text in (title, *_grouped(shown[1:]))
        ],
    }


def to_webhook(message: NoticeMessage) -> dict[str, Any]:
    """Return a message as JSON for programs, as in docs/notifications.md."""
    return {
        **message.document,
        "title": message.title,
        "text": message.text,
    }


FORMS: Mapping[str, Form] = {"slack": to_slack, "webhook": to_webhook}
"""By the name that the configuration gives it."""


def _linked(line: Line) -> str:
    text = _escape(line.text)
    if line.link is None or line.link in line.text:
        return text
    return f"{text} (<{_escape(line.link)}|what to do>)"


def _grouped(lines: list[str]) -> list[str]:
    groups: list[str] = []
    for line in lines:
        joined = f"{groups[-1]}\n{line}" if groups else line
        if groups and len(joined) <= LONGEST_BLOCK:
            groups[-1] = joined
        else:
            groups.append(line)
    return groups


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


TIMEOUT_SECONDS = 10.0
"""A webhook that takes longer is as good as away."""

REFUSED = {400, 413, 422}
"""Status codes of a refused message: a retry will not succeed. All other
errors may be fixed, a wrong address by its owner too."""

LONGEST_ANSWER = 200
"""Characters of the receiver's own words that are worth a log line."""

MOST_READ = 2048
"""Bytes of an answer that are read at all."""

SHORTEST_SECRET = 6
"""Parts of an address that are hidden wherever they come up; shorter ones
are words such as ``api``."""


class Receiver(Protocol):
    """Sends messages to one service."""

    name: str
    receiver: str

    def send(self, batch: Batch, timeout: timedelta) -> None:
        """Send a message of the outbox.

        Raises
        ------
        SinkRejectedError
            Raised if the service refuses this message.
        SinkError
            Raised if it did not take it now.
        """

    def post(self, message: NoticeMessage) -> None:
        """Send a message; raises as `send` does."""

    def close(self) -> None:
        """Let go of connections."""


class WebhookReceiver:
    """Sends messages to one webhook.

    Parameters
    ----------
    receiver
        Name of the receiver in the configuration.
    url
        Its address; never shown.
    form
        Returns what it is sent.
    authorization
        Value of the header of that name; never shown.
    ca
        Certificate authority of the server, if it is not a public one.

    Raises
    ------
    ConfigError
        Raised if the address cannot be used, or the certificate authority
        not be read.
    """

    def __init__(
        self,
        receiver: str,
        *,
        url: str,
        form: Form,
        authorization: str | None = None,
        ca: Path | None = None,
    ) -> None:
        self.receiver = receiver
        self.name = f"notify {receiver}"
        try:
            self._url = httpx.URL(url)
        except httpx.InvalidURL:
            raise ConfigError(
                f"sinks.notify.receivers: url of {receiver} is no address"
            ) from None  # the library's error shows it
        self._form = form
        parts = urlsplit(url)
        pieces = [*parts.path.split("/"), *parts.query.split("&")]
        self._secrets = [url, f"{parts.netloc}{parts.path}", parts.path]
        self._secrets += [p for p in pieces if len(p) >= SHORTEST_SECRET]
        if authorization is not None:
            self._secrets += [authorization, authorization.split(" ")[-1]]
        try:
            verify = trust(ca)
        except OSError as e:
            raise ConfigError(
                f"sinks.notify.receivers: ca of {receiver}: {ca}: {e}"
            ) from e
        # It follows no redirect: a message goes to whom it was meant for, or
        # nowhere.
        self._client = bounded_client(
            timeout_seconds=TIMEOUT_SECONDS,
            verify=verify,
            headers={"Authorization": authorization} if authorization else {},
        )

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
        SinkRejectedError
            Raised if the receiver refuses this message.
        SinkError
            Raised if it did not take it now.
        """
        try:
            with self._client.stream(
                "POST",
                self._url,
                json=self._form(message),
                timeout=timeout_seconds,
            ) as answer:
                words = (
                    ""
                    if answer.is_success
                    else read_beginning(answer, MOST_READ)
                )
        except httpx.RequestError as e:
            raise SinkError(
                f"{self.receiver} does not answer: {_plainly(e)}",
                sink=self.name,
            ) from None  # the library's error knows the address
        status = answer.status_code
        if answer.is_success:
            return
        text = f"{self.receiver} answered {status}: {self._hide(words)}"
        if answer.has_redirect_location:
            # Where to is not shown: it may hold a secret as well.
            text += " (a redirect, which is not followed: correct its url)"
        if status in REFUSED:
            raise SinkRejectedError(text, sink=self.name)
        asked = read_retry_after(answer)
        raise SinkError(
            text, sink=self.name, retry_after=asked, busy=status in BUSY
        )

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()

    def _hide(self, text: str) -> str:
        for secret in sorted(self._secrets, key=len, reverse=True):
            if len(secret) >= SHORTEST_SECRET:
                text = text.replace(secret, "***")
        return " ".join(text.split())[:LONGEST_ANSWER] or "nothing"


def _plainly(error: httpx.RequestError) -> str:
    """Say why there was no answer; nothing of the address is part of it."""
    match error:
        case httpx.TimeoutException():
            return f"no answer within {TIMEOUT_SECONDS:g} s"
        case httpx.ConnectError():
            return f"cannot connect ({_cause(error)})"
        case _:
            return type(error).__name__


def _cause(error: BaseException) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate: {cause.verify_message}"
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__


EVENTS = DeliveryEvents(
    unavailable="Receiver unavailable",
    available="Receiver available again",
    refused="Notification rejected",
    lost="Notifications lost at shutdown",
    kept="Notifications stay in the outbox",
    skipped="Notification skipped, as only it fails",
)


def to_delivery(
    receiver: Receiver, queue: DeliveryQueue, logger: FilteringBoundLogger
) -> DeliveryWorker:
    """Return what brings the messages of the outbox to a receiver.

    What waits when the agent stops is kept for the next one.
    """
    return DeliveryWorker(
        receiver,
        queue=queue,
        batch_size=BatchSize(least=1, most=1),
        flush_timeout=timedelta(),
        log=LogOnce(
            logger.bind(receiver=receiver.receiver),
            EVENTS,
        ),
    )


class NotifySink:
    """Decides what people are notified of in each report, and writes it down.

    Parameters
    ----------
    notifier
        Decides what is sent.
    database
        Keeps what was sent, with the messages.
    receivers
        Receivers of the notices.
    links
        Links in the messages.
    logger
        Logs every notice, and receivers that are unavailable.

    Raises
    ------
    StateError
        Raised if the state file cannot be used.
    """

    name = "notify"

    def __init__(
        self,
        notifier: Notifier,
        *,
        database: Database,
        receivers: Sequence[Receiver],
        links: Links,
        logger: FilteringBoundLogger,
    ) -> None:
        self._notifier = notifier
        self._database = database
        self._document = DocumentStore(
            database, "", "notifications", NotificationState
        )
        names = [r.receiver for r in receivers]
        self._state = self._document.load().as_known_to(names)
        self._outbox = Outbox(database, names)
        self._queues = {
            name: DeliveryQueue(queue, most_fresh=MOST_WAITING, in_order=True)
            for name, queue in self._outbox.queues.items()
        }
        self._is_saved = True
        self.deliveries = tuple(
            to_delivery(receiver, self._queues[receiver.receiver], logger)
            for receiver in receivers
        )
        self._links = links
        self._logger = logger

    @property
    def up(self) -> bool | None:
        """Each receiver took its last message; `None` before the first."""
        known = [d.up for d in self.deliveries if d.up is not None]
        return all(known) if known else None

    @property
    def spooled_points(self) -> int:
        """Messages that wait, each counted for each receiver."""
        return sum(d.spooled_points for d in self.deliveries)

    @property
    def lost_points(self) -> int:
        """Messages given up since the start."""
        return sum(d.lost_points for d in self.deliveries)

    def publish(self, report: Report) -> None:
        held = {window.flow for window in report.maintenance}
        offset = report.agent.clock_offset
        state, due = self._notifier.see(
            self._state,
            report.flows,
            shifted(report.verdicts, -offset),
            held,
            report.own_at,
            causes=shifted(report.causes, -offset),
        )
        notices = shifted(due, offset)
        before = (self._state.flows, self._state.untold)
        messages = [to_message(n, self._links) for n in notices]
        error: StateError | None = None
        if (
            notices
            or not self._is_saved
            or (state.flows, state.untold) != before
        ):
            error = self._save(state, messages)
            self._is_saved = error is None
        self._state = state
        for notice in notices:
            self._logger.info(
                "Notice",
                flow=notice.flow,
                kind=notice.kind.value,
                health=notice.health.label,
                before=notice.before.label,
                untold=notice.untold,
            )
        if error is not None:
            raise SinkError(str(error), sink=self.name) from error

    def _save(
        self, state: NotificationState, messages: Sequence[NoticeMessage]
    ) -> StateError | None:
        """Write down what is notified; else send it from memory.

        Nobody is left without a notice because a disk is full. The next agent
        may decide it again.
        """
        try:
            if not self._is_saved:
                # First, or a kill in between would lose what waits.
                for queue in self._queues.values():
                    queue.flush()
            with self._database.transaction():
                self._document.save(state)
                self._outbox.put(messages)
        except StateError as e:
            for queue in self._queues.values():
                for batch in to_batches(messages):
                    with suppress(StateError):  # it is in memory then
                        queue.put(batch)
            return e
        return None

    def close(self) -> None:
        """Stop sending messages; what waits is kept."""
        for delivery in self.deliveries:
            delivery.close()
