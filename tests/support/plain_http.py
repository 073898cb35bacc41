"""Plain HTTP with servers on this machine."""

import httpx

__all__ = ["HTTP"]

HTTP = httpx.Client(
    trust_env=False,
    # Each request on a connection of its own: servers come, go and are
    # killed, and nothing is left open.
    limits=httpx.Limits(max_keepalive_connections=0),
)
"""To be used in place of `httpx.get` and its like, which load the certificates
of all authorities for each request: twenty times the work of asking a server
of this machine. A test may ask from several threads."""
