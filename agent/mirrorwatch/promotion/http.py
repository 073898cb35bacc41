"""Asks the HTTP API of a server at a site."""

import ssl
from collections.abc import Collection
from typing import Any

import httpx

from ..config.sites import ServerConfig
from ..exceptions import ConfigError
from .words import Words

__all__ = ["Api"]

PATIENCE_SECONDS = 30.0
"""A list of a thousand tasks with their scripts takes seconds."""


class Api:
    """The HTTP API of one server.

    Parameters
    ----------
    site
        Name of the site.
    product
        Name of the server there; both for messages.
    server
        Where it is, and how to log in.
    secrets
        Values of the site that must not be shown, whoever says them.

    Raises
    ------
    ConfigError
        Raised if the certificate authority cannot be read.
    """

    def __init__(
        self,
        site: str,
        product: str,
        server: ServerConfig,
        secrets: Collection[str],
    ) -> None:
        key = f"sites.{site}.{product}"
        self._words = Words(
            where=f"{product} of {site} ({server.url})",
            key=key,
            secrets=secrets,
            patience_seconds=PATIENCE_SECONDS,
        )
        # Chronograf asks for this where a browser's cookie would do.
        headers = {"X-Requested-With": "XMLHttpRequest"}
        if server.token is not None:
            token = server.token.get_secret_value()
            headers["Authorization"] = f"Bearer {token}"
        login = None
        if server.username is not None and server.password is not None:
            password = server.password.get_secret_value()
            login = httpx.BasicAuth(server.username, password)
        try:
            verify = ssl.create_default_context(cafile=server.ca)
        except OSError as e:
            raise ConfigError(f"{key}.ca {server.ca}: {e}") from e
        self._http = httpx.Client(
            base_url=server.url,
            auth=login,
            headers=headers,
            timeout=PATIENCE_SECONDS,
            verify=verify,
        )

    def ask(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        params: dict[str, Any] | None = None,
        absent: bool = False,
    ) -> Any:
        """Ask, and return the JSON of the answer.

        Parameters
        ----------
        method
            Method of HTTP.
        path
            Path below the server's address.
        json
            What to send.
        params
            Query of the address.
        absent
            Whether it may be that there is no such thing, which is `None`.

        Raises
        ------
        ServerLostError
            Raised if there is no answer.
        PromotionError
            Raised if the answer is a refusal, or no JSON.
        """
        try:
            answer = self._http.request(method, path, json=json, params=params)
        except httpx.TransportError as e:
            raise self._words.lost(e) from e
        if absent and answer.status_code == httpx.codes.NOT_FOUND:
            return None
        if answer.status_code in {502, 503, 504}:
            raise self._words.away(answer)
        if not answer.is_success:
            raise self._words.refused(answer)
        try:
            return answer.json() if answer.content else None
        except ValueError as e:
            raise self._words.strange() from e

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()
