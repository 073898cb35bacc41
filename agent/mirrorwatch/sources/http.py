"""What is common to everything that is asked over HTTP."""

import ssl
from dataclasses import dataclass
from pathlib import Path

import httpx

from ..exceptions import ConfigError

__all__ = ["HttpAddress", "describe_failure", "open_client"]


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class HttpAddress:
    """Where a server is, and how to log in: never shown, wherever it goes."""

    url: str
    username: str | None = None
    password: str | None = None
    ca: Path | None = None
    """Who signs its certificate, if no public authority does."""


def open_client(
    address: HttpAddress,
    *,
    key: str,
    timeout_seconds: float,
    accept: str = "application/json",
) -> httpx.Client:
    """Return a client that keeps its connection.

    Parameters
    ----------
    address
        Whom it asks.
    key
        Where that is configured.
    timeout_seconds
        How long each step of a request may take.
    accept
        Media types that are understood.

    Raises
    ------
    ConfigError
        Raised if the certificate authority cannot be read.
    """
    try:
        verify = ssl.create_default_context(cafile=address.ca)
    except OSError as e:
        raise ConfigError(f"{key}.ca {address.ca}: {e}") from e
    user, password = address.username, address.password or ""
    return httpx.Client(
        auth=None if user is None else httpx.BasicAuth(user, password),
        timeout=timeout_seconds,
        verify=verify,
        headers={"Accept": accept},
        # One server, one connection; an answer that goes elsewhere is wrong.
        limits=httpx.Limits(max_connections=1),
        follow_redirects=False,
    )


def describe_failure(
    error: httpx.TransportError, timeout_seconds: float
) -> str:
    """Say why there was no answer; nothing of the request is part of it."""
    if isinstance(error, httpx.TimeoutException):
        return f"no answer within {timeout_seconds:g} s"
    return str(error) or type(error).__name__
