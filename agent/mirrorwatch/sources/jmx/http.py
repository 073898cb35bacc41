"""What is common to figures that are read over HTTP."""

import ssl

import httpx

from ...exceptions import ConfigError, SourceUnavailableError
from .reader import JmxAddress

__all__ = ["explain", "open_client"]

_REFUSED = {
    401: "it wants a login: set mirror.jmx.user and mirror.jmx.password",
    403: "it refuses this login: the user of mirror.jmx may not read",
    404: "nothing is there: mirror.jmx.urls has a wrong path",
}


def open_client(address: JmxAddress) -> httpx.Client:
    """Return a client that keeps its connection.

    Raises
    ------
    ConfigError
        Raised if the certificate authority cannot be read.
    """
    try:
        verify = ssl.create_default_context(cafile=address.ca)
    except OSError as e:
        raise ConfigError(f"mirror.jmx.ca {address.ca}: {e}") from e
    login = (
        None
        if address.user is None
        else httpx.BasicAuth(address.user, address.password or "")
    )
    return httpx.Client(
        auth=login,
        timeout=address.timeout.total_seconds(),
        verify=verify,
        # One worker, one connection; an answer that goes elsewhere is wrong.
        limits=httpx.Limits(max_connections=1),
        follow_redirects=False,
    )


def explain(
    address: JmxAddress, error: httpx.HTTPError
) -> SourceUnavailableError:
    """Say in words what went wrong; the request is not part of them."""
    if isinstance(error, httpx.HTTPStatusError):
        status = error.response.status_code
        text = _REFUSED.get(status, f"it answers with status {status}")
    elif isinstance(error, httpx.TimeoutException):
        limit = address.timeout.total_seconds()
        text = (
            f"no answer within {limit:g} s: is that process frozen, or a "
            "firewall between?"
        )
    elif isinstance(error, httpx.ConnectError):
        text = f"cannot connect ({error}): is that process running?"
    else:
        text = f"no usable answer ({error or type(error).__name__})"
    return address.unavailable(text)
