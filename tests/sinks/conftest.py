"""Real InfluxDB servers for the tests that need one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.influx import SERVERS, InfluxServer
from tests.support.webhook import Webhook, serve_webhook


@pytest.fixture(params=SERVERS, ids=lambda kind: kind.program)
def influx(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[InfluxServer]:
    """A fresh server, once for each version."""
    server: InfluxServer = request.param(tmp_path)
    try:
        server.start()
        server.set_up()
        yield server
    finally:
        server.kill()


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    with serve_webhook() as served:
        yield served


@pytest.fixture
def other() -> Iterator[Webhook]:
    with serve_webhook() as served:
        yield served


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state.db"
