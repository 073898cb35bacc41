"""Asks the HTTP API of a server at a site."""

import ssl
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import httpx

from mirrorwatch.exceptions import ConfigError
from mirrorwatch.http import bounded_client

from .config import ServerConfig
from .exceptions import PromotionError, ServerLostError
from .item import hide

__all__ = ["Api"]


CERTIFICATE = "CERTIFICATE_VERIFY_FAILED"
"""What OpenSSL says if nobody vouches for a server."""

REASON_LENGTH = 300
"""As much as is shown of a server's own words."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """Makes errors of what one server does, without its secrets."""

    where: str
    """Which server it is."""

    key: str
    """Its key in the sites file."""

    secrets: Collection[str]
    """Values that must not be shown, whoever says them."""

    patience_seconds: float
    """How long it had time to answer."""

    def lost(self, error: httpx.TransportError) -> ServerLostError:
        """Return the error of a server that does not answer."""
        why = hide(str(error), self.secrets) or type(error).__name__
        if isinstance(error, httpx.TimeoutException):
            why = f"no answer within {self.patience_seconds:g} s"
        if CERTIFICATE in why:
            return ServerLostError(
                f"The certificate of {self.where} is not trusted ({why}): "
                f"see {self.key}.ca"
            )
        return ServerLostError(
            f"{self.where} cannot be reached ({why}): is it up, and is "
            f"{self.key}.url right?"
        )

    def away(self, answer: httpx.Response) -> ServerLostError:
        """Return the error of a server that a proxy does not reach."""
        return ServerLostError(
            f"{self.where} is away (status {answer.status_code})"
        )

    def strange(self) -> PromotionError:
        """Return the error of a server that is another one."""
        return PromotionError(
            f"What answers as {self.where} does not speak its API: see "
            f"{self.key}.url"
        )

    def refused(self, answer: httpx.Response) -> PromotionError:
        """Return the error of a server that does not do what is asked."""
        status, said = answer.status_code, self._said(answer)
        if status == httpx.codes.UNAUTHORIZED:
            what = (
                f"refuses the login (status {status}): see username and "
                f"password, or token, under {self.key}"
            )
        elif status == httpx.codes.FORBIDDEN:
            what = (
                f"does not allow it ({said}): see the rights of the user, or "
                f"of the token, under {self.key}"
            )
        elif answer.is_redirect:
            what = (
                f"sends on to {answer.headers['Location']}, where no secret "
                f"is sent: see {self.key}.url"
            )
        elif (
            status == httpx.codes.NOT_FOUND and answer.request.method == "GET"
        ):
            what = (
                f"has nothing at {answer.url.path} ({said}): see "
                f"{self.key}.url"
            )
        else:
            what = f"refuses: {said}"
        return PromotionError(hide(f"{self.where} {what}", self.secrets))

    def _said(self, answer: httpx.Response) -> str:
        """Return the server's own words, or else the status."""
        try:
            body = answer.json()
        except ValueError:
            body = {}
        said = ""
        if isinstance(body, dict):
            said = str(body.get("error") or body.get("message") or "")
        said = hide(said, self.secrets)[:REASON_LENGTH]
        return said or f"status {answer.status_code}"


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
        self._http = bounded_client(
            base_url=server.url,
            auth=login,
            headers=headers,
            timeout_seconds=PATIENCE_SECONDS,
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
        except (ValueError, RecursionError) as e:
            raise self._words.strange() from e

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()
