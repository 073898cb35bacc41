"""Says what a server's answers mean, and what to mend."""

from collections.abc import Collection
from dataclasses import dataclass

import httpx

from ..domain.promotion.hiding import hide
from ..exceptions import PromotionError, ServerLostError

__all__ = ["Words"]

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
    """Its key in the file of the sites."""

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
