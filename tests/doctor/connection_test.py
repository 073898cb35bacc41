"""Each way in which a TCP or TLS handshake fails has its layer and cause."""

import socketserver
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import trustme

from mirrorwatch.clock import utc_now
from mirrorwatch.doctor import connection
from mirrorwatch.doctor.connection import broker_context, connect, speaks_tls
from mirrorwatch.exceptions import LayerError
from tests.support.http import Answer, answering
from tests.support.tcp import black_hole, closed_port, frozen

pytestmark = pytest.mark.slow


NOW = utc_now()
DAY = timedelta(days=1)
LOOPBACK = "127.0.0.1"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "PATIENCE", 0.5)


@contextmanager
def listener(tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Yield a port that hangs up on what is no request, as Kafka's do."""

    class Handler(socketserver.BaseRequestHandler):
        def setup(self) -> None:
            if tls is not None:
                self.request = tls.wrap_socket(self.request, server_side=True)

        def handle(self) -> None:
            self.request.recv(4)

        def finish(self) -> None:
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
    version: ssl.TLSVersion | None = None,
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the port of a listener with TLS, and properties that trust it.

    With a version of TLS it requires a certificate of its clients.
    """
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(
        *(names or (LOOPBACK,)), not_before=not_before, not_after=not_after
    ).configure_cert(context)
    if version is not None:
        authority.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
        context.maximum_version = version
    with listener(context) as port:
        yield (
            port,
            {
                "security.protocol": "SSL",
                "ssl.ca.location": str(folder / "ca.pem"),
            },
        )


def remark(
    port: int, properties: Mapping[str, str], host: str = LOOPBACK
) -> str | None:
    context = broker_context("summit", properties)
    return connect(host, port, context, key="clusters.summit.kafka")


def failure(
    port: int, properties: Mapping[str, str], host: str = LOOPBACK
) -> tuple[str, str, str]:
    with pytest.raises(LayerError) as raised:
        remark(port, properties, host)
    error = raised.value
    return error.layer, str(error), error.remedy


def test_a_listener_that_answers_is_no_error(tmp_path: Path) -> None:
    with listener() as port:
        assert remark(port, {}) is None
    with secured(tmp_path) as found:
        assert remark(*found) is None


def test_a_port_that_cannot_be_reached() -> None:
    layer, cause, remedy = failure(closed_port(), {})
    assert (layer, "connection refused" in cause) == ("tcp", True)
    assert "clusters.summit.kafka" in remedy
    with black_hole() as port:
        assert failure(port, {})[0] == "tcp"


def test_a_name_that_nobody_knows() -> None:
    layer, cause, _ = failure(9092, {}, "no-such-host.invalid")
    assert layer == "tcp"
    assert "no-such-host.invalid" in cause


def test_tls_on_one_end_only_is_named_on_either(tmp_path: Path) -> None:
    with secured(tmp_path) as (port, properties):
        assert speaks_tls(LOOPBACK, port)
    with listener() as port:
        assert not speaks_tls(LOOPBACK, port)
        assert failure(port, properties)[0] == "tls"
    with frozen() as port:
        assert failure(port, properties)[0] == "tls"


@pytest.mark.parametrize(
    ("names", "dates", "cause", "remedy"),
    [
        ((), {"not_after": NOW - DAY}, "has expired", "Renew it"),
        ((), {"not_before": NOW + DAY}, "not yet valid", "clock"),
        (("kafka.ldf.example",), {}, "mismatch", "by a name"),
    ],
    ids=["expired", "of tomorrow", "another name"],
)
def test_a_certificate_that_is_wrong(
    tmp_path: Path,
    names: tuple[str, ...],
    dates: dict[str, datetime],
    cause: str,
    remedy: str,
) -> None:
    dates = {"not_before": NOW - 9 * DAY, **dates}
    with secured(tmp_path, *names, **dates) as found:  # type: ignore[arg-type]
        layer, said, advice = failure(*found)
    assert layer == "tls"
    assert cause in said
    assert remedy in advice


def test_a_certificate_that_soon_expires_is_a_remark(tmp_path: Path) -> None:
    with secured(tmp_path, not_after=NOW + 3 * DAY) as found:
        assert "expires in 3 days" in (remark(*found) or "")


def test_a_certificate_of_an_unknown_authority(tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(other))
    with secured(tmp_path) as (port, properties):
        wrong = properties | {"ssl.ca.location": str(other)}
        layer, _, remedy = failure(port, wrong)
        assert (layer, "PEM file of the CA" in remedy) == ("tls", True)
        public = {"security.protocol": "SSL"}
        assert failure(port, public)[0] == "tls"


def test_what_librdkafka_does_not_verify_is_no_error(tmp_path: Path) -> None:
    with secured(tmp_path, "kafka.ldf.example") as (port, properties):
        unnamed = {"ssl.endpoint.identification.algorithm": "none"}
        assert remark(port, properties | unnamed) is None
        unverified = {"enable.ssl.certificate.verification": "false"}
        public = {"security.protocol": "SSL"}
        assert remark(port, public | unverified) is None


def test_an_authority_may_be_a_text(tmp_path: Path) -> None:
    with secured(tmp_path) as (port, properties):
        text = Path(properties.pop("ssl.ca.location")).read_text()
        assert remark(port, properties | {"ssl.ca.pem": text}) is None


def test_a_file_that_holds_no_certificate_is_named_by_its_key(
    tmp_path: Path,
) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("nothing")
    properties = {"security.protocol": "SSL", "ssl.ca.location": str(file)}
    layer, _, remedy = failure(closed_port(), properties)
    assert layer == "tls"
    assert "clusters.summit.kafka.ssl.ca.location" in remedy


@pytest.mark.parametrize(
    "version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]
)
def test_a_certificate_of_ours_is_left_to_librdkafka(
    tmp_path: Path, version: ssl.TLSVersion
) -> None:
    with secured(tmp_path, version=version) as found:
        assert remark(*found) is None


def test_nothing_is_sent() -> None:
    with answering(Answer()) as server:
        port = int(server.url.rpartition(":")[2])
        assert remark(port, {}) is None
        assert server.asked == []
