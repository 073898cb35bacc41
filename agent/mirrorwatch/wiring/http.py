"""Servers that are asked over HTTP."""

from ..config import HttpServer
from ..sources.http import HttpAddress

__all__ = ["to_address"]


def to_address(config: HttpServer) -> HttpAddress:
    """Return where a configured server is, with its secret in the clear."""
    secret = config.password
    return HttpAddress(
        url=config.url,
        username=config.username,
        password=None if secret is None else secret.get_secret_value(),
        ca=config.ca,
    )
