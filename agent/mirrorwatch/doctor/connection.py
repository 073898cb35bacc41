"""TCP and TLS handshakes, by which a failed connection has one cause.

What Kafka says after them comes from librdkafka.
"""

import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ..clock import utc_now
from ..exceptions import Layer, LayerError

__all__ = ["broker_context", "connect", "speaks_tls", "tls_context"]

PATIENCE = 3.0
"""Time-out of each handshake in seconds: with librdkafka's, less than the ten
seconds of the command."""

SOON_DAYS = 14
"""A certificate that expires sooner is worth a remark."""

REMEDIES = {
    9: "Check the clock of this machine and of who issued it",
    10: "Renew it, or check the clock of this machine",
    62: "Connect by a name of the certificate, or add this one to it",
    64: "Connect by a name of the certificate, or add this address to it",
}
"""By OpenSSL's code of what is wrong with a certificate."""

VERIFICATION = "enable.ssl.certificate.verification"
IDENTIFICATION = "ssl.endpoint.identification.algorithm"


def tls_context(
    key: str, ca: str | Path | None = None, ca_text: str | None = None
) -> ssl.SSLContext:
    """Return a context that trusts a file, folder or text of authorities.

    Raises
    ------
    LayerError
        Raised with the key of the configuration if they cannot be used.
    """
    # Not create_default_context: since Python 3.13 that is stricter than
    # librdkafka.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    folder = ca if ca and Path(ca).is_dir() else None
    try:
        if ca or ca_text:
            file = None if folder else ca
            context.load_verify_locations(file, folder, ca_text)
        else:
            context.load_default_certs()
    except (OSError, ValueError) as e:
        cause = f"a certificate file cannot be used ({e})"
        raise LayerError("tls", cause, f"Check {key}") from e
    return context


def broker_context(
    alias: str, properties: Mapping[str, str]
) -> ssl.SSLContext | None:
    """Return the context of librdkafka's properties; `None` for plaintext."""
    if not properties.get("security.protocol", "").upper().endswith("SSL"):
        return None
    ca = properties.get("ssl.ca.location", "probe")
    context = tls_context(
        f"clusters.{alias}.kafka.ssl.ca.location",
        None if ca == "probe" else ca,
        properties.get("ssl.ca.pem"),
    )
    verifies = properties.get(VERIFICATION, "").lower() not in {"false", "0"}
    named = properties.get(IDENTIFICATION, "").lower() != "none"
    context.check_hostname = verifies and named
    if not verifies:
        context.verify_mode = ssl.CERT_NONE
    return context


def connect(
    host: str, port: int, context: ssl.SSLContext | None, *, key: str
) -> str | None:
    """Connect and hang up; nothing is sent but a TLS handshake.

    Parameters
    ----------
    host, port
        Whom to connect to.
    context
        TLS context; `None` for plain text.
    key
        Key of the configuration that the address is under.

    Returns
    -------
    str or None
        A remark on a certificate that expires soon.

    Raises
    ------
    LayerError
        Raised with the cause if it fails.
    """
    place = f"{host}:{port}"
    layer: Layer = "tcp"
    try:
        with socket.create_connection((host, port), PATIENCE) as tcp:
            if context is None:
                return None
            layer = "tls"
            with context.wrap_socket(tcp, server_hostname=host) as tls:
                found = tls.getpeercert() or {}
    except ssl.SSLCertVerificationError as e:
        cause = f"the certificate of {place} is rejected: {e.verify_message}"
        trust = f"Name the PEM file of the CA that signed it under {key}"
        remedy = REMEDIES.get(e.verify_code, trust)
        raise LayerError(layer, cause.rstrip("."), remedy) from e
    except OSError as e:
        if "ALERT" in (getattr(e, "reason", None) or ""):
            # It requires a certificate of ours: librdkafka shows it.
            return None
        said = (e.strerror or str(e)).lower()
        cause = f"cannot reach {place}: {said}"
        if layer == "tls":
            cause = f"{place} does not speak TLS ({said})"
        remedy = f"Check that it runs, the network, and host and port in {key}"
        raise LayerError(layer, cause, remedy) from e
    if "notAfter" not in found:
        return None
    until = ssl.cert_time_to_seconds(str(found["notAfter"]))
    days = (until - utc_now().timestamp()) / 86_400
    if days > SOON_DAYS:
        return None
    return f"the certificate of {place} expires in {days:.0f} days"


def speaks_tls(host: str, port: int) -> bool:
    """Return whether a port speaks TLS, whatever its certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with suppress(LayerError):
        connect(host, port, context, key="")
        return True
    return False
