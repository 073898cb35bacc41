"""Sends messages to one webhook. Its address is a secret."""

import ssl
import time
from datetime import timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from ...clock import utc_now
from ...domain.notices import Message
from ...exceptions import ConfigError, SinkError, SinkRejectedError
from .forms import Form

__all__ = ["Receiver"]

TIMEOUT_SECONDS = 10.0
"""A webhook that takes longer for one step of a request is as good as
away."""

REFUSED = {400, 413, 422}
"""What is wrong with the message itself: no later try will do better. All
else may be mended, a wrong address by its owner too."""

LONGEST_ANSWER = 200
"""Characters of the receiver's own words that are worth a log line."""

MOST_READ = 2048
"""Bytes of an answer that are read at all."""

SHORTEST_SECRET = 6
"""Parts of an address that are hidden wherever they come up; shorter ones
are words such as ``api``."""


class Receiver:
    """Sends messages to one webhook.

    Parameters
    ----------
    name
        What the log calls it.
    url
        Its address; never shown.
    form
        Returns what it is sent.
    authorization
        Value of the header of that name; never shown.
    ca
        Who signs its certificate, if no public authority does.

    Raises
    ------
    ConfigError
        Raised if the address cannot be used, or the certificate authority
        not be read.
    """

    def __init__(
        self,
        name: str,
        *,
        url: str,
        form: Form,
        authorization: str | None = None,
        ca: Path | None = None,
    ) -> None:
        self.name = name
        try:
            self._url = httpx.URL(url)
        except httpx.InvalidURL:
            raise ConfigError(
                f"sinks.notify.receivers: url of {name} is no address"
            ) from None  # the library's error shows it
        self._form = form
        parts = urlsplit(url)
        pieces = [*parts.path.split("/"), *parts.query.split("&")]
        self._secrets = [url, f"{parts.netloc}{parts.path}", parts.path]
        self._secrets += [p for p in pieces if len(p) >= SHORTEST_SECRET]
        if authorization is not None:
            self._secrets += [authorization, authorization.split(" ")[-1]]
        try:
            verify = ssl.create_default_context(cafile=ca)
        except OSError as e:
            raise ConfigError(
                f"sinks.notify.receivers: ca of {name}: {ca}: {e}"
            ) from e
        self._client = httpx.Client(
            timeout=TIMEOUT_SECONDS,
            verify=verify,
            headers={"Authorization": authorization} if authorization else {},
            # A message goes to whom it was meant for, or nowhere.
            follow_redirects=False,
        )

    def send(self, message: Message) -> None:
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
                "POST", self._url, json=self._form(message)
            ) as answer:
                words = "" if answer.is_success else _read(answer)
        except httpx.RequestError as e:
            raise SinkError(
                f"{self.name} does not answer: {_plainly(e)}", sink=self._sink
            ) from None  # the library's error knows the address
        status = answer.status_code
        if answer.is_success:
            return
        text = f"{self.name} answered {status}: {self._hide(words)}"
        if answer.has_redirect_location:
            # Where to is not shown: it may hold a secret as well.
            text += (
                " (it leads elsewhere, which is not followed: mend its url)"
            )
        if status in REFUSED:
            raise SinkRejectedError(text, sink=self._sink)
        asked = _retry_after(answer)
        raise SinkError(text, sink=self._sink, retry_after=asked)

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()

    @property
    def _sink(self) -> str:
        return f"notify {self.name}"

    def _hide(self, text: str) -> str:
        """Return an answer's words without anything of the address."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            if len(secret) >= SHORTEST_SECRET:
                text = text.replace(secret, "***")
        return " ".join(text.split())[:LONGEST_ANSWER] or "nothing"


def _read(answer: httpx.Response) -> str:
    """Return the beginning of an answer, as much as comes in time."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    body = b""
    for chunk in answer.iter_bytes():
        body += chunk
        if len(body) > MOST_READ or time.monotonic() > deadline:
            break
    return body[:MOST_READ].decode(errors="replace")


def _retry_after(answer: httpx.Response) -> timedelta | None:
    """Return how long it asks to be left alone: seconds or a date."""
    asked = answer.headers.get("Retry-After", "").strip()
    try:
        if asked.isdecimal():
            return timedelta(seconds=int(asked))
        return parsedate_to_datetime(asked) - utc_now()
    except (ValueError, TypeError, OverflowError):
        return None  # a word, or a date without a zone


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
    """Return what the system said, which names no address."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate: {cause.verify_message}"
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__
