"""What is common to everything that is asked over HTTP."""

import ssl
from pathlib import Path

import httpx

from ..exceptions import ConfigError

__all__ = ["open_client", "tell_failure"]


def open_client(
    *,
    key: str,
    ca: Path | None,
    username: str | None,
    password: str | None,
    timeout_seconds: float,
    accept: str = "application/json",
) -> httpx.Client:
    """Return a client that keeps its connection.

    Parameters
    ----------
    key
        Where it is configured.
    ca
        Who signs the server's certificate, if no public authority does.
    username
        Login, if one is needed.
    password
        Its password.
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
        verify = ssl.create_default_context(cafile=ca)
    except OSError as e:
        raise ConfigError(f"{key}.ca {ca}: {e}") from e
    login = (
        None if username is None else httpx.BasicAuth(username, password or "")
    )
    return httpx.Client(
        auth=login,
        timeout=timeout_seconds,
        verify=verify,
        headers={"Accept": accept},
        # One server, one connection; an answer that goes elsewhere is wrong.
        limits=httpx.Limits(max_connections=1),
        follow_redirects=False,
    )


def tell_failure(error: httpx.TransportError, timeout_seconds: float) -> str:
    """Say why there was no answer; nothing of the request is part of it."""
    if isinstance(error, httpx.TimeoutException):
        return f"no answer within {timeout_seconds:g} s"
    return str(error) or type(error).__name__
