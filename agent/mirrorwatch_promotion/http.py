"""The HTTP API of a server at a site."""

from collections.abc import Collection
from typing import Any

import httpx

from mirrorwatch.exceptions import ConfigError
from mirrorwatch.http import bounded_client, trust

from .config import ServerConfig
from .exceptions import PromotionError
from .item import hide

__all__ = ["Api"]


CERTIFICATE = "CERTIFICATE_VERIFY_FAILED"
"""OpenSSL's name for a certificate that nobody vouches for."""

REASON_LENGTH = 300
"""Characters that are shown of a server's own words."""

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
        Address and login.
    secrets
        Values to hide in messages.

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
        self._where = f"{product} of {site} ({server.url})"
        self._key = f"sites.{site}.{product}"
        self._secrets = secrets
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
            verify = trust(server.ca)
        except OSError as e:
            raise ConfigError(f"{self._key}.ca {server.ca}: {e}") from e
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
    ) -> Any:
        """Return the JSON of an answer.

        Raises
        ------
        PromotionError
            Raised if there is no answer, a refusal, or no JSON.
        """
        try:
            answer = self._http.request(method, path, json=json, params=params)
        except httpx.TransportError as e:
            raise self._lost(e) from e
        if not answer.is_success:
            raise self._refused(answer)
        try:
            return answer.json() if answer.content else None
        except (ValueError, RecursionError) as e:
            raise PromotionError(
                f"What answers as {self._where} does not speak its API: see "
                f"{self._key}.url"
            ) from e

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _lost(self, error: httpx.TransportError) -> PromotionError:
        why = hide(str(error), self._secrets) or type(error).__name__
        if isinstance(error, httpx.TimeoutException):
            why = f"no answer within {PATIENCE_SECONDS:g} s"
        if CERTIFICATE in why:
            return PromotionError(
                f"The certificate of {self._where} is not trusted ({why}): "
                f"see {self._key}.ca"
            )
        return PromotionError(
            f"{self._where} cannot be reached ({why}): is it up, and is "
            f"{self._key}.url right?"
        )

    def _refused(self, answer: httpx.Response) -> PromotionError:
        status, said, key = answer.status_code, self._said(answer), self._key
        reading = answer.request.method == "GET"
        if status == httpx.codes.UNAUTHORIZED:
            what = (
                f"refuses the login (status {status}): see username and "
                f"password, or token, under {key}"
            )
        elif status == httpx.codes.FORBIDDEN:
            what = (
                f"does not allow it ({said}): see the rights of the user, or "
                f"of the token, under {key}"
            )
        elif answer.is_redirect:
            what = (
                f"sends on to {answer.headers['Location']}, where no secret "
                f"is sent: see {key}.url"
            )
        elif status == httpx.codes.NOT_FOUND and reading:
            what = f"has nothing at {answer.url.path} ({said}): see {key}.url"
        else:
            what = f"refuses: {said}"
        return PromotionError(hide(f"{self._where} {what}", self._secrets))

    def _said(self, answer: httpx.Response) -> str:
        try:
            body = answer.json()
        except ValueError:
            body = {}
        said = ""
        if isinstance(body, dict):
            said = str(body.get("error") or body.get("message") or "")
        said = hide(said, self._secrets)[:REASON_LENGTH]
        return said or f"status {answer.status_code}"
