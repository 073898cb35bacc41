"""Connects to a server step by step, so that a failure has one cause.

Name, TCP, TLS, then Kafka's own first two requests. librdkafka tries all of
that again and again, and says in the end that it timed out.
"""

import socket
import ssl
import struct
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Self

from ..clock import utc_now
from ..exceptions import LayerError
from ..http import resolve

__all__ = ["TlsSettings", "check_broker", "check_tcp"]

PATIENCE = 3.0
"""Seconds that each step may take: with four of them before librdkafka is
asked, a command of ten seconds has time left for the rest."""

NO_CHECK_TIME = 0x200000
"""OpenSSL's ``X509_V_FLAG_NO_CHECK_TIME``."""

OWN_ELSEWHERE = (
    "ssl.certificate.pem",
    "ssl.key.pem",
    "ssl.keystore.location",
)
"""Properties with a certificate of ours that Python cannot load: text, or a
PKCS #12 file."""

EXPIRED, NOT_YET_VALID, HOST_NAME = 10, 9, 62
"""OpenSSL's codes of what is wrong with a certificate."""

UNKNOWN_AUTHORITY = {2, 18, 19, 20, 21}
"""Those of an authority that is not trusted."""

SOON = timedelta(days=14)
"""A certificate that expires sooner is worth a remark."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class TlsSettings:
    """How a server's certificate is verified, and our own."""

    key: str
    """Key of the configuration that these settings are under."""

    ca: Path | None = None
    """File or folder of authorities; `None` for the public ones."""

    ca_text: str | None = None
    """The same as text."""

    certificate: Path | None = None
    private_key: Path | None = None
    password: str | None = None
    own_elsewhere: bool = False
    """Whether we have a certificate that only librdkafka can show."""

    verifies: bool = True
    checks_host: bool = True

    @classmethod
    def of(cls, alias: str, properties: Mapping[str, str]) -> Self:
        """Return those of librdkafka's properties."""

        def path(name: str) -> Path | None:
            return Path(properties[name]) if name in properties else None

        probed = properties.get("ssl.ca.location") == "probe"
        verification = "enable.ssl.certificate.verification"
        identification = "ssl.endpoint.identification.algorithm"
        return cls(
            key=f"clusters.{alias}.kafka.ssl.ca.location",
            ca=None if probed else path("ssl.ca.location"),
            ca_text=properties.get("ssl.ca.pem"),
            certificate=path("ssl.certificate.location"),
            private_key=path("ssl.key.location"),
            password=properties.get("ssl.key.password"),
            own_elsewhere=any(name in properties for name in OWN_ELSEWHERE),
            verifies=properties.get(verification, "true").lower()
            not in {"false", "0"},
            checks_host=properties.get(identification, "https").lower()
            != "none",
        )

    def context(self) -> ssl.SSLContext:
        """Return what verifies as librdkafka does.

        Raises
        ------
        LayerError
            Raised if a file cannot be used.
        """
        folder = self.ca if self.ca and self.ca.is_dir() else None
        try:
            context = ssl.create_default_context(
                cafile=None if folder else self.ca,
                capath=folder,
                cadata=self.ca_text,
            )
            if self.certificate is not None and not self.own_elsewhere:
                context.load_cert_chain(
                    self.certificate, self.private_key, self.password
                )
        except (OSError, ValueError) as e:
            raise LayerError(
                "tls",
                f"a certificate or key file cannot be used ({_words(e)})",
                f"Check {self.key} and the files beside it",
            ) from e
        # Python 3.13 sets these two, and librdkafka none of them.
        context.verify_flags &= ~(
            ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
        )
        context.check_hostname = self.verifies and self.checks_host
        if not self.verifies:
            context.verify_mode = ssl.CERT_NONE
        return context


def check_tcp(
    host: str, port: int, tls: TlsSettings | None, *, key: str
) -> str | None:
    """Connect and hang up; nothing is sent.

    Parameters
    ----------
    host, port
        Whom to connect to.
    tls
        How TLS is spoken, if it is.
    key
        Key of the configuration that the address is under.

    Returns
    -------
    str or None
        What is worth a remark all the same.

    Raises
    ------
    LayerError
        Raised with the cause if it fails.
    """
    with closing(_open_tcp(host, port, key)) as connection:
        if tls is None:
            return None
        try:
            secured = _start_tls(connection, host, port, tls)
        except _RejectedError:
            if tls.own_elsewhere:
                return None
            raise
        except _NotKafkaError as e:
            raise LayerError(
                "tls", f"{host}:{port} does not speak TLS", f"Correct {key}"
            ) from e
        with closing(secured):
            return _note_expiry(secured, f"{host}:{port}")


def check_broker(
    alias: str, host: str, port: int, properties: Mapping[str, str]
) -> str | None:
    """Connect to a broker and ask which requests and logins it knows.

    Nobody is logged in: librdkafka does that.

    Returns
    -------
    str or None
        What is worth a remark all the same.

    Raises
    ------
    LayerError
        Raised with the cause if it fails.
    """
    protocol = properties.get("security.protocol", "plaintext").upper()
    names = ("sasl.mechanisms", "sasl.mechanism")
    mechanism = next(
        (properties[name] for name in names if name in properties), "GSSAPI"
    )
    broker = _Broker(
        alias=alias,
        host=host,
        port=port,
        tls=TlsSettings.of(alias, properties)
        if protocol.endswith("SSL")
        else None,
    )
    try:
        note = broker.check_answers()
    except _RejectedError:
        if broker.tls is not None and broker.tls.own_elsewhere:
            # Without our certificate, which librdkafka shows.
            return None
        raise
    broker.check_login(mechanism, wanted=protocol.startswith("SASL"))
    return note


API_VERSIONS, SASL_HANDSHAKE = 18, 17

UNSUPPORTED_MECHANISM, ILLEGAL_SASL_STATE = 33, 34
"""Kafka's codes: this login is not offered, none is expected."""

LONGEST = 2**20
"""Bytes of an answer; what is longer is not Kafka's."""


class _NotKafkaError(Exception):
    """What answers does not speak Kafka's protocol."""


class _RejectedError(LayerError):
    """TLS was spoken, and then the server did not want us."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Broker:
    alias: str
    host: str
    port: int
    tls: TlsSettings | None

    @property
    def _place(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def _key(self) -> str:
        return f"clusters.{self.alias}.kafka"

    def check_answers(self) -> str | None:
        with closing(_open_tcp(self.host, self.port, self._key)) as tcp:
            if self.tls is None:
                self._ask_versions(tcp)
                return None
            try:
                tls = _start_tls(tcp, self.host, self.port, self.tls)
            except _NotKafkaError as e:
                raise self._without_tls() from e
            with closing(tls):
                self._ask_versions(tls)
                return _note_expiry(tls, self._place)

    def check_login(self, mechanism: str, *, wanted: bool) -> None:
        name = mechanism.encode()
        body = struct.pack(f">h{len(name)}s", len(name), name)
        try:
            with closing(self._open()) as connection:
                answer = _ask(connection, SASL_HANDSHAKE, 1, body)
            code, offered = _read_mechanisms(answer)
        except (OSError, _NotKafkaError):
            # Not every program that speaks Kafka answers this. What is wrong
            # shows when librdkafka logs in.
            return
        tls = self.tls is not None
        if wanted and code == ILLEGAL_SASL_STATE:
            raise LayerError(
                "sasl",
                f"{self._place} expects no SASL login",
                f"Set {self._key}.security.protocol to "
                f"{'SSL' if tls else 'PLAINTEXT'}, or use the port of the "
                "listener with SASL",
            )
        shown = ", ".join(offered) or "none"
        if wanted and code == UNSUPPORTED_MECHANISM:
            raise LayerError(
                "sasl",
                f"{self._place} does not offer SASL mechanism {mechanism}, "
                f"only {shown}",
                f"Correct {self._key}.sasl.mechanism",
            )
        if not wanted and code in {0, UNSUPPORTED_MECHANISM}:
            raise LayerError(
                "sasl",
                f"{self._place} requires a SASL login ({shown})",
                f"Set {self._key}.security.protocol to "
                f"{'SASL_SSL' if tls else 'SASL_PLAINTEXT'}, and "
                "sasl.mechanism, sasl.username and sasl.password",
            )

    def _open(self) -> socket.socket:
        connection = _open_tcp(self.host, self.port, self._key)
        if self.tls is None:
            return connection
        return _start_tls(connection, self.host, self.port, self.tls)

    def _ask_versions(self, connection: socket.socket) -> None:
        try:
            _ask(connection, API_VERSIONS, 0)
        except TimeoutError as e:
            raise LayerError(
                "kafka",
                f"{self._place} accepts connections, but does not answer "
                f"within {PATIENCE:g} s",
                "Check whether the broker hangs (its process, disk and log), "
                "and that this is a port of Kafka",
            ) from e
        except ssl.SSLError as e:
            raise _RejectedError(
                "tls",
                f"{self._place} rejects the connection ({_words(e)})",
                "Check ssl.certificate.location and ssl.key.location under "
                f"{self._key}: the listener may require a certificate that "
                "it trusts",
            ) from e
        except (OSError, _NotKafkaError) as e:
            if self.tls is None and self._speaks_tls():
                raise LayerError(
                    "tls",
                    f"{self._place} requires TLS",
                    f"Set {self._key}.security.protocol to SSL or SASL_SSL",
                ) from e
            if self.tls is not None and self.tls.own_elsewhere:
                # An alert that was overtaken by the end of the connection.
                raise _RejectedError(
                    "tls", f"{self._place} hangs up", ""
                ) from e
            raise self._another() from e

    def _speaks_tls(self) -> bool:
        anybody = TlsSettings(key="", verifies=False)
        with suppress(LayerError, _NotKafkaError):
            opened = _open_tcp(self.host, self.port, self._key)
            _start_tls(opened, self.host, self.port, anybody).close()
            return True
        return False

    def _without_tls(self) -> LayerError:
        with closing(_open_tcp(self.host, self.port, self._key)) as plain:
            try:
                _ask(plain, API_VERSIONS, 0)
            except (OSError, _NotKafkaError):
                return self._another()
        return LayerError(
            "tls",
            f"{self._place} does not speak TLS",
            f"Use the port of the TLS listener in {self._key}."
            "bootstrap.servers, or set security.protocol to PLAINTEXT or "
            "SASL_PLAINTEXT",
        )

    def _another(self) -> LayerError:
        return LayerError(
            "kafka",
            f"{self._place} is not a Kafka listener, or hangs up",
            f"Check the port in {self._key}.bootstrap.servers",
        )


def _open_tcp(host: str, port: int, key: str) -> socket.socket:
    try:
        addresses = resolve(host, port, PATIENCE)
    except TimeoutError as e:
        raise LayerError(
            "dns",
            f"the name service does not answer for {host} within "
            f"{PATIENCE:g} s",
            "Check the name service of this machine",
        ) from e
    except OSError as e:
        raise LayerError(
            "dns",
            f"the name {host} cannot be resolved",
            f"Correct it in {key}, or add it to the name service",
        ) from e
    until = time.monotonic() + PATIENCE
    while True:
        address = addresses.pop(0)
        left = max((until - time.monotonic()) / (1 + len(addresses)), 0.001)
        try:
            return _connect(address, port, left)
        except OSError as e:
            if addresses:
                continue
            raise _explain_tcp(e, f"{host}:{port}", key) from e


def _connect(address: str, port: int, seconds: float) -> socket.socket:
    connection = socket.create_connection((address, port), seconds)
    connection.settimeout(PATIENCE)
    return connection


def _explain_tcp(error: OSError, place: str, key: str) -> LayerError:
    match error:
        case ConnectionRefusedError():
            cause = f"cannot reach {place}: connection refused"
            remedy = f"Check that it runs, and host and port in {key}"
        case TimeoutError():
            cause = f"cannot reach {place}: no answer within {PATIENCE:g} s"
            remedy = (
                "Check that the machine is up, and that no firewall between "
                "it and this one drops packets to this port"
            )
        case _:
            cause = f"cannot reach {place}: {_words(error)}"
            remedy = f"Check the network, and host and port in {key}"
    return LayerError("tcp", cause, remedy)


def _start_tls(
    connection: socket.socket, host: str, port: int, tls: TlsSettings
) -> ssl.SSLSocket:
    place = f"{host}:{port}"
    context = tls.context()
    try:
        return context.wrap_socket(connection, server_hostname=host)
    except ssl.SSLCertVerificationError as e:
        raise _explain_certificate(e, host, port, tls) from e
    except TimeoutError as e:
        raise LayerError(
            "tls",
            f"{place} accepts connections, but does not answer TLS within "
            f"{PATIENCE:g} s",
            "Check whether the server hangs, and whether this port speaks TLS",
        ) from e
    except ssl.SSLError as e:
        if "ALERT" in (e.reason or ""):
            raise _RejectedError(
                "tls",
                f"{place} rejects the TLS handshake ({_words(e)})",
                "Check the certificate that this server requires of its "
                "clients, and its TLS versions",
            ) from e
        raise _NotKafkaError from e
    except OSError as e:
        raise _NotKafkaError from e
    finally:
        # The secured one has taken its descriptor over, if there is one.
        connection.close()


def _explain_certificate(
    error: ssl.SSLCertVerificationError, host: str, port: int, tls: TlsSettings
) -> LayerError:
    place, code = f"{host}:{port}", error.verify_code
    if code in UNKNOWN_AUTHORITY:
        return LayerError(
            "tls",
            f"the certificate of {place} is not signed by the CA in {tls.key}"
            if tls.ca or tls.ca_text
            else f"the certificate of {place} is not signed by a public CA",
            f"Set {tls.key} to the PEM file of the CA that signed it",
        )
    found = _read_certificate(host, port, tls)
    if code == EXPIRED:
        return LayerError(
            "tls",
            f"the certificate of {place} has expired"
            + (f" on {found['notAfter']}" if "notAfter" in found else ""),
            "Renew it, or check the clock of this machine",
        )
    if code == NOT_YET_VALID:
        return LayerError(
            "tls",
            f"the certificate of {place} is not valid yet"
            + (f", but from {found['notBefore']}" if found else ""),
            "Check the clock of this machine and of who issued it",
        )
    if code == HOST_NAME or "match" in error.verify_message:
        names = ", ".join(v for _, v in found.get("subjectAltName", ()))
        return LayerError(
            "tls",
            f"the certificate of {place} is for {names or 'another name'}, "
            f"not for {host}",
            "Connect by a name of the certificate, or add this one to it",
        )
    return LayerError(
        "tls",
        f"the certificate of {place} cannot be verified "
        f"({error.verify_message})",
        f"Check {tls.key} and the certificate",
    )


def _read_certificate(host: str, port: int, tls: TlsSettings) -> dict:  # type: ignore[type-arg]
    """Return a certificate of a trusted authority, whatever else it has."""
    context = tls.context()
    context.check_hostname = False
    context.verify_flags |= NO_CHECK_TIME
    with (
        suppress(LayerError, OSError),
        closing(_open_tcp(host, port, tls.key)) as connection,
        closing(
            context.wrap_socket(connection, server_hostname=host)
        ) as secured,
    ):
        return secured.getpeercert() or {}
    return {}


def _note_expiry(connection: ssl.SSLSocket, place: str) -> str | None:
    found = connection.getpeercert() or {}
    if "notAfter" not in found:
        return None
    until = str(found["notAfter"])
    left = ssl.cert_time_to_seconds(until) - utc_now().timestamp()
    if left > SOON.total_seconds():
        return None
    return f"the certificate of {place} expires on {until}"


def _ask(
    connection: socket.socket, key: int, version: int, body: bytes = b""
) -> bytes:
    """Send a request of Kafka's protocol; return what is answered."""
    name = b"mirrorwatch"
    request = struct.pack(
        f">hhih{len(name)}s", key, version, key, len(name), name
    )
    request += body
    connection.sendall(struct.pack(">i", len(request)) + request)
    until = time.monotonic() + PATIENCE
    (length,) = struct.unpack(">i", _receive(connection, 4, until))
    if not 4 < length < LONGEST:
        raise _NotKafkaError
    answer = _receive(connection, length, until)
    if struct.unpack_from(">i", answer) != (key,):
        raise _NotKafkaError
    return answer[4:]


def _receive(connection: socket.socket, size: int, until: float) -> bytes:
    got = b""
    while len(got) < size:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        piece = connection.recv(size - len(got))
        if not piece:
            raise _NotKafkaError
        got += piece
    return got


def _read_mechanisms(answer: bytes) -> tuple[int, list[str]]:
    try:
        code, count = struct.unpack_from(">hi", answer)
        at, found = 6, []
        for _ in range(count):
            (size,) = struct.unpack_from(">h", answer, at)
            found.append(answer[at + 2 : at + 2 + size].decode())
            at += 2 + size
    except (struct.error, UnicodeError) as e:
        raise _NotKafkaError from e
    return code, found


def _words(error: Exception) -> str:
    """Return an error of the system in words that stay the same."""
    if isinstance(error, ssl.SSLError):
        return (error.reason or str(error)).lower().replace("_", " ")
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__
