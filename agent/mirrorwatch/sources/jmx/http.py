"""What is common to figures that are read over HTTP."""

import httpx

from ...exceptions import SourceUnavailableError
from ..http import HttpAddress, open_client
from .reader import JmxAddress

__all__ = ["explain", "open_reader"]

_REFUSED = {
    401: "it wants a login: set mirror.jmx.user and mirror.jmx.password",
    403: "it refuses this login: the user of mirror.jmx may not read",
    404: "nothing is there: mirror.jmx.urls has a wrong path",
}


def open_reader(address: JmxAddress) -> httpx.Client:
    """Return a client for the figures of one process.

    Raises
    ------
    ConfigError
        Raised if the certificate authority cannot be read.
    """
    return open_client(
        HttpAddress(
            url=address.url,
            username=address.user,
            password=address.password,
            ca=address.ca,
        ),
        key="mirror.jmx",
        timeout_seconds=address.timeout.total_seconds(),
        accept="*/*",
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
