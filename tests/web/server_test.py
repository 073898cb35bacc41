import asyncio
import resource
from collections import Counter
from contextlib import ExitStack, closing, suppress
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection
from socket import IPPROTO_TCP, TCP_NODELAY, create_connection, socket
from threading import Event

import httpx
import pytest

from mirrorwatch.clock import utc_now
from mirrorwatch.exceptions import WebError
from mirrorwatch.web import connections
from mirrorwatch.web import server as web_server
from mirrorwatch.web.headers import HEADERS
from mirrorwatch.web.login import Credentials
from mirrorwatch.web.server import Server
from tests.support.builders import a_report
from tests.support.http import HTTP
from tests.support.stage import Stage, serve_stage
from tests.support.watch import wait_until

pytestmark = pytest.mark.slow


def code(url: str) -> int:
    return HTTP.get(url, timeout=60).status_code


def test_it_is_served_on_a_free_port_of_loopback() -> None:
    with serve_stage(Stage()) as server:
        assert server.port > 0
        assert server.url == f"http://127.0.0.1:{server.port}"
        assert code(f"{server.url}/") == 200


@pytest.mark.parametrize("page", ["/", "/healthz", "/static/css/base.css"])
def test_a_path_is_answered_whether_a_proxy_strips_it_or_not(
    page: str,
) -> None:
    with serve_stage(Stage(path="/site/mirror")) as server:
        bare = HTTP.get(server.url + page)
        below = HTTP.get(f"{server.url}/site/mirror{page}")
        assert (bare.status_code, bare.content) == (
            below.status_code,
            below.content,
        )
        assert bare.headers["cache-control"] == below.headers["cache-control"]
        assert code(f"{server.url}/site/mirrors{page}") == 404
        redirect = HTTP.get(f"{server.url}/site/mirror")
        assert redirect.headers["location"] == "/site/mirror/"


def test_a_path_leads_around_no_login() -> None:
    stage = Stage(path="/m", credentials=Credentials({}, {"a": "0" * 64}))
    stage.tick(a_report())
    with serve_stage(stage) as server:
        assert code(f"{server.url}/m/api/status") == 401
        assert code(f"{server.url}/m/healthz") == 200


def test_each_answer_bears_its_own_time() -> None:
    with serve_stage(Stage()) as server, httpx.Client() as client:

        def date() -> float:
            (found,) = client.get(f"{server.url}/").headers.get_list("date")
            return parsedate_to_datetime(found).timestamp()

        begin = utc_now().timestamp()
        first = date()
        wait_until(lambda: date() > first)
        # It has whole seconds.
        assert begin - 1 < first < date() <= utc_now().timestamp()


def test_a_port_in_use_is_refused_with_the_remedy() -> None:
    with serve_stage(Stage()) as server:
        again = Server(Stage().app, "127.0.0.1", server.port)

        with pytest.raises(WebError, match=r"in use.*set web\.listen"):
            again.start()


def test_an_address_of_somebody_else_is_refused() -> None:
    # 192.0.2.0/24 is kept for examples: no machine has it.
    with pytest.raises(WebError, match=r"Cannot listen on http://192\.0\.2"):
        Server(Stage().app, "192.0.2.1", 0).start()


def test_a_stopped_server_lets_go_of_its_port() -> None:
    with serve_stage(Stage()) as server:
        port = server.port

    with serve_stage(Stage(), port) as server:
        assert code(f"{server.url}/") == 200


def test_a_server_that_never_started_can_be_stopped() -> None:
    Server(Stage().app, "127.0.0.1", 0).stop()


SLOW = 1200
"""Connections of a flood: several times what is kept."""


class HeldStage(Stage):
    """Keeps the web server busy from one request for metrics on.

    Parameters
    ----------
    at
        Which request it is: 1 for the first.
    """

    def __init__(self, at: int) -> None:
        super().__init__()
        self._at = at
        self.begun, self.goes_on = Event(), Event()

    def exposition(
        self, accept: str | None, *, packed: bool
    ) -> tuple[bytes, str]:
        answer = super().exposition(accept, packed=packed)
        if len(self.accepted) == self._at:
            self.begun.set()
            self.goes_on.wait(60)
        return answer


def opened(
    server: Server, count: int, said: bytes = b"", address: str = "127.0.0.1"
) -> list[socket]:
    sockets = []
    for _ in range(count):
        one = create_connection(
            ("127.0.0.1", server.port), timeout=30, source_address=(address, 0)
        )
        with suppress(OSError):  # the oldest are closed for the newest
            one.sendall(said)
        sockets.append(one)
    return sockets


@pytest.mark.parametrize(
    "said",
    [b"", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "],
    ids=["silent", "half a request"],
)
def test_a_flood_of_silent_connections_hides_nothing(
    said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 600)
    with serve_stage(Stage()) as server, ExitStack() as stack:
        flood = [stack.enter_context(x) for x in opened(server, SLOW, said)]

        assert code(f"{server.url}/metrics") == 200
        wait_until(
            lambda: sum(map(is_open, flood)) <= connections.MOST_WAITING,
            what=lambda: f"{sum(map(is_open, flood))} are kept",
        )


def is_open(connection: socket) -> bool:
    """Return whether the server keeps a connection."""
    connection.settimeout(0)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


@pytest.mark.parametrize(
    "said",
    [b"", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "],
    ids=["silent", "half a request"],
)
def test_a_connection_costs_little_before_its_request(
    said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """uvicorn's part of it is made for those who ask only."""
    made = []

    class Counted(connections.BoundedConnection):
        def connection_made(  # type: ignore[override]
            self, transport: asyncio.Transport
        ) -> None:
            made.append(self)
            super().connection_made(transport)

    monkeypatch.setattr(web_server, "BoundedConnection", Counted)
    with serve_stage(Stage()) as server, ExitStack() as stack:
        for one in opened(server, SLOW, said):
            stack.enter_context(one)
        # What comes behind all of the flood, whichever socket it comes to.
        for _ in range(20):
            assert code(f"{server.url}/metrics") == 200
    assert len(made) == 20


def test_a_flood_closes_no_connection_of_another_address() -> None:
    with serve_stage(Stage()) as server, ExitStack() as stack:
        (one,) = opened(server, 1, b"GET /metrics HTTP/1.1\r\nHost: ")
        stack.enter_context(one)
        wait_until(
            lambda: len(server.connections.waiting) == 1,
            what=lambda: "it is not taken",
        )
        for each in opened(server, SLOW, address="127.0.0.2"):
            stack.enter_context(each)
        assert code(f"{server.url}/metrics") == 200

        one.sendall(b"127.0.0.1\r\n\r\n")

        assert one.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_requests_that_wait_for_no_answer_come_last() -> None:
    clients, requests, seen = 20, 20, 30
    stage = HeldStage(seen)

    def asked(accept: str) -> bytes:
        return (
            "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Accept: {accept}\r\n\r\n"
        ).encode()

    with serve_stage(stage) as server, ExitStack() as stack:
        stack.callback(stage.goes_on.set)
        for one in opened(server, clients, asked("many") * requests):
            stack.enter_context(one)
        assert stage.begun.wait(60)
        (ours,) = opened(server, 1, asked("ours"))
        stack.enter_context(ours)
        stage.goes_on.set()
        assert ours.recv(65536).startswith(b"HTTP/1.1 200 ")
        wait_until(
            lambda: len(stage.accepted) == clients * requests + 1,
            what=lambda: f"{len(stage.accepted)} are answered",
        )
    # Each client has at most one turn before ours, and the kernel may hand
    # ours over only after a turn or two: in order it would be the last of 401.
    assert stage.accepted.index("ours") < seen + 3 * clients


def test_it_goes_on_when_no_more_files_may_be_opened(
    caplog: pytest.LogCaptureFixture,
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with serve_stage(Stage()) as server, socket() as one:
        one.settimeout(30)
        # The next to be opened would have this number.
        resource.setrlimit(resource.RLIMIT_NOFILE, (one.fileno() + 1, hard))
        try:
            one.connect(("127.0.0.1", server.port))
            wait_until(
                lambda: "No connection can be taken" in caplog.text,
                what=lambda: caplog.text,
            )
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        one.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert one.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_a_request_may_come_a_byte_at_a_time() -> None:
    with serve_stage(Stage()) as server:
        (one,) = opened(server, 1)
        with one:
            one.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
            for byte in b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n":
                one.sendall(bytes([byte]))
            assert one.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_connections_that_clients_close_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 600)
    with serve_stage(Stage()) as server:
        for one in opened(server, 20, b"GET"):
            one.close()
        wait_until(
            lambda: not len(server.connections.waiting),
            what=lambda: f"{len(server.connections.waiting)} are kept",
        )


def test_clients_that_do_not_read_hide_nothing() -> None:
    asked = b"GET /static/page.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 400
    with serve_stage(Stage()) as server, ExitStack() as stack:
        for one in opened(server, SLOW // 4, asked):
            stack.enter_context(one)

        assert code(f"{server.url}/metrics") == 200
        unread = [c for c in server.connections.busy if c.is_unread]
        assert len(unread) <= connections.MOST_UNREAD


@pytest.mark.parametrize("kept", [False, True], ids=["new", "kept"])
def test_no_request_is_lost_in_a_flood_while_the_server_is_busy(
    kept: bool,
) -> None:
    """A busy machine: all of it has come before the server looks again."""
    stage = HeldStage(1)
    with serve_stage(stage) as server, ExitStack() as stack:
        stack.callback(stage.goes_on.set)
        ours = [
            stack.enter_context(closing(HTTPConnection("127.0.0.1", port)))
            for port in [server.port] * 300
        ]
        for one in ours if kept else []:
            one.request("GET", "/healthz")
            one.getresponse().read()
        late, *others = ours
        late.request("GET", "/metrics")
        assert stage.begun.wait(60)
        for one in others:
            one.request("GET", "/healthz")
        flood = opened(server, SLOW)
        stage.goes_on.set()
        answers = Counter(one.getresponse().status for one in ours)
        for silent in flood:
            silent.close()
        # What comes behind all of the flood, whichever socket it comes to.
        for _ in range(50):
            assert code(f"{server.url}/healthz") == 503
    assert answers == {200: 1, 503: len(others)}  # there was no tick yet


def test_a_request_that_never_ends_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    with serve_stage(Stage()) as server:
        (one,) = opened(server, 1, b"GET / HTTP/1.1\r\nX: ")
        with one, suppress(ConnectionResetError):
            assert one.recv(1) == b""


def test_an_idle_browser_is_answered_again() -> None:
    with serve_stage(Stage()) as server, httpx.Client() as client:
        for _ in range(3):
            assert client.get(f"{server.url}/metrics").status_code == 200


@pytest.mark.parametrize(
    "said",
    [
        b"NONSENSE\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 100_000,
        b"\x16\x03\x01",
    ],
    ids=["no request", "endless header", "TLS"],
)
def test_nonsense_is_refused_with_all_headers(said: bytes) -> None:
    with serve_stage(Stage()) as server:
        (one,) = opened(server, 1, said)
        with one:
            answer = one.recv(65536)
    assert answer.startswith(b"HTTP/1.1 400 ")
    for name in HEADERS:
        assert name.lower().encode() in answer.lower()


def test_lines_that_strangers_cause_are_few(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with serve_stage(Stage()) as server:
        for _ in range(20):
            (one,) = opened(server, 1, b"NONSENSE\r\n\r\n")
            with one:
                assert one.recv(65536)
    lines = [r for r in caplog.records if r.name == "uvicorn.error"]
    assert [r.getMessage() for r in lines] == [
        "Invalid HTTP request received."
    ]


def test_metrics_are_compressed_for_those_who_can() -> None:
    stage = Stage()
    stage.metrics = b"mirrorwatch_health 0\n" * 1000
    with serve_stage(stage) as server:
        small = HTTP.get(
            f"{server.url}/metrics", headers={"Accept-Encoding": "gzip"}
        )
        plain = HTTP.get(
            f"{server.url}/metrics", headers={"Accept-Encoding": "identity"}
        )
    assert small.headers["Content-Encoding"] == "gzip"
    assert int(small.headers["Content-Length"]) < len(stage.metrics) / 10
    assert small.content == plain.content == stage.metrics


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [
        ("gzip", True),
        ("deflate, GZIP;q=0.5", True),
        ("*", True),
        ("gzip;q=0", False),
        ("gzip; q=0.0, *", False),
        ("*;q=0", False),
        ("gzip;q=odd", False),
        ("gzipped", False),
        ("", False),
    ],
)
@pytest.mark.parametrize("path", ["/metrics", "/runbook"])
def test_what_a_client_refuses_is_not_sent(
    path: str, accepted: str, *, packed: bool
) -> None:
    stage = Stage()
    stage.metrics = b"mirrorwatch_health 0\n" * 1000
    with serve_stage(stage) as server:
        answer = HTTP.get(
            server.url + path, headers={"Accept-Encoding": accepted}
        )
    assert ("Content-Encoding" in answer.headers) is packed
    assert "accept-encoding" in answer.headers["Vary"].lower()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8080", 200),
        ("[::1]:8080", 200),
        ("LOCALHOST", 200),
        ("mirrorwatch.example.org:80", 200),
        ("rebound.example.com", 421),
        ("rebound.example.com:8080", 421),
    ],
)
def test_only_own_host_names_are_answered(host: str, status: int) -> None:
    stage = Stage(hosts={"localhost", "mirrorwatch.example.org"})
    with serve_stage(stage) as server:
        answer = HTTP.get(f"{server.url}/metrics", headers={"Host": host})
    assert answer.status_code == status
    assert answer.headers["X-Frame-Options"] == "DENY"


def test_an_error_bears_all_headers() -> None:
    stage = Stage()
    stage.metrics = None
    with serve_stage(stage) as server:
        answer = HTTP.get(f"{server.url}/metrics")
    assert answer.status_code == 500
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
