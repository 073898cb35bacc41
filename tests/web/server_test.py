import pytest

from mirrorwatch.exceptions import WebError
from mirrorwatch.web.server import Server
from tests.support.http import HTTP
from tests.support.stage import Stage, serve_stage


def code(url: str) -> int:
    return HTTP.get(url, timeout=60).status_code


def test_it_is_served_on_a_free_port_of_loopback() -> None:
    with serve_stage(Stage()) as server:
        assert server.port > 0
        assert server.url == f"http://127.0.0.1:{server.port}"
        assert code(f"{server.url}/") == 200


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
