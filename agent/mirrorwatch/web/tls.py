"""The web server's side of TLS, by files that may be renewed meanwhile."""

import logging
import ssl
import time
from pathlib import Path

from ..exceptions import WebError

__all__ = ["ServerTLS"]

LOG = logging.getLogger("uvicorn.error")

LOOK_SECONDS = 5.0
"""Between two looks at the files, at most one for each. Whoever renews a
certificate does so days before it expires."""

Stamp = tuple[tuple[int, int, int] | None, ...]


class ServerTLS:
    """Certificate and key, read again when their files change.

    Parameters
    ----------
    cert
        PEM file of the certificate, with those of its chain.
    key
        PEM file of its key, without a password.
    client_ca
        PEM file of the CAs of clients; whoever has no certificate of them is
        refused. Without it no client is asked for one.
    """

    def __init__(
        self,
        cert: Path,
        key: Path,
        *,
        client_ca: Path | None = None,
    ) -> None:
        self._cert, self._key, self._client_ca = cert, key, client_ca
        self._context: ssl.SSLContext | None = None
        self._read: Stamp = ()
        self._looked = 0.0

    def load(self) -> ssl.SSLContext:
        """Read the files.

        Raises
        ------
        WebError
            Raised if they cannot be used.
        """
        self._looked = time.monotonic()
        # Before they are read: a change meanwhile is found by the next look.
        self._read = self._stamp()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        try:
            # Without a password OpenSSL would ask for one on the terminal.
            context.load_cert_chain(
                self._cert, self._key, password=lambda: b""
            )
        except (OSError, ValueError) as e:
            raise WebError(
                f"Cannot use the certificate {self._cert} with the key "
                f"{self._key} (web.tls_server_config): {_reason(e)}. Both are "
                "PEM files that the agent's user can read, of one key pair, "
                "and the key has no password"
            ) from e
        if self._client_ca is not None:
            try:
                context.load_verify_locations(self._client_ca)
            except (OSError, ValueError) as e:
                raise WebError(
                    f"Cannot use {self._client_ca} "
                    "(web.tls_server_config.client_ca_file): "
                    f"{_reason(e)}. It is a PEM file of certificates"
                ) from e
            context.verify_mode = ssl.CERT_REQUIRED
        self._context = context
        return context

    def context(self) -> ssl.SSLContext:
        """Return what a new connection uses.

        A renewed certificate that cannot be used is logged, and the one
        before stays: half of a pair may be written later than the other.
        """
        if self._context is None:
            return self.load()
        now = time.monotonic()
        if now - self._looked >= LOOK_SECONDS:
            self._looked = now
            if self._stamp() != self._read:
                try:
                    self.load()
                except WebError as e:
                    LOG.warning("%s. The one before stays in use", e)
                else:
                    LOG.info("The page's certificate was read again")
        return self._context

    def _stamp(self) -> Stamp:
        return tuple(
            _stamp_of(path)
            for path in (self._cert, self._key, self._client_ca)
            if path is not None
        )


def _stamp_of(path: Path) -> tuple[int, int, int] | None:
    try:
        # Through links: Kubernetes replaces a link to the folder of a secret.
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return (
            (error.reason or "no PEM of that kind").replace("_", " ").lower()
        )
    return getattr(error, "strerror", None) or type(error).__name__
