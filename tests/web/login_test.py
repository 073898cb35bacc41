"""Who may read the page: passwords, tokens, certificates, over real HTTPS."""

import hashlib
import socket
import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import bcrypt
import httpx
import pytest
import trustme

from mirrorwatch.exceptions import WebError
from mirrorwatch.web import connections, login, tls
from mirrorwatch.web.login import Credentials
from mirrorwatch.web.server import Server
from mirrorwatch.web.tls import ServerTLS
from tests.support.builders import a_report
from tests.support.stage import METRICS, Stage, serve_stage
from tests.support.watch import wait_until

pytestmark = pytest.mark.slow

PASSWORD = "correct horse: staple, ü"  # noqa: S105
TOKEN = "5f0c0ffee5f0c0ffee5f0c0ffee5f0c0"  # noqa: S105
HASH = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
EVERYWHERE = (
    *("/", "/api/status", "/api/history", "/api/topics", "/api/details"),
    *("/api/audits", "/runbook", "/audit/x", "/metrics", "/no-such"),
    *("/static/index.html", "/healthz/", "/readyz/x", "//healthz"),
)


def the_credentials() -> Credentials:
    # As htpasswd writes it.
    users = {"prometheus": "$2y$" + HASH.removeprefix("$2b$")}
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    return Credentials(users, {"scraper": digest})


class Site:
    """A CA, the agent's files, and clients that trust the CA."""

    def __init__(self, folder: Path) -> None:
        self.authority = trustme.CA()
        self.cert, self.key = folder / "tls.crt", folder / "tls.key"
        self.ca = folder / "ca.crt"
        self.authority.cert_pem.write_to_path(str(self.ca))
        self.renew()

    def renew(self, name: str = "127.0.0.1") -> None:
        issued = self.authority.issue_cert(name)
        self.key.write_bytes(issued.private_key_pem.bytes())
        chain = [each.bytes() for each in issued.cert_chain_pems]
        self.cert.write_bytes(b"".join(chain))

    def server_tls(self, **options: Path | str) -> ServerTLS:
        return ServerTLS(self.cert, self.key, **options)  # type: ignore[arg-type]

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.ca)

    def client(self, context: ssl.SSLContext | None = None) -> httpx.Client:
        return httpx.Client(
            verify=context or self.context(), trust_env=False, timeout=60
        )


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def secured(site: Site) -> Iterator[Server]:
    stage = Stage(credentials=the_credentials(), tls=site.server_tls())
    stage.tick(a_report())
    with serve_stage(stage) as server:
        yield server


def test_right_credentials_read_everything(
    site: Site, secured: Server
) -> None:
    assert secured.url.startswith("https://127.0.0.1:")
    with site.client() as http:
        for auth in (
            httpx.BasicAuth("prometheus", PASSWORD),
            lambda r: bearer(r, TOKEN),
        ):
            answer = http.get(f"{secured.url}/metrics", auth=auth)
            assert answer.content == METRICS[0]
            assert http.get(f"{secured.url}/", auth=auth).status_code == 200
            health = http.get(f"{secured.url}/healthz", auth=auth).json()
            assert "clock_offset_seconds" in health


def bearer(request: httpx.Request, token: str) -> httpx.Request:
    request.headers["Authorization"] = f"Bearer {token}"
    return request


WRONG = {
    "none": None,
    "no scheme": TOKEN,
    "wrong token": f"Bearer {TOKEN[:-1]}1",
    "empty token": "Bearer",
    "hash as token": f"Bearer {hashlib.sha256(TOKEN.encode()).hexdigest()}",
    "other scheme": "Digest username=prometheus",
    "no base64": "Basic ???",
    "no base64 of ASCII": "Basic \xfc\xfc",
    "no colon": "Basic cHJvbWV0aGV1cw==",
}


@pytest.mark.parametrize("header", WRONG.values(), ids=WRONG)
def test_wrong_and_missing_credentials_read_nothing(
    site: Site, secured: Server, header: str | None
) -> None:
    given = [] if header is None else [header.encode("latin-1")]
    headers = [(b"Authorization", each) for each in given]
    with site.client() as http:
        for path in EVERYWHERE:
            answer = http.get(f"{secured.url}{path}", headers=headers)
            assert answer.status_code == 401, path
            asked = answer.headers["WWW-Authenticate"]
            assert 'Basic realm="mirrorwatch"' in asked
            assert "Bearer" in asked
            assert answer.headers["X-Frame-Options"] == "DENY"
            assert "mirrorwatch_" not in answer.text


@pytest.mark.parametrize(
    ("user", "password"),
    [
        ("prometheus", "wrong"),
        ("prometheus", ""),
        ("prometheus", HASH),
        ("prometheus", PASSWORD + "x" * 80),
        ("nobody", PASSWORD),
        ("", PASSWORD),
        # The one whose hash is checked for users that there are not.
        ("nobody", "fakepassword"),
    ],
    ids=["wrong", "empty", "hash", "long", "unknown", "no user", "fake"],
)
def test_wrong_passwords_read_nothing(
    site: Site, secured: Server, user: str, password: str
) -> None:
    with site.client() as http:
        for _ in range(2):  # the second answer is remembered
            answer = http.get(
                f"{secured.url}/metrics",
                auth=httpx.BasicAuth(user, password),
            )
            assert answer.status_code == 401


def test_two_logins_at_a_time_are_none(site: Site, secured: Server) -> None:
    right = ("Authorization", f"Bearer {TOKEN}")
    with site.client() as http:
        answer = http.get(
            f"{secured.url}/metrics",
            headers=[right, ("Authorization", "Bearer x")],
        )
    assert answer.status_code == 401


def test_probes_need_no_login_and_learn_the_status_only(
    site: Site, secured: Server
) -> None:
    with site.client() as http:
        assert http.get(f"{secured.url}/healthz").json() == {"status": "ok"}
        assert http.get(f"{secured.url}/readyz").json() == {"status": "ready"}
        wrong = {"Authorization": "Bearer x"}
        answer = http.get(f"{secured.url}/healthz", headers=wrong)
        assert answer.json() == {"status": "ok"}


def test_a_scrape_costs_one_bcrypt(
    site: Site, secured: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = counted(monkeypatch)
    right, wrong = (
        httpx.BasicAuth("prometheus", p) for p in (PASSWORD, "wrong")
    )
    url = f"{secured.url}/metrics"

    def scrape(auth: httpx.BasicAuth) -> int:
        with site.client() as http:
            return http.get(url, auth=auth).status_code

    with ThreadPoolExecutor(6) as browser:
        assert set(browser.map(scrape, [right] * 12)) == {200}
    assert len(checked) == 1
    assert {scrape(wrong) for _ in range(3)} == {401}
    assert {scrape(right) for _ in range(3)} == {200}
    assert len(checked) == 2


def counted(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    checked = []
    matches = login.matches

    def count(password: bytes, wanted: bytes) -> bool:
        checked.append(password)
        return matches(password, wanted)

    monkeypatch.setattr(login, "matches", count)
    return checked


def test_guessers_push_out_nobody_and_are_bounded(
    site: Site, secured: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "REMEMBERED", 4)
    monkeypatch.setattr(login, "PAUSE_SECONDS", 0.01)
    url = f"{secured.url}/metrics"
    right = httpx.BasicAuth("prometheus", PASSWORD)

    def guess(number: int) -> int:
        with site.client() as http:
            auth = httpx.BasicAuth("prometheus", f"guess {number}")
            return http.get(url, auth=auth).status_code

    with site.client() as http:
        assert http.get(url, auth=right).status_code == 200
        checked = counted(monkeypatch)
        with ThreadPoolExecutor(8) as guessers:
            guesses = guessers.map(guess, range(40))
            assert http.get(url, auth=right).status_code == 200
            assert set(guesses) == {401}
        assert http.get(url, auth=right).status_code == 200
        assert PASSWORD.encode() not in checked


def test_more_guessers_than_may_wait_are_sent_away(
    site: Site, secured: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "MOST_WAITING", 0)
    with site.client() as http:
        answer = http.get(
            f"{secured.url}/metrics", auth=httpx.BasicAuth("prometheus", "x")
        )
        assert answer.status_code == 429
        assert answer.headers["Retry-After"] == "1"
        token = {"Authorization": f"Bearer {TOKEN}"}
        answer = http.get(f"{secured.url}/metrics", headers=token)
        assert answer.status_code == 200


def test_only_what_is_configured_is_asked_for() -> None:
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    stage = Stage(credentials=Credentials({}, {"one": digest}))
    with serve_stage(stage) as server, httpx.Client(trust_env=False) as http:
        answer = http.get(f"{server.url}/metrics")
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        assert "Basic" not in answer.headers["WWW-Authenticate"]


def test_a_certificate_of_no_known_ca_is_not_trusted(
    secured: Server,
) -> None:
    with (
        httpx.Client(trust_env=False) as http,
        pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"),
    ):
        http.get(f"{secured.url}/healthz")


def test_plain_http_is_told_to_use_tls(secured: Server) -> None:
    with httpx.Client(trust_env=False) as http:
        answer = http.get(f"http://127.0.0.1:{secured.port}/healthz")
    assert answer.status_code == 400
    assert "https://" in answer.text


def test_clients_without_a_certificate_are_refused(site: Site) -> None:
    stage = Stage(tls=site.server_tls(client_ca=site.ca))
    known = site.context()
    site.authority.issue_cert("client").configure_cert(known)
    stranger = site.context()
    trustme.CA().issue_cert("client").configure_cert(stranger)
    with serve_stage(stage) as server:
        with site.client(known) as http:
            assert http.get(f"{server.url}/metrics").status_code == 200
        for context in (site.context(), stranger):
            with (
                site.client(context) as http,
                pytest.raises(httpx.TransportError),
            ):
                http.get(f"{server.url}/metrics")


def certificate_of(server: Server, site: Site) -> bytes:
    with (
        socket.create_connection(("127.0.0.1", server.port)) as plain,
        site.context().wrap_socket(
            plain, server_hostname="127.0.0.1"
        ) as secure,
    ):
        found = secure.getpeercert(binary_form=True)
        assert found
        return found


def test_a_renewed_certificate_is_used_without_a_restart(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls, "LOOK_SECONDS", 0)
    with serve_stage(Stage(tls=site.server_tls())) as server:
        before = certificate_of(server, site)
        assert certificate_of(server, site) == before

        site.renew()

        assert certificate_of(server, site) != before


def test_half_a_renewal_keeps_the_one_before(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls, "LOOK_SECONDS", 0)
    with serve_stage(Stage(tls=site.server_tls())) as server:
        before, key = certificate_of(server, site), site.key.read_bytes()
        site.renew()
        new_key = site.key.read_bytes()
        site.key.write_bytes(key)

        assert certificate_of(server, site) == before

        site.key.write_bytes(new_key)
        assert certificate_of(server, site) != before


def no_file(site: Site) -> None:
    site.key.unlink()


def other_key(site: Site) -> None:
    cert = site.cert.read_bytes()
    site.renew()
    site.cert.write_bytes(cert)


def no_pem(site: Site) -> None:
    site.cert.write_text("hunter2")


@pytest.mark.parametrize("spoil", [no_file, other_key, no_pem])
def test_a_certificate_that_cannot_be_used_is_refused_at_the_start(
    site: Site, spoil: Callable[[Site], None]
) -> None:
    spoil(site)
    with pytest.raises(WebError, match=r"web\.tls_server_config") as refused:
        Server(Stage().app, "127.0.0.1", 0, site.server_tls()).start()
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("said", "address"),
    [(b"", "127.0.0.1"), (b"\x16\x03\x01", "127.0.0.2")],
    ids=["silent", "half a handshake"],
)
def test_a_flood_of_connections_hides_nothing_behind_tls(
    site: Site, said: bytes, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 600)
    monkeypatch.setattr(connections, "MOST_WAITING_TLS", 16)
    stage = Stage(tls=site.server_tls())
    with serve_stage(stage) as server, ExitStack() as stack:
        for _ in range(600):
            one = socket.create_connection(
                ("127.0.0.1", server.port), source_address=(address, 0)
            )
            stack.enter_context(one)
            with suppress(OSError):  # the oldest are closed for the newest
                one.sendall(said)

        with site.client() as http:
            assert http.get(f"{server.url}/metrics").status_code == 200
        kept = server.connections
        wait_until(
            lambda: (
                len(kept.waiting) <= connections.MOST_WAITING
                and len(kept.greeted) <= 16
            ),
            what=lambda: f"{len(kept.waiting)} and {len(kept.greeted)}",
        )
