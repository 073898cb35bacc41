"""Each way in which a connection fails has its own words and remedy."""

import socketserver
import ssl
import struct
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import trustme

from mirrorwatch.clock import utc_now
from mirrorwatch.doctor import connection
from mirrorwatch.doctor.connection import (
    TlsSettings,
    check_broker,
    check_tcp,
)
from mirrorwatch.exceptions import LayerError
from tests.support.http import Answer, answering
from tests.support.tcp import (
    Echo,
    EchoServer,
    black_hole,
    closed_port,
    frozen,
)

NOW = utc_now()
LOOPBACK = "127.0.0.1"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "PATIENCE", 0.5)


@contextmanager
def broker(
    tls: ssl.SSLContext | None = None,
    *,
    login: tuple[int, Sequence[str]] = (34, ()),
) -> Iterator[int]:
    """Yield the port of what answers the first two requests of a client."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while head := self.rfile.read(4):
                (size,) = struct.unpack(">i", head)
                if not 0 < size < 1000:
                    return  # as Kafka hangs up on what is none of its requests
                request = self.rfile.read(size)
                key, _, number = struct.unpack_from(">hhi", request)
                body = struct.pack(">hihhh", 0, 1, 18, 0, 3)
                if key == 17:
                    code, offered = login
                    body = struct.pack(">hi", code, len(offered))
                    for name in offered:
                        body += struct.pack(">h", len(name)) + name.encode()
                answer = struct.pack(">i", number) + body
                self.wfile.write(struct.pack(">i", len(answer)) + answer)

        def setup(self) -> None:
            if tls is not None:
                self.request = tls.wrap_socket(self.request, server_side=True)
            super().setup()

        def finish(self) -> None:
            super().finish()
            self.request.close()

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Say nothing: a client that does not trust us hangs up."""

    with Server((LOOPBACK, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def secured(
    folder: Path,
    *names: str,
    not_before: datetime | None = None,
    not_after: datetime | None = None,
    mutual: bool = False,
    **options: object,
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the port of a broker with TLS, and properties that trust it."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(
        *(names or (LOOPBACK,)), not_before=not_before, not_after=not_after
    ).configure_cert(context)
    if mutual:
        authority.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    with broker(context, **options) as port:  # type: ignore[arg-type]
        yield (
            port,
            {
                "security.protocol": "SSL",
                "ssl.ca.location": str(folder / "ca.pem"),
            },
        )


def failure(
    port: int, properties: Mapping[str, str], host: str = LOOPBACK
) -> tuple[str, str, str]:
    with pytest.raises(LayerError) as raised:
        check_broker("summit", host, port, properties)
    error = raised.value
    return error.layer, str(error), error.remedy


def test_a_broker_that_answers_is_no_error(tmp_path: Path) -> None:
    with broker() as port:
        assert check_broker("summit", LOOPBACK, port, {}) is None
    with secured(tmp_path) as (port, properties):
        assert check_broker("summit", LOOPBACK, port, properties) is None


def test_a_closed_port_is_refused() -> None:
    port = closed_port()
    layer, cause, remedy = failure(port, {})
    assert layer == "tcp"
    assert cause == f"cannot reach 127.0.0.1:{port}: connection refused"
    assert "clusters.summit.kafka" in remedy


def test_a_name_that_nobody_knows_is_no_matter_of_the_network() -> None:
    layer, cause, _ = failure(9092, {}, "no-such-host.invalid")
    assert layer == "dns"
    assert cause == "the name no-such-host.invalid cannot be resolved"


def test_a_black_hole_is_told_from_a_broker_that_hangs() -> None:
    with black_hole() as port:
        layer, cause, remedy = failure(port, {})
    assert (layer, "firewall" in remedy) == ("tcp", True)
    assert "no answer within 0.5 s" in cause
    with frozen() as port:
        layer, cause, remedy = failure(port, {})
    assert (layer, "hangs" in remedy) == ("kafka", True)
    assert "accepts connections, but does not answer" in cause


def test_a_server_of_another_kind_is_no_broker() -> None:
    with EchoServer((LOOPBACK, 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            layer, cause, remedy = failure(server.server_address[1], {})
        finally:
            server.shutdown()
            thread.join()
    assert layer == "kafka"
    assert "is not a Kafka listener" in cause
    assert "bootstrap.servers" in remedy


def test_tls_on_one_end_only_is_named_on_either(tmp_path: Path) -> None:
    with secured(tmp_path) as (port, properties):
        layer, cause, remedy = failure(port, {})
        assert (layer, cause) == ("tls", f"127.0.0.1:{port} requires TLS")
        assert "SSL or SASL_SSL" in remedy
    with broker() as port:
        layer, cause, remedy = failure(port, properties)
        assert (layer, cause) == (
            "tls",
            f"127.0.0.1:{port} does not speak TLS",
        )
        assert "PLAINTEXT" in remedy


def test_an_expired_certificate_is_named_with_its_date(
    tmp_path: Path,
) -> None:
    with secured(
        tmp_path,
        not_before=NOW - timedelta(days=9),
        not_after=NOW - timedelta(days=1),
    ) as (port, properties):
        layer, cause, remedy = failure(port, properties)
    assert layer == "tls"
    assert "has expired on " in cause
    assert "Renew it" in remedy


def test_a_certificate_of_tomorrow_is_a_matter_of_clocks(
    tmp_path: Path,
) -> None:
    with secured(tmp_path, not_before=NOW + timedelta(days=1)) as found:
        _, cause, remedy = failure(*found)
    assert "is not valid yet, but from " in cause
    assert "clock" in remedy


def test_a_certificate_that_soon_expires_is_a_remark(tmp_path: Path) -> None:
    with secured(tmp_path, not_after=NOW + timedelta(days=3)) as found:
        note = check_broker("summit", LOOPBACK, *found)
    assert note is not None
    assert "expires on" in note


def test_a_certificate_for_another_name_says_which(tmp_path: Path) -> None:
    with secured(tmp_path, "kafka.ldf.example") as (port, properties):
        layer, cause, _ = failure(port, properties)
        assert layer == "tls"
        assert cause == (
            f"the certificate of 127.0.0.1:{port} is for kafka.ldf.example, "
            "not for 127.0.0.1"
        )
        # As librdkafka does with verification off.
        off = {"ssl.endpoint.identification.algorithm": "none"}
        assert check_broker("s", LOOPBACK, port, properties | off) is None


def test_a_certificate_of_an_unknown_authority(tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(other))
    with secured(tmp_path) as (port, properties):
        wrong = properties | {"ssl.ca.location": str(other)}
        layer, cause, remedy = failure(port, wrong)
        assert layer == "tls"
        assert "is not signed by the CA in clusters.summit" in cause
        assert "PEM file of the CA that signed it" in remedy
        public = {"security.protocol": "SSL"}
        assert "not signed by a public CA" in failure(port, public)[1]
        off = {"enable.ssl.certificate.verification": "false"}
        assert check_broker("s", LOOPBACK, port, public | off) is None


def test_a_file_that_holds_no_certificate_is_named_by_its_key(
    tmp_path: Path,
) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("nothing")
    with broker() as port:
        _, cause, remedy = failure(
            port,
            {"security.protocol": "SSL", "ssl.ca.location": str(file)},
        )
    assert "file cannot be used" in cause
    assert "clusters.summit.kafka.ssl.ca.location" in remedy


LOGIN = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}


def test_a_login_that_is_not_offered_names_those_that_are() -> None:
    with broker(login=(33, ["SCRAM-SHA-512", "GSSAPI"])) as port:
        layer, cause, _ = failure(port, LOGIN)
        assert layer == "sasl"
        assert cause.endswith(
            "does not offer SASL mechanism PLAIN, only SCRAM-SHA-512, GSSAPI"
        )
        _, cause, remedy = failure(port, {})
        assert "requires a SASL login (SCRAM-SHA-512, GSSAPI)" in cause
        assert "SASL_PLAINTEXT" in remedy


def test_a_login_where_none_is_expected() -> None:
    with broker(login=(34, [])) as port:
        layer, cause, remedy = failure(port, LOGIN)
    assert (layer, cause) == (
        "sasl",
        f"127.0.0.1:{port} expects no SASL login",
    )
    assert "to PLAINTEXT" in remedy


def test_a_login_that_is_offered_is_no_error() -> None:
    with broker(login=(0, ["PLAIN"])) as port:
        assert check_broker("summit", LOOPBACK, port, LOGIN) is None


def test_a_web_hook_is_reached_without_sending() -> None:
    with answering(Answer()) as server:
        port = int(server.url.rpartition(":")[2])
        assert check_tcp(LOOPBACK, port, None, key="x") is None
        with pytest.raises(LayerError, match="does not speak TLS"):
            check_tcp(LOOPBACK, port, TlsSettings(key="ca"), key="x")
        assert server.asked == []


def test_a_certificate_that_is_wanted_and_not_given_is_named(
    tmp_path: Path,
) -> None:
    with secured(tmp_path, mutual=True) as (port, properties):
        layer, cause, remedy = failure(port, properties)
    assert layer == "tls"
    assert "rejects the connection" in cause
    assert "ssl.certificate.location" in remedy


@pytest.mark.parametrize(
    "own",
    [
        {"ssl.keystore.location": "/keys/mirrorwatch.p12"},
        {"ssl.certificate.pem": "-----BEGIN", "ssl.key.pem": "-----BEGIN"},
    ],
)
def test_a_certificate_that_only_librdkafka_reads_is_left_to_it(
    tmp_path: Path, own: dict[str, str]
) -> None:
    with secured(tmp_path, mutual=True) as (port, properties):
        given = properties | own
        assert check_broker("summit", LOOPBACK, port, given) is None
    # What is wrong all the same is found.
    with secured(tmp_path, "kafka.example", mutual=True) as (port, properties):
        _, cause, _ = failure(port, properties | own)
    assert "not for 127.0.0.1" in cause
    with broker() as port:
        _, cause, _ = failure(port, properties | own)
    assert "does not speak TLS" in cause


def test_an_authority_without_key_identifiers_is_trusted_as_by_librdkafka(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = ssl.create_default_context

    def strict(**options: object) -> ssl.SSLContext:
        """Return what Python 3.13 makes."""
        context = made(**options)  # type: ignore[arg-type]
        context.verify_flags |= (
            ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
        )
        return context

    before = TlsSettings(key="ca").context().verify_flags
    monkeypatch.setattr(ssl, "create_default_context", strict)
    assert TlsSettings(key="ca").context().verify_flags == before
